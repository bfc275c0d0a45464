import { type ReactNode, useState } from 'react'
import type { JobList } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { useApi } from '../../api/query.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { CopyDialog } from '../job/copy-job.tsx'
import { QueueFilter } from '../shared/queue-filter.tsx'
import { DeadActions } from './dead-actions.tsx'
import { DeadGroups } from './dead-groups.tsx'
import { DeadNotices } from './dead-notices.tsx'
import './dead.css'

export type DeadJob = JobList['jobs'][number]

/** The job query for the current filters. */
export function deadQuery(queue: string, group: string): string {
  return ['state:dead', queue && `queue:${JSON.stringify(queue)}`, group && `error.group:${group}`]
    .filter(Boolean)
    .join(' ')
}

/** Dead jobs, which need an operator. */
export function DeadScreen(): ReactNode {
  const [queue, setQueue] = useUrlParam<string>('queue', '')
  const [group, setGroup] = useUrlParam<string>('group', '')
  const query = deadQuery(queue, group)
  const jobs = usePages('jobs.list', { query, limit: 50 }, (output) => output.jobs)
  const count = useApi('jobs.count', { query })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [edited, setEdited] = useState<DeadJob | null>(null)
  const canOperate = useCan('operate')
  const go = useGo()
  const chooseQueue = (next: string): void => {
    setSelected(new Set())
    // An error group belongs to one queue.
    if (group !== '') setGroup('')
    setQueue(next)
  }
  return (
    <Page
      title={
        <span className="row">
          Dead letters{' '}
          {count.data && count.data.count > 0 && (
            <span className="soft">
              <Count value={count.data.count} isExact={count.data.isExact} />
            </span>
          )}
        </span>
      }
      name="Dead letters"
      full
      actions={
        canOperate && (
          <DeadActions
            query={query}
            isEmpty={count.data?.count === 0}
            selected={[...selected]}
            onDone={() => setSelected(new Set())}
          />
        )
      }
    >
      <div className="row wraps">
        <QueueFilter value={queue} onChange={chooseQueue} />
      </div>
      <DeadGroups
        queue={queue}
        chosen={group}
        onChoose={(id) => {
          setSelected(new Set())
          setGroup(id)
        }}
      />
      <DeadNotices queue={queue} />
      <Loaded request={jobs}>
        {(items) =>
          items.length === 0 ? (
            <NoDead isFiltered={queue !== '' || group !== ''} />
          ) : (
            <Table
              label="Dead jobs"
              rows={items}
              columns={columnsOf(canOperate ? setEdited : null)}
              keyOf={({ id }) => id}
              onOpen={({ id }) => go(to.job(id))}
              {...(canOperate ? { selected, onSelect: setSelected } : {})}
              footer={jobs.hasMore && <Pager hasMore busy={jobs.isBusy} onMore={jobs.more} />}
            />
          )
        }
      </Loaded>
      {edited && <CopyDialog job={edited} onClose={() => setEdited(null)} />}
    </Page>
  )
}

function columnsOf(onEdit: ((job: DeadJob) => void) | null): readonly Column<DeadJob>[] {
  return [
    {
      id: 'error',
      title: 'Error',
      width: 'minmax(9rem, 4fr)',
      cell: ({ failure }) => <span title={failure?.message}>{failure?.message ?? 'no message'}</span>,
    },
    { id: 'queue', title: 'Queue', width: 'minmax(7rem, 1.5fr)', wideOnly: true, cell: ({ queue }) => queue },
    {
      id: 'id',
      title: 'Job',
      width: 'minmax(7rem, 1fr)',
      wideOnly: true,
      cell: ({ id }) => <code title={id}>…{id.slice(-8)}</code>,
    },
    {
      id: 'starts',
      title: 'Attempts',
      width: '5.5rem',
      align: 'end',
      wideOnly: true,
      cell: ({ starts }) => <Count value={starts} />,
    },
    { id: 'died', title: 'Died', width: '7rem', cell: ({ finishedAt }) => <TimeAgo at={finishedAt} /> },
    ...(onEdit === null
      ? []
      : [
          {
            id: 'act',
            title: <span className="unseen">Actions</span>,
            width: '3.5rem',
            cell: (job: DeadJob) => (
              <Menu
                label={`Actions for job ${job.id}`}
                look="quiet"
                small
                icon="more"
                items={[{ label: 'Edit and copy …', icon: 'edit', onSelect: () => onEdit(job) }]}
              />
            ),
          },
        ]),
  ]
}

function NoDead({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <EmptyState title="No matching dead jobs" icon="filter" />
  return (
    <EmptyState title="No dead jobs" icon="check">
      A job that has used all its attempts moves here and stays until you retry or remove it. A handler can
      also bury a job right away.
      <CodeBlock
        code={
          "queue('mail.send', { onError: retry(5, exponential('1s', { max: '10m' })) })\n\n// in the handler, when a retry would not help:\nreturn bury('Unknown address')"
        }
      />
    </EmptyState>
  )
}
