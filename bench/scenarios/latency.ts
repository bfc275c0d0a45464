import { now } from '../contest.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop, untilRan } from './stage.ts'

const scenario = 'idle latency'

/** How fast jobs come while Node compiles, for how long at most, and how long those that came in a second are waited for. */
const COMPILE_PER_SECOND = 1_000
const COMPILE_MS = 12_000
const PATIENCE_MS = 10_000

/**
 * A job every 10 ms: from the call that enqueues it in one process to the call of its handler in another. Both have done that some
 * thousand times before, as processes have that live for days: else most of what is measured is how much there is to compile.
 */
export const latency: Scenario = {
  name: 'latency',
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ latencyJobs, latencyWarmUp, latencyCompileUp }) =>
    1.5 + (latencyJobs + latencyWarmUp) / 100 + latencyCompileUp / COMPILE_PER_SECOND,

  async run(stage) {
    const { latencyJobs, latencyWarmUp, latencyCompileUp } = stage.sizes
    const players = await stage.players(2)
    const [producer, worker] = [nth(players, 0), nth(players, 1)]
    let made = 0
    const produce = async (count: number, rate = 100): Promise<number> => {
      const produced = await producer.call('produce', [
        { from: made, rate, seconds: count / rate, stamp: 'call' },
      ])
      made += produced.count
      return produced.count
    }

    await worker.call('work', [{ concurrency: 10 }])
    // Whoever is slow warms up with fewer jobs, and has none left of them when it counts.
    for (const end = now() + COMPILE_MS; made < latencyCompileUp && now() < end; ) {
      await produce(Math.min(COMPILE_PER_SECOND, latencyCompileUp - made), COMPILE_PER_SECOND)
      await untilRan([worker], made, PATIENCE_MS)
    }
    await produce(latencyWarmUp)
    await untilRan([worker], made, 5_000)
    const from = now()
    const counted = await produce(latencyJobs)
    const total = made
    await untilRan([worker], total, 5_000)
    const { ran, p50, p99 } = await worker.call('window', [{ from, to: now() }])

    await check(producer, total, await stop([worker]))
    if (ran < counted || p50 === null || p99 === null) {
      throw new Error(`Only ${ran} of ${counted} jobs ran within 5 s.`)
    }
    return {
      figures: [
        { scenario, measure: 'p50 ms', value: p50 },
        { scenario, measure: 'p99 ms', value: p99 },
      ],
    }
  },
}
