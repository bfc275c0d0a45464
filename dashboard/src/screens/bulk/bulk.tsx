import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { BulkView } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { to } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Count } from '../../ui/count.tsx'
import { Progress } from '../../ui/progress.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { BulkDialog } from '../jobs/action-dialog.tsx'
import { wordsOf } from '../jobs/actions.ts'
import { BulkStatus, partOf } from './bulk-progress.tsx'

const COLUMNS: readonly Column<BulkView>[] = [
  { id: 'status', title: 'Status', width: '6.5rem', cell: ({ status }) => <BulkStatus status={status} /> },
  {
    id: 'name',
    title: 'Name',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ name, action }) => <span className="strong">{name || wordsOf(action).label}</span>,
  },
  {
    id: 'query',
    title: 'Query',
    width: 'minmax(8rem, 2fr)',
    wideOnly: true,
    cell: ({ query }) => (
      <Link to={to.jobs(query)} className="mono soft" title={query}>
        {query || 'everything'}
      </Link>
    ),
  },
  {
    id: 'progress',
    title: 'Progress',
    width: 'minmax(8rem, 1fr)',
    cell: (bulk) => <Progress value={partOf(bulk)} label={`Progress of ${bulk.name}`} />,
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
    title: 'Refused',
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

/** What was done to many jobs at once, by whom, and how far it is. */
export function BulkScreen(): ReactNode {
  const asked = useApi('bulk.list', {}, { every: 3_000 })
  const [open, setOpen] = useState<string | null>(null)
  return (
    <Page title="Bulk actions" name="Bulk actions" full>
      <Loaded asked={asked}>
        {({ bulks }) =>
          bulks.length === 0 ? (
            <EmptyState title="Nothing was done to many jobs at once" icon="bulk">
              <p>
                Write a query under{' '}
                <Link to="/jobs" className="link">
                  Jobs
                </Link>
                , select all that match, and retry, cancel or remove them. It runs in the server, with a count
                before, a brake and a stop; and it is listed here.
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
