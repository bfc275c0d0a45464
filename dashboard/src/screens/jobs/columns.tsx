import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobList } from '../../../../src/operations/schema/wire-types.ts'
import { stringifyExact } from '../../api/exact.ts'
import { useMe } from '../../api/me.ts'
import { to } from '../../router.ts'
import { Menu } from '../../ui/menu.tsx'
import { StateBadge } from '../../ui/state.tsx'
import type { Column } from '../../ui/table.tsx'
import { Duration, TimeAgo } from '../../ui/time.tsx'

export type Job = JobList['jobs'][number]

/** Without the permission to read payloads the API returns null, which must not look like a null payload. */
function Payload({ value }: { readonly value: unknown }): ReactNode {
  const isShown = useMe()?.payloads ?? false
  if (isShown) return <code className="soft">{brief(value)}</code>
  return (
    <span className="soft" title="Your token cannot read payloads.">
      hidden
    </span>
  )
}

const COLUMNS: readonly (Column<Job> & { readonly name: string })[] = [
  {
    id: 'state',
    name: 'State',
    title: 'State',
    width: '6.75rem',
    cell: ({ state }) => <StateBadge state={state} />,
  },
  {
    id: 'queue',
    name: 'Queue',
    title: 'Queue',
    width: 'minmax(8rem, 1.7fr)',
    cell: ({ queue }) => (
      <span className="strong" title={queue}>
        {queue}
      </span>
    ),
  },
  {
    id: 'payload',
    name: 'Payload',
    title: 'Payload',
    width: 'minmax(9rem, 2.6fr)',
    wideOnly: true,
    cell: ({ payload }) => <Payload value={payload} />,
  },
  {
    id: 'error',
    name: 'Last error',
    title: 'Last error',
    width: 'minmax(8rem, 2fr)',
    wideOnly: true,
    cell: ({ failure, state }) =>
      failure === null || state === 'done' ? null : (
        <span className="soft" title={failure.message}>
          {failure.name && <span className="error-name">{failure.name} </span>}
          {failure.message}
        </span>
      ),
  },
  {
    id: 'attempt',
    name: 'Attempts',
    title: 'Attempts',
    width: '5.5rem',
    align: 'end',
    wideOnly: true,
    cell: ({ starts }) => <span className={starts > 1 ? 'num' : 'num faint'}>{starts}</span>,
  },
  {
    id: 'when',
    name: 'Time',
    title: 'Time',
    width: '6.75rem',
    align: 'end',
    cell: (job) => <TimeAgo at={relevantTime(job)} />,
  },
  {
    id: 'took',
    name: 'Took',
    title: 'Took',
    width: '5.5rem',
    align: 'end',
    wideOnly: true,
    cell: (job) => <Took job={job} />,
  },
  {
    id: 'priority',
    name: 'Priority',
    title: 'Priority',
    width: '5rem',
    align: 'end',
    wideOnly: true,
    cell: ({ priority }) => <span className={priority === 0 ? 'num faint' : 'num'}>{priority}</span>,
  },
  {
    id: 'lane',
    name: 'Lane',
    title: 'Lane',
    width: 'minmax(6rem, 1fr)',
    wideOnly: true,
    cell: ({ lane }) => lane ?? <span className="faint">–</span>,
  },
  {
    id: 'enqueued',
    name: 'Enqueued',
    title: 'Enqueued',
    width: '7.5rem',
    align: 'end',
    wideOnly: true,
    cell: ({ enqueuedAt }) => <TimeAgo at={enqueuedAt} />,
  },
  {
    id: 'worker',
    name: 'Worker',
    title: 'Worker',
    width: 'minmax(7rem, 1fr)',
    wideOnly: true,
    cell: ({ worker }) =>
      worker === null ? <span className="faint">–</span> : <code className="soft">{worker}</code>,
  },
  {
    id: 'id',
    name: 'ID',
    title: 'ID',
    width: 'minmax(8rem, 1fr)',
    wideOnly: true,
    cell: ({ id }) => (
      <Link to={to.job(id)} className="mono soft" title={id}>
        {id}
      </Link>
    ),
  },
]

export const USUAL_COLUMNS = 'state,queue,payload,error,attempt,when,took'

export function columnsOf(chosen: string): readonly Column<Job>[] {
  const ids = chosen.split(',')
  return COLUMNS.filter(({ id }) => ids.includes(id))
}

export function ColumnsMenu({
  chosen,
  onChange,
}: {
  readonly chosen: string
  readonly onChange: (chosen: string) => void
}): ReactNode {
  const ids = chosen.split(',')
  return (
    <Menu
      label="Columns"
      icon="columns"
      items={COLUMNS.map(({ id, name }) => ({
        label: name,
        checked: ids.includes(id),
        stays: true,
        onSelect: () => {
          const next = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]
          onChange(
            COLUMNS.filter((column) => next.includes(column.id))
              .map((column) => column.id)
              .join(','),
          )
        },
      }))}
    />
  )
}

/** JSON on one line, truncated. */
export function brief(value: unknown): string {
  if (value === undefined) return ''
  return stringifyExact(value).slice(0, 300)
}

/** The most relevant timestamp for the state of the job. */
export function relevantTime({ state, dueAt, startedAt, finishedAt, enqueuedAt }: Job): string {
  if (state === 'delayed') return dueAt
  if (state === 'running') return startedAt ?? enqueuedAt
  return finishedAt ?? (state === 'ready' ? dueAt : enqueuedAt)
}

function Took({ job: { state, startedAt, finishedAt } }: { readonly job: Job }): ReactNode {
  if (startedAt === null) return <span className="faint">–</span>
  if (state === 'running') return <Duration since={startedAt} />
  return <Duration ms={finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt)} />
}
