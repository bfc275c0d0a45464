import { atOnce } from './at-once.ts'
import { backlog } from './backlog.ts'
import { drain, drainAnalysed, drainKept, drainTwo } from './drain.ts'
import { enqueue } from './enqueue.ts'
import { killed } from './killed.ts'
import { latency } from './latency.ts'
import { pinned } from './pinned.ts'
import type { Scenario } from './scenario.ts'
import { steady1k, steady10k } from './steady.ts'

/**
 * In the order in which they run. Their figures are named:
 *
 * | `--scenario` | scenario in the figures | measures |
 * |---|---|---|
 * | enqueue | `enqueue, one awaited`, `enqueue, 100 callers`, `enqueue, bulk` | jobs/s |
 * | drain-one | `drain, 1 process` | jobs/s, worker CPU us/job, worker RSS MB, database CPU us/job, WAL bytes/job |
 * | drain-two, drain-analysed, drain-kept | `drain, 2 processes`, `drain, analysed`, `drain, kept` | the same |
 * | at-once | `all at once` | jobs/s, enqueued/s |
 * | latency | `idle latency` | p50 ms, p99 ms |
 * | steady-1k, steady-10k | `steady, 1,000/s`, `steady, 10,000/s` | jobs/s, p50 ms, p99 ms |
 * | backlog | `backlog` | 10k jobs/s, 1M jobs/s, ratio |
 * | killed | `killed` | seconds |
 * | pinned | `horizon pinned` | free jobs/s, pinned jobs/s, ratio, free and pinned claim ms, free and pinned p99 ms |
 *
 * `horizon pinned` also has series: jobs/s, p50 ms, p99 ms, claim ms, claim max ms, database CPU %.
 */
export const SCENARIOS: readonly Scenario[] = [
  enqueue,
  drain,
  drainTwo,
  drainAnalysed,
  drainKept,
  atOnce,
  latency,
  steady1k,
  steady10k,
  backlog,
  killed,
  pinned,
]
