import type { Result } from '../result.ts'
import type { Place } from './measure.ts'
import { placesOf } from './standing.ts'

/** Measures that the report speaks of by name. The names are those of `scenarios/`. */
export const PLACES = {
  enqueueOne: { scenario: 'enqueue, one awaited', measure: 'jobs/s' },
  enqueueCallers: { scenario: 'enqueue, 100 callers', measure: 'jobs/s' },
  enqueueBulk: { scenario: 'enqueue, bulk', measure: 'jobs/s' },
  drain: { scenario: 'drain, 1 process', measure: 'jobs/s' },
  drainTwo: { scenario: 'drain, 2 processes', measure: 'jobs/s' },
  drainAnalysed: { scenario: 'drain, analysed', measure: 'jobs/s' },
  drainKept: { scenario: 'drain, kept', measure: 'jobs/s' },
  atOnce: { scenario: 'all at once', measure: 'jobs/s' },
  atOnceEnqueued: { scenario: 'all at once', measure: 'enqueued/s' },
  workerCpu: { scenario: 'drain, 1 process', measure: 'worker CPU us/job' },
  workerMemory: { scenario: 'drain, 1 process', measure: 'worker RSS MB' },
  idleP50: { scenario: 'idle latency', measure: 'p50 ms' },
  idleP99: { scenario: 'idle latency', measure: 'p99 ms' },
  steadyDone: { scenario: 'steady, 10,000/s', measure: 'jobs/s' },
  steadyP50: { scenario: 'steady, 10,000/s', measure: 'p50 ms' },
  steadyP99: { scenario: 'steady, 10,000/s', measure: 'p99 ms' },
  slowDone: { scenario: 'steady, 1,000/s', measure: 'jobs/s' },
  slowP50: { scenario: 'steady, 1,000/s', measure: 'p50 ms' },
  slowP99: { scenario: 'steady, 1,000/s', measure: 'p99 ms' },
  backlogSmall: { scenario: 'backlog', measure: '10k jobs/s' },
  backlogLarge: { scenario: 'backlog', measure: '1M jobs/s' },
  backlogRatio: { scenario: 'backlog', measure: 'ratio' },
  memory: { scenario: 'memory', measure: 'bytes/job' },
  killed: { scenario: 'killed', measure: 'seconds' },
  pinnedFreeDone: { scenario: 'horizon pinned', measure: 'free jobs/s' },
  pinnedDone: { scenario: 'horizon pinned', measure: 'pinned jobs/s' },
  pinnedRatio: { scenario: 'horizon pinned', measure: 'ratio' },
  pinnedFreeClaim: { scenario: 'horizon pinned', measure: 'free claim ms' },
  pinnedClaim: { scenario: 'horizon pinned', measure: 'pinned claim ms' },
  pinnedFreeP99: { scenario: 'horizon pinned', measure: 'free p99 ms' },
  pinnedP99: { scenario: 'horizon pinned', measure: 'pinned p99 ms' },
  lanes10: { scenario: 'lanes-10', measure: 'jobs/s' },
  lanes1k: { scenario: 'lanes-1k', measure: 'jobs/s' },
  lanes10k: { scenario: 'lanes-10k', measure: 'jobs/s' },
  lanes100k: { scenario: 'lanes-100k', measure: 'jobs/s' },
  lanesLimited: { scenario: 'lanes-limited', measure: 'jobs/s' },
  strict: { scenario: 'strict', measure: 'jobs/s' },
  throttledFree: { scenario: 'throttled', measure: 'free jobs/s' },
  throttledBeside: { scenario: 'throttled', measure: 'beside jobs/s' },
  throttledRatio: { scenario: 'throttled', measure: 'ratio' },
  whaleP50: { scenario: 'whale', measure: 'p50 ms' },
  whaleP99: { scenario: 'whale', measure: 'p99 ms' },
  whaleNoopP50: { scenario: 'whale', measure: 'no-op p50 ms' },
  whaleNoopP99: { scenario: 'whale', measure: 'no-op p99 ms' },
  rateRatio: { scenario: 'rate', measure: 'ratio' },
  rateFullest: { scenario: 'rate', measure: 'fullest second' },
  flowChildren: { scenario: 'flow-children', measure: 'flows/s' },
  flowChain: { scenario: 'flow-chain', measure: 'flows/s' },
  latenessP50: { scenario: 'lateness', measure: 'p50 ms' },
  latenessP99: { scenario: 'lateness', measure: 'p99 ms' },
  pinnedLanesRatio: { scenario: 'pinned-lanes', measure: 'ratio' },
  pinnedLanesFreeClaim: { scenario: 'pinned-lanes', measure: 'free claim ms' },
  pinnedLanesClaim: { scenario: 'pinned-lanes', measure: 'pinned claim ms' },
} as const satisfies Record<string, Place>

