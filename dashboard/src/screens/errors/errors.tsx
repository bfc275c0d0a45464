import type { ReactNode } from 'react'
import type { ErrorGroup } from '../../../../src/operations/schema/wire-types.ts'
import { usePages } from '../../api/pages.ts'
import { to, useGo, useWord } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Count } from '../../ui/count.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { Badge } from '../../ui/state.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { QueueFilter } from '../shared/queue-filter.tsx'
import './errors.css'

const COLUMNS: readonly Column<ErrorGroup>[] = [
  { id: 'error', title: 'Error', width: 'minmax(13rem, 4fr)', cell: (group) => <ErrorCell group={group} /> },
  {
    id: 'spark',
    title: 'Last day',
    width: '7.5rem',
    wideOnly: true,
    cell: ({ spark }) => <Sparkline values={spark} label="Per hour of the last day" bars />,
  },
  {
    id: 'count',
    title: 'Times',
    width: '5rem',
    align: 'end',
    cell: ({ count }) => <Count value={count} brief />,
  },
  {
    id: 'dead',
    title: 'Died of it',
    width: '6rem',
    align: 'end',
    wideOnly: true,
    cell: ({ dead }) => <Count value={dead} brief />,
  },
  { id: 'last', title: 'Last', width: '7rem', cell: ({ lastAt }) => <TimeAgo at={lastAt} /> },
  {
    id: 'first',
    title: 'First',
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

/** Errors that are alike, as one line each. */
export function ErrorsScreen(): ReactNode {
  const [queue, setQueue] = useWord<string>('queue', '')
  const [which, setWhich] = useWord<'open' | 'muted' | 'all'>('show', 'open')
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
          label="Which errors"
          value={which}
          onChange={setWhich}
          options={[
            { value: 'open', label: 'Open' },
            { value: 'muted', label: 'Muted' },
            { value: 'all', label: 'All' },
          ]}
        />
      </div>
      <Loaded asked={groups}>
        {(items) =>
          items.length === 0 ? (
            <NoErrors isFiltered={queue !== '' || which === 'muted'} />
          ) : (
            <Table
              label="Groups of errors"
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
  if (isFiltered) return <EmptyState title="No errors fit" icon="filter" />
  return (
    <EmptyState title="No errors" icon="check">
      When a handler throws, runs out of time or dies with its worker, errors that are alike gather here in
      one line: how often, since when, and a job to look at. Numbers and ids in messages do not tell them
      apart.
    </EmptyState>
  )
}
