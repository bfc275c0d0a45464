import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview, Range } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { plural } from '../../format/numbers.ts'
import { durationText } from '../../format/times.ts'
import { to, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Figure } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { EmptyState, Loaded, Skeleton } from '../../ui/page-states.tsx'
import { AttentionList } from './attention.tsx'
import { BusyQueues } from './busy-queues.tsx'
import { RangePicker } from './range.tsx'
import { SeriesCharts } from './series-charts.tsx'

/** Open issues, totals, throughput and latency. */
export function OverviewScreen(): ReactNode {
  const [range, setRange] = useUrlParam<Range>('range', '1h')
  // Polled, because time buckets advance without an event.
  const overview = useApi('overview.get', { range }, { every: 10_000 })
  return (
    <Page title="Overview" name="Overview" actions={<RangePicker value={range} onChange={setRange} />}>
      <Loaded request={overview} skeleton={<Skeleton height={320} />}>
        {(data) => (isUntouched(data) ? <FirstSteps /> : <Numbers data={data} />)}
      </Loaded>
    </Page>
  )
}

function isUntouched({ queues, workers, totals }: Overview): boolean {
  return queues === 0 && workers.live === 0 && Object.values(totals).every((count) => count === 0)
}

function Numbers({ data }: { readonly data: Overview }): ReactNode {
  const { attention, totals, oldest, unhandled, workers, receivers, series, deploys } = data
  const bad = totals.failed + totals.dead
  return (
    <>
      <AttentionList attention={attention} />
      <div className="figures">
        <Figure
          label="Waiting"
          note={
            oldest ? (
              <Link to={to.queue(oldest.queue)} className="quiet-link">
                oldest {durationText(oldest.ms)} in {oldest.queue}
              </Link>
            ) : (
              'no waiting jobs'
            )
          }
        >
          <Link to={to.jobs('state:ready')}>
            <Count value={totals.ready} />
          </Link>
        </Figure>
        <Figure
          label="Running"
          note={
            workers.slots > 0
              ? // Without the number in use: it comes from heartbeats, lags behind and would contradict the number above.
                plural(workers.slots, 'slot')
              : workers.live > 0
                ? 'no slots'
                : 'no live worker'
          }
        >
          <Link to={to.jobs('state:running')}>
            <Count value={totals.running} />
          </Link>
        </Figure>
        <Figure label="Delayed" note="scheduled or waiting to retry">
          <Link to={to.jobs('state:delayed')}>
            <Count value={totals.delayed} />
          </Link>
        </Figure>
        <Figure
          label="Dead and failed"
          {...(totals.dead > 0 ? { tone: 'bad' as const } : {})}
          note={totals.dead > 0 ? 'dead jobs need action' : 'no dead jobs'}
        >
          <Link to={to.jobs('state:dead,failed')}>
            <Count value={bad} />
          </Link>
        </Figure>
        {unhandled > 0 && (
          <Figure label="Unhandled" tone="bad" note="no live worker for their queues">
            <Link to="/queues?only=unhandled">
              <Count value={unhandled} />
            </Link>
          </Figure>
        )}
        <Figure
          label="Workers"
          note={receivers > 0 ? `and ${plural(receivers, 'receiver')}` : 'live'}
          {...(workers.live === 0 ? { tone: 'warn' as const } : {})}
        >
          <Link to="/workers">
            <Count value={workers.live} />
          </Link>
        </Figure>
      </div>
      <SeriesCharts series={series} deploys={deploys} />
      <BusyQueues />
    </>
  )
}

const FIRST = `import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const mail = queue<{ to: string }>('mail')
const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })

skep.worker([mail.handle(({ payload }) => console.log(payload.to))])
await skep.enqueue(mail, { to: 'ada@example.org' })`

function FirstSteps(): ReactNode {
  return (
    <EmptyState title="No jobs yet" icon="overview">
      <p>
        Enqueue a job from your code or from the{' '}
        <Link to="/playground" className="link">
          playground
        </Link>
        . It appears here immediately.
      </p>
      <CodeBlock code={FIRST} />
    </EmptyState>
  )
}
