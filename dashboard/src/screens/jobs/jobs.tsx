import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import { ApiFailure } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/query.ts'
import { countText } from '../../format/numbers.ts'
import { useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Table } from '../../ui/table.tsx'
import { JobDrawer } from '../job/drawer.tsx'
import { ActionDialog, type Chosen } from './action-dialog.tsx'
import { actionsFor } from './actions.ts'
import { ColumnsMenu, columnsOf, USUAL_COLUMNS } from './columns.tsx'
import { useJobs } from './list.ts'
import { QueryBar } from './query-bar.tsx'
import { scopeOf, statesIn } from './query-text.ts'
import { SelectionBar } from './selection-bar.tsx'
import { StateTabs } from './state-tabs.tsx'
import { ViewsMenu } from './views.tsx'

/** Search for jobs and change them. */
export function JobsScreen(): ReactNode {
  const [query, setQuery] = useUrlParam<string>('q', '')
  const [columns, setColumns] = useUrlParam<string>('columns', USUAL_COLUMNS)
  const [drawn, setDrawn] = useUrlParam<string>('job', '')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isAll, setAll] = useState(false)
  const [acting, setActing] = useState<{ readonly action: BulkAction; readonly chosen: Chosen } | null>(null)
  const mayOperate = useCan('operate')
  // The list is frozen while jobs are selected, so that rows do not move under the pointer.
  const list = useJobs(query, selected.size === 0 && !isAll)

  // The number of jobs to scan: those in the states and queues of the query.
  const scope = useApi('jobs.count', { query: scopeOf(query) }, { enabled: list.isScanning })
  const total = scope.data?.isExact ? scope.data.count : null

  const select = (keys: ReadonlySet<string>): void => {
    setSelected(keys)
    setAll(false)
  }
  const ask = (next: string): void => {
    if (next !== query) setQuery(next, 'push')
    select(new Set())
  }
  const queryError =
    list.error instanceof ApiFailure && list.error.code === 'QUERY_INVALID' ? list.error : null
  const states = [...new Set(list.jobs.filter(({ id }) => selected.has(id)).map(({ state }) => state))]
  return (
    <Page
      title="Jobs"
      name="Jobs"
      full
      actions={
        <>
          <ViewsMenu query={query} onAsk={ask} />
          <ColumnsMenu chosen={columns} onChange={setColumns} />
        </>
      }
    >
      <QueryBar query={query} onAsk={ask} error={queryError?.message ?? null} />
      <StateTabs query={query} onAsk={ask} />
      {selected.size > 0 && mayOperate && (
        <SelectionBar
          count={selected.size}
          query={query}
          isAll={isAll}
          canTakeAll={list.jobs.every(({ id }) => selected.has(id))}
          actions={actionsFor(isAll ? statesIn(query) : states)}
          onAll={() => setAll(true)}
          onClear={() => select(new Set())}
          onAct={(action) => setActing({ action, chosen: isAll ? { query } : { ids: [...selected] } })}
        />
      )}
      {list.isScanning && list.searched > 0 && (
        <div className="row scan" role="status">
          <div className="grow">
            <Progress
              value={total === null ? null : list.searched / Math.max(total, list.searched)}
              label="Search"
              note={`${countText(list.jobs.length)} found, ${countText(list.searched)}${total === null ? '' : ` of ${countText(total)}`} scanned`}
            />
          </div>
          <Button small icon="stop" onClick={list.stop}>
            Stop
          </Button>
        </div>
      )}
      <div className="fill">
        {list.isFirst ? (
          <Skeleton lines={10} />
        ) : list.error && list.jobs.length === 0 ? (
          queryError ? null : (
            <ErrorState error={list.error} onRetry={list.refetch} />
          )
        ) : list.jobs.length === 0 && list.isScanning ? (
          <Skeleton lines={10} />
        ) : list.jobs.length === 0 && !list.hasMore ? (
          <NoJobs query={query} onAsk={ask} />
        ) : (
          <Table
            rows={list.jobs}
            columns={columnsOf(columns)}
            keyOf={({ id }) => id}
            label="Jobs"
            onOpen={({ id }) => setDrawn(id, 'push')}
            active={drawn}
            {...(mayOperate ? { selected, onSelect: select } : {})}
            footer={
              <Pager
                hasMore={list.hasMore && !list.isScanning}
                busy={list.isMore}
                onMore={list.more}
                note={`${countText(list.jobs.length)} shown${list.searched > list.jobs.length ? ` of ${countText(list.searched)} scanned` : ''}`}
              />
            }
          />
        )}
      </div>
      {drawn !== '' && (
        <JobDrawer
          id={drawn}
          ids={list.jobs.map(({ id }) => id)}
          onGo={setDrawn}
          onClose={() => setDrawn('')}
        />
      )}
      {acting && (
        <ActionDialog
          {...acting}
          onClose={(isDone) => {
            setActing(null)
            if (isDone) select(new Set())
          }}
        />
      )}
    </Page>
  )
}

const EXAMPLES = [
  ['state:dead', 'dead jobs'],
  ['state:running', 'running jobs'],
  ['error:~timeout since:24h', 'timeouts in the last 24 hours'],
  ['payload.user.id:42', 'jobs of one user'],
  ['attempt:>3 -state:done', 'unfinished jobs with more than 3 attempts'],
] as const

function NoJobs({
  query,
  onAsk,
}: {
  readonly query: string
  readonly onAsk: (query: string) => void
}): ReactNode {
  if (query === '') {
    return (
      <EmptyState title="No jobs" icon="jobs">
        <p>
          Completed jobs are removed after the retention of their queue. Enqueue one from the{' '}
          <Link to="/playground" className="link">
            playground
          </Link>
          .
        </p>
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No matching jobs"
      icon="filter"
      action={<Button onClick={() => onAsk('')}>Show all jobs</Button>}
    >
      <p>
        All terms must match. Prefix a term with a minus to negate it, and separate alternatives with a comma.
        Examples:
      </p>
      <ul className="examples">
        {EXAMPLES.map(([example, description]) => (
          <li key={example}>
            <button type="button" className="text-button mono" onClick={() => onAsk(example)}>
              {example}
            </button>
            <span className="faint">{description}</span>
          </li>
        ))}
      </ul>
    </EmptyState>
  )
}
