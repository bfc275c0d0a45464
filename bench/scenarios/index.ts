import { atOnce } from './at-once.ts'
import { backlog } from './backlog.ts'
import { drain, drainAnalysed, drainKept, drainTwo } from './drain.ts'
import { enqueue } from './enqueue.ts'
import { flowChain, flowChildren } from './flows.ts'
import { killed } from './killed.ts'
import { lanes1k, lanes10, lanes10k, lanes100k, lanesLimited } from './lanes.ts'
import { latency } from './latency.ts'
import { lateness } from './lateness.ts'
import { memory } from './memory.ts'
import { pinned, pinnedLanes } from './pinned.ts'
import { rate } from './rate.ts'
import { receivers } from './receivers.ts'
import type { Scenario } from './scenario.ts'
import { steady1k, steady10k } from './steady.ts'
import { strict } from './strict.ts'
import { throttled } from './throttled.ts'
import { whale } from './whale.ts'

/**
 * In the order in which they run. Their figures are named:
 *
 * | `--scenario` | scenario in the figures | measures |
 * |---|---|---|
 * | enqueue | `enqueue, one awaited`, `enqueue, 100 callers`, `enqueue, bulk` | jobs/s |
 * | drain-one | `drain, 1 process` | jobs/s, worker CPU us/job, worker RSS MB, database CPU us/job, WAL bytes/job |
 * | drain-two, drain-analysed, drain-kept | `drain, 2 processes`, `drain, analysed`, `drain, kept` | the same |
 * | receivers | `receivers` | worker jobs/s, HTTP jobs/s, HTTP ratio, gRPC jobs/s, gRPC ratio |
 * | at-once | `all at once` | jobs/s, enqueued/s |
 * | latency | `idle latency` | p50 ms, p99 ms |
 * | steady-1k, steady-10k | `steady, 1,000/s`, `steady, 10,000/s` | jobs/s, p50 ms, p99 ms, database CPU % |
 * | backlog | `backlog` | 10k jobs/s, 1M jobs/s, ratio |
 * | lanes-10, lanes-1k, lanes-10k, lanes-100k, lanes-limited | the same | jobs/s, database CPU us/job |
 * | strict | `strict` | jobs/s |
 * | throttled | `throttled` | free jobs/s, beside jobs/s, ratio |
 * | whale | `whale` | p50 ms, p99 ms |
 * | rate | `rate` | ratio, fullest second |
 * | lateness | `lateness` | p50 ms, p99 ms |
 * | flow-children, flow-chain | the same | flows/s, worker CPU us/flow, database CPU us/flow |
 * | memory | `memory` | bytes/job |
 * | killed | `killed` | seconds |
 * | pinned, pinned-lanes | `horizon pinned`, `pinned-lanes` | free jobs/s, pinned jobs/s, ratio, free and pinned claim ms, free and pinned p99 ms |
 *
 * The last two also have series: jobs/s, p50 ms, p99 ms, claim ms, claim max ms, database CPU %.
 */
export const SCENARIOS: readonly Scenario[] = [
  enqueue,
  drain,
  drainTwo,
  drainAnalysed,
  drainKept,
  receivers,
  atOnce,
  latency,
  steady1k,
  steady10k,
  backlog,
  lanes10,
  lanes1k,
  lanes10k,
  lanes100k,
  lanesLimited,
  strict,
  throttled,
  whale,
  rate,
  lateness,
  flowChildren,
  flowChain,
  memory,
  killed,
  pinned,
  pinnedLanes,
]
