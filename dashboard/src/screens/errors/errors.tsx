import type { ReactNode } from 'react'
import type { ErrorGroup } from '../../../../src/operations/schema/wire-types.ts'
import { usePages } from '../../api/pages.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Count } from '../../ui/count.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { QueueFilter } from '../shared/queue-filter.tsx'
import './errors.css'

const COLUMNS: readonly Column<ErrorGroup>[] = [
  { id: 'error', title: 'Error', width: 'minmax(13rem, 4fr)', cell: (group) => <ErrorCell group={group} /> },
  {
    id: 'spark',
    title: 'Last 24 hours',
    width: '7.5rem',
    wideOnly: true,
    cell: ({ spark }) => <Sparkline values={spark} label="Errors per hour" bars />,
  },
  {
    id: 'count',
    title: 'Count',
    width: '5rem',
    align: 'end',
    cell: ({ count }) => <Count value={count} brief />,
  },
  {
    id: 'dead',
    title: 'Dead jobs',
    width: '6rem',
    align: 'end',
    wideOnly: true,
    cell: ({ dead }) => <Count value={dead} brief />,
  },
  { id: 'last', title: 'Last seen', width: '7rem', cell: ({ lastAt }) => <TimeAgo at={lastAt} /> },
  {
    id: 'first',
    title: 'First seen',
    width: '7rem',
    wideOnly: true,
    cell: ({ firstAt }) => <TimeAgo at={firstAt} />,
  },
]

function ErrorCell({ group }: { readonly group: ErrorGroup }): ReactNode {
  return (
    <span className="error-cell">
      <span className="cut">
        <strong>{group.name}</strong> <span className="soft">{group.message}</span>
      </span>
      <span className="row small faint">
        <span className="cut mono">{group.queue}</span>
        {group.muted && <Badge>muted</Badge>}
      </span>
    </span>
  )
}

/** Error groups, one row each. */
export function ErrorsScreen(): ReactNode {
  const [queue, setQueue] = useUrlParam<string>('queue', '')
  const [which, setWhich] = useUrlParam<'open' | 'muted' | 'all'>('show', 'open')
  const go = useGo()
  const groups = usePages(
    'errors.list',
    {
      limit: 50,
      ...(queue === '' ? {} : { queue }),
      ...(which === 'all' ? {} : { muted: which === 'muted' }),
    },
    (output) => output.groups,
  )
  return (
    <Page title="Errors" name="Errors" full>
      <div className="row wraps">
        <QueueFilter value={queue} onChange={setQueue} />
        <Segments
          label="Filter errors"
          value={which}
          onChange={setWhich}
          options={[
            { value: 'open', label: 'Open' },
            { value: 'muted', label: 'Muted' },
            { value: 'all', label: 'All' },
          ]}
        />
      </div>
      <Loaded request={groups}>
        {(items) =>
          items.length === 0 ? (
            <NoErrors isFiltered={queue !== '' || which === 'muted'} />
          ) : (
            <Table
              label="Error groups"
              rows={items}
              columns={COLUMNS}
              keyOf={({ id }) => id}
              rowHeight={56}
              onOpen={({ id }) => go(to.error(id))}
              footer={groups.hasMore && <Pager hasMore busy={groups.isBusy} onMore={groups.more} />}
            />
          )
        }
      </Loaded>
    </Page>
  )
}

function NoErrors({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <EmptyState title="No matching errors" icon="filter" />
  return (
    <EmptyState title="No errors" icon="check">
      Similar errors, timeouts and lost workers are grouped here, with a count, the time of the first and last
      occurrence, and the affected jobs. Numbers and ids in messages are ignored when grouping.
    </EmptyState>
  )
}
