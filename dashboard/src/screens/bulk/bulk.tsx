import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { BulkView } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { to } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Count } from '../../ui/count.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { BulkDialog } from '../jobs/action-dialog.tsx'
import { actionLabels } from '../jobs/actions.ts'
import { BulkStatus, partOf } from './bulk-progress.tsx'

const COLUMNS: readonly Column<BulkView>[] = [
  { id: 'status', title: 'Status', width: '6.5rem', cell: ({ status }) => <BulkStatus status={status} /> },
  {
    id: 'name',
    title: 'Name',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ name, action }) => <span className="strong">{name || actionLabels(action).label}</span>,
  },
  {
    id: 'query',
    title: 'Query',
    width: 'minmax(8rem, 2fr)',
    wideOnly: true,
    cell: ({ query }) => (
      <Link to={to.jobs(query)} className="mono soft" title={query}>
        {query || 'all jobs'}
      </Link>
    ),
  },
  {
    id: 'progress',
    title: 'Progress',
    width: 'minmax(8rem, 1fr)',
    cell: (bulk) => <Progress value={partOf(bulk)} label={`Progress of ${bulk.name || 'bulk action'}`} />,
  },
  {
    id: 'changed',
    title: 'Changed',
    width: '6rem',
    align: 'end',
    wideOnly: true,
    cell: ({ changed }) => <Count value={changed} />,
  },
  {
    id: 'refused',
    title: 'Skipped',
    width: '6rem',
    align: 'end',
    wideOnly: true,
    cell: ({ refused }) => <Count value={refused} />,
  },
  { id: 'by', title: 'By', width: 'minmax(6rem, 1fr)', wideOnly: true, cell: ({ by }) => by },
  {
    id: 'started',
    title: 'Started',
    width: '7.5rem',
    align: 'end',
    wideOnly: true,
    cell: ({ startedAt }) => <TimeAgo at={startedAt} />,
  },
]

/** Bulk actions: who started them, and their progress. */
export function BulkScreen(): ReactNode {
  const request = useApi('bulk.list', {}, { every: 3_000 })
  const [open, setOpen] = useState<string | null>(null)
  return (
    <Page title="Bulk actions" name="Bulk actions" full>
      <Loaded request={request}>
        {({ bulks }) =>
          bulks.length === 0 ? (
            <EmptyState title="No bulk actions yet" icon="bulk">
              <p>
                Search under{' '}
                <Link to="/jobs" className="link">
                  Jobs
                </Link>
                , select all matching jobs, then retry, cancel or remove them. The server does the work. You
                can preview the count, limit the rate and stop at any time.
              </p>
            </EmptyState>
          ) : (
            <div className="fill">
              <Table
                rows={bulks}
                columns={COLUMNS}
                keyOf={({ id }) => id}
                label="Bulk actions"
                onOpen={({ id }) => setOpen(id)}
              />
            </div>
          )
        }
      </Loaded>
      {open !== null && <BulkDialog id={open} onClose={() => setOpen(null)} />}
    </Page>
  )
}