/** The values over time that are drawn. */
export const PINNED_SERIES = { scenario: 'horizon pinned', measure: 'claim ms' } as const satisfies Place

export interface Column extends Place {
  readonly title: string
}

/** A table of each store. */
export interface Group {
  readonly title: string
  readonly columns: readonly Column[]
  /** More of scenarios that have a table already: why somebody is missing stands there. */
  readonly isMore?: true
}

const column = (place: Place, title: string): Column => ({ ...place, title })

const LANE_DRAINS = [
  [PLACES.lanes10, '10 lanes'],
  [PLACES.lanes1k, '1,000'],
  [PLACES.lanes10k, '10,000'],
  [PLACES.lanes100k, '100,000'],
  [PLACES.lanesLimited, '1,000, two at once of each'],
] as const

/** Every drain has the same measures beside its rate. */
function costs(scenario: string): Group {
  return {
    title: `What a job costs (${scenario})`,
    columns: [
      column({ scenario, measure: 'worker CPU us/job' }, 'worker CPU µs'),
      column({ scenario, measure: 'database CPU us/job' }, 'database CPU µs'),
      column({ scenario, measure: 'WAL bytes/job' }, 'WAL bytes'),
      column({ scenario, measure: 'worker RSS MB' }, 'worker RSS MB'),
    ],
  }
}

