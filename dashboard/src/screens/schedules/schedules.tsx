import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { ScheduleSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { capitalized } from '../../format/capitalized.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Field } from '../../ui/field.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { TimeAgo, useNow } from '../../ui/time.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import './schedules.css'

/** A slot overdue by this much was not fired by any worker. */
const LATE_MS = 10_000

export function isLate({ nextAt, paused }: Pick<ScheduleSummary, 'nextAt' | 'paused'>, now: number): boolean {
  return paused === null && nextAt !== null && now - Date.parse(nextAt) > LATE_MS
}

/** The status of a schedule: paused, late, ended, or none. */
export function ScheduleStatus({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode {
  const now = useNow()
  const { paused, nextAt } = schedule
  if (paused) {
    return (
      <Badge tone="warn" title={paused.reason ?? 'No reason given'}>
        paused
      </Badge>
    )
  }
  if (nextAt === null) return <Badge title="No more slots">ended</Badge>
  if (isLate(schedule, now)) {
    return (
      <Badge tone="bad" title="Not fired. Check that a worker for its queue is running.">
        late
      </Badge>
    )
  }
  return null
}

/** Where the schedule is defined, which is where it can be edited. */
export function ScheduleOrigin({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode {
  return schedule.declared ? (
    <Badge tone="info" title="Defined in code: edit it there">
      in code
    </Badge>
  ) : (
    <Badge title="Created at run time: edit it here">run time</Badge>
  )
}

const COLUMNS: readonly Column<ScheduleSummary>[] = [
  {
    id: 'schedule',
    title: 'Schedule',
    width: 'minmax(12rem, 3fr)',
    cell: (schedule) => (
      <span className="schedule-cell">
        <span className="row">
          <strong className="cut">{schedule.id}</strong>
          <ScheduleStatus schedule={schedule} />
        </span>
        <span className="small soft cut">{capitalized(schedule.words)}</span>
      </span>
    ),
  },
  { id: 'queue', title: 'Queue', width: 'minmax(7rem, 1fr)', wideOnly: true, cell: ({ queue }) => queue },
  {
    id: 'next',
    title: 'Next slot',
    width: '7.5rem',
    cell: ({ nextAt, paused }) => (paused ? <span className="faint">–</span> : <TimeAgo at={nextAt} />),
  },
  {
    id: 'last',
    title: 'Last fired',
    width: '9rem',
    wideOnly: true,
    cell: ({ lastFiredAt, lastJob }) =>
      lastJob === null ? (
        <span className="faint">never</span>
      ) : (
        <Link to={to.job(lastJob)} className="link">
          <TimeAgo at={lastFiredAt} />
        </Link>
      ),
  },
  {
    id: 'origin',
    title: 'Defined',
    width: '6rem',
    wideOnly: true,
    cell: (schedule) => <ScheduleOrigin schedule={schedule} />,
  },
]

type Shown = 'all' | 'paused' | 'late'

export function SchedulesScreen(): ReactNode {
  const [shown, setShown] = useUrlParam<Shown>('show', 'all')
  const [wanted, setWanted] = useUrlParam<string>('find', '')
  const [isNew, setNew] = useState(false)
  const schedules = usePages('schedules.list', { limit: 100 }, (output) => output.schedules, {
    every: 15_000,
  })
  const canOperate = useCan('operate')
  const now = useNow()
  const go = useGo()
  const fits = (one: ScheduleSummary): boolean =>
    (shown === 'all' || (shown === 'paused' ? one.paused !== null : isLate(one, now))) &&
    `${one.id} ${one.queue}`.toLowerCase().includes(wanted.toLowerCase())
  return (
    <Page
      title="Schedules"
      name="Schedules"
      full
      actions={
        canOperate && (
          <Button icon="plus" look="main" onClick={() => setNew(true)}>
            New schedule
          </Button>
        )
      }
    >
      <div className="row wraps">
        <div className="schedule-find">
          <Field
            label="Filter schedules"
            bare
            type="search"
            placeholder="Filter by name or queue"
            value={wanted}
            data-search
            onChange={(event) => setWanted(event.target.value)}
          />
        </div>
        <Segments
          label="Show schedules"
          value={shown}
          onChange={setShown}
          options={[
            { value: 'all', label: 'All' },
            { value: 'paused', label: 'Paused' },
            { value: 'late', label: 'Late' },
          ]}
        />
      </div>
      <Loaded request={schedules}>
        {(items) => {
          const rows = items.filter(fits)
          if (items.length === 0) return <NoSchedules />
          if (rows.length === 0 && !schedules.hasMore)
            return <EmptyState title="No matching schedules" icon="filter" />
          return (
            <Table
              label="Schedules"
              rows={rows}
              columns={COLUMNS}
              keyOf={({ id }) => id}
              rowHeight={56}
              onOpen={({ id }) => go(to.schedule(id))}
              footer={schedules.hasMore && <Pager hasMore busy={schedules.isBusy} onMore={schedules.more} />}
            />
          )
        }}
      </Loaded>
      {isNew && <ScheduleForm onClose={() => setNew(false)} onSaved={({ id }) => go(to.schedule(id))} />}
    </Page>
  )
}

function NoSchedules(): ReactNode {
  return (
    <EmptyState title="No schedules" icon="schedules">
      A schedule enqueues a job at each slot, by a cron expression in a time zone or at an interval. Each slot
      fires exactly once, regardless of the number of workers.
      <CodeBlock
        code={
          "skep.schedules.declare([\n  schedule('report.daily', {\n    queue: buildReport,\n    payload: { kind: 'daily' },\n    cron: '30 9 * * *',\n    timeZone: 'Europe/Berlin',\n  }),\n])"
        }
      />
    </EmptyState>
  )
}
