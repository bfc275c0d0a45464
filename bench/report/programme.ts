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
  killed: { scenario: 'killed', measure: 'seconds' },
  pinnedFreeDone: { scenario: 'horizon pinned', measure: 'free jobs/s' },
  pinnedDone: { scenario: 'horizon pinned', measure: 'pinned jobs/s' },
  pinnedRatio: { scenario: 'horizon pinned', measure: 'ratio' },
  pinnedFreeClaim: { scenario: 'horizon pinned', measure: 'free claim ms' },
  pinnedClaim: { scenario: 'horizon pinned', measure: 'pinned claim ms' },
  pinnedFreeP99: { scenario: 'horizon pinned', measure: 'free p99 ms' },
  pinnedP99: { scenario: 'horizon pinned', measure: 'pinned p99 ms' },
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
}

const column = (place: Place, title: string): Column => ({ ...place, title })

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
    title: 'Drain of a large backlog, jobs/s',
    columns: [
      column(PLACES.backlogSmall, '10k waiting'),
      column(PLACES.backlogLarge, '1M waiting'),
      column(PLACES.backlogRatio, 'ratio'),
    ],
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
]

const sameAs =
  (a: Place) =>
  (b: Place): boolean =>
    a.scenario === b.scenario && a.measure === b.measure

/** The groups of which something was measured. A measure that no group names gets a table of its scenario: none is left out. */
export function groupsOf(result: Result): Group[] {
  const places = placesOf(result)
  const known = GROUPS.map(({ title, columns }) => ({
    title,
    columns: columns.filter((place) => places.some(sameAs(place))),
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