const GROUPS: readonly Group[] = [
  {
    title: 'Enqueue, jobs/s',
    columns: [
      column(PLACES.enqueueOne, 'one awaited'),
      column(PLACES.enqueueCallers, '100 callers'),
      column(PLACES.enqueueBulk, 'bulk of 100k'),
    ],
  },
  {
    title: 'Drain of 100k no-op jobs, jobs/s',
    columns: [
      column(PLACES.drain, '1 process'),
      column(PLACES.drainTwo, '2 processes'),
      column(PLACES.drainAnalysed, '1 process, analysed'),
      column(PLACES.drainKept, '1 process, jobs kept'),
    ],
  },
  {
    title: 'Enqueue and run at once',
    columns: [column(PLACES.atOnceEnqueued, 'enqueued/s'), column(PLACES.atOnce, 'done/s')],
  },
  ...['drain, 1 process', 'drain, 2 processes', 'drain, analysed', 'drain, kept'].map(costs),
  {
    title: 'Latency when idle, ms from enqueue to start',
    columns: [column(PLACES.idleP50, 'p50'), column(PLACES.idleP99, 'p99')],
  },
  {
    title: 'A steady rate, ms from when the job was due to be enqueued to its start',
    columns: [
      column(PLACES.slowDone, '1,000/s: done/s'),
      column(PLACES.slowP50, 'p50'),
      column(PLACES.slowP99, 'p99'),
      column(PLACES.steadyDone, '10,000/s: done/s'),
      column(PLACES.steadyP50, 'p50'),
      column(PLACES.steadyP99, 'p99'),
    ],
  },
  {
    title: 'What a steady rate costs the database, % of a core',
    isMore: true,
    columns: [
      column({ scenario: 'steady, 1,000/s', measure: 'database CPU %' }, '1,000/s'),
      column({ scenario: 'steady, 10,000/s', measure: 'database CPU %' }, '10,000/s'),
    ],
  },
  {
    title: 'Drain of a large backlog, jobs/s',
    columns: [
      column(PLACES.backlogSmall, '10k waiting'),
      column(PLACES.backlogLarge, '1M waiting'),
      column(PLACES.backlogRatio, 'ratio'),
    ],
  },
  {
    title: 'Drain of 100k no-op jobs in lanes, jobs/s',
    columns: LANE_DRAINS.map(([place, title]) => column(place, title)),
  },
  {
    title: 'What a job in lanes costs, database CPU µs',
    isMore: true,
    columns: LANE_DRAINS.map(([{ scenario }, title]) =>
      column({ scenario, measure: 'database CPU us/job' }, title),
    ),
  },
  {
    title: 'Drain of 1,000 strict lanes of 100 jobs, 2 processes',
    columns: [column(PLACES.strict, 'jobs/s, in order')],
  },
  {
    title: 'Beside 50,000 lanes that may not start anything, jobs/s',
    columns: [
      column(PLACES.throttledFree, 'without them'),
      column(PLACES.throttledBeside, 'beside them'),
      column(PLACES.throttledRatio, 'ratio'),
    ],
  },
  {
    title: 'A single job beside a lane of 500k, ms from enqueue to start',
    columns: [
      column(PLACES.whaleP50, 'handlers of 10 ms: p50'),
      column(PLACES.whaleP99, 'p99'),
      column(PLACES.whaleNoopP50, 'no-op handlers: p50'),
      column(PLACES.whaleNoopP99, 'p99'),
    ],
  },
  {
    title: 'A limit of 200 starts a second, offered 400',
    columns: [
      column(PLACES.rateRatio, 'rate, of the limit'),
      column(PLACES.rateFullest, 'fullest second, of the limit'),
    ],
  },
  {
    title: 'Jobs with a delay of 200 ms, ms from due to start',
    columns: [column(PLACES.latenessP50, 'p50'), column(PLACES.latenessP99, 'p99')],
  },
  {
    title: 'Flows: made, run and joined, flows/s',
    columns: [
      column(PLACES.flowChildren, '100 children and their parent'),
      column(PLACES.flowChain, 'chain of 5'),
    ],
  },
  {
    title: 'What a flow costs',
    isMore: true,
    columns: [
      column({ scenario: 'flow-children', measure: 'worker CPU us/flow' }, '100 children: worker CPU µs'),
      column({ scenario: 'flow-children', measure: 'database CPU us/flow' }, 'database CPU µs'),
      column({ scenario: 'flow-chain', measure: 'worker CPU us/flow' }, 'chain of 5: worker CPU µs'),
      column({ scenario: 'flow-chain', measure: 'database CPU us/flow' }, 'database CPU µs'),
    ],
  },
  {
    title: 'Memory of the server for a waiting job',
    columns: [column(PLACES.memory, 'bytes')],
  },
  {
    title: 'kill -9 of a worker with 100 running jobs',
    columns: [column(PLACES.killed, 'seconds until all run again')],
  },
  {
    title: 'Horizon pinned for 3 minutes at 2,000 jobs/s',
    columns: [
      column(PLACES.pinnedFreeDone, 'done/s before'),
      column(PLACES.pinnedDone, 'done/s, last 30 s'),
      column(PLACES.pinnedRatio, 'ratio'),
      column(PLACES.pinnedFreeClaim, 'claim ms before'),
      column(PLACES.pinnedClaim, 'claim ms, last 30 s'),
      column(PLACES.pinnedFreeP99, 'p99 ms before'),
      column(PLACES.pinnedP99, 'p99 ms, last 30 s'),
    ],
  },
  {
    title: 'The same with jobs of 1,000 lanes',
    columns: [
      column({ scenario: 'pinned-lanes', measure: 'free jobs/s' }, 'done/s before'),
      column({ scenario: 'pinned-lanes', measure: 'pinned jobs/s' }, 'done/s, last 30 s'),
      column(PLACES.pinnedLanesRatio, 'ratio'),
      column(PLACES.pinnedLanesFreeClaim, 'claim ms before'),
      column(PLACES.pinnedLanesClaim, 'claim ms, last 30 s'),
      column({ scenario: 'pinned-lanes', measure: 'free p99 ms' }, 'p99 ms before'),
      column({ scenario: 'pinned-lanes', measure: 'pinned p99 ms' }, 'p99 ms, last 30 s'),
    ],
  },
]

const sameAs =
  (a: Place) =>
  (b: Place): boolean =>
    a.scenario === b.scenario && a.measure === b.measure

/** The groups of which something was measured. A measure that no group names gets a table of its scenario: none is left out. */
export function groupsOf(result: Result): Group[] {
  const places = placesOf(result)
  const known = GROUPS.map((group) => ({
    ...group,
    columns: group.columns.filter((place) => places.some(sameAs(place))),
  }))
  const others = places.filter((place) => !known.some(({ columns }) => columns.some(sameAs(place))))
  const scenarios = [...new Set(others.map(({ scenario }) => scenario))]
  return [
    ...known,
    ...scenarios.map((scenario) => ({
      title: `More of: ${scenario}`,
      columns: others
        .filter((place) => place.scenario === scenario)
        .map((place) => column(place, place.measure)),
    })),
  ].filter(({ columns }) => columns.length > 0)
}

/** `drain, 1 process: jobs/s`. */
export function nameOf({ scenario, measure }: Place): string {
  return `${scenario}: ${measure}`
}
