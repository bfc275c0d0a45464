import { now } from '../contest.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop, untilRan } from './stage.ts'

const scenario = 'lateness'
const DELAY_MS = 200

/** How long jobs that are due are waited for. */
const PATIENCE_MS = 5_000

/**
 * A job every 10 ms that should start 200 ms later, enqueued by another process than the worker's: how late it starts. It is due
 * 200 ms after the call, so what the call takes counts too.
 */
export const lateness: Scenario = {
  name: scenario,
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ latencyJobs, latencyWarmUp }) => 3 + (latencyJobs + latencyWarmUp) / 100,

  async run(stage) {
    const { latencyJobs, latencyWarmUp } = stage.sizes
    const players = await stage.players(2, { rules: { delays: true } })
    const [producer, worker] = [nth(players, 0), nth(players, 1)]
    const produce = (from: number, count: number) =>
      producer.call('produce', [{ from, rate: 100, seconds: count / 100, stamp: 'call', delayMs: DELAY_MS }])

    await worker.call('work', [{ concurrency: 10 }])
    const warmUp = await produce(0, latencyWarmUp)
    await untilRan([worker], warmUp.count, PATIENCE_MS)
    const counted = await produce(warmUp.count, latencyJobs)
    const total = warmUp.count + counted.count
    await untilRan([worker], total, PATIENCE_MS)
    const { ran, p50, p99 } = await worker.call('window', [{ from: 0, to: now(), least: warmUp.count }])

    await check(producer, total, await stop([worker]))
    if (ran < counted.count || p50 === null || p99 === null)
      return { figures: [], note: `of ${counted.count} jobs ${ran} started within ${PATIENCE_MS / 1_000} s` }
    return {
      figures: [
        { scenario, measure: 'p50 ms', value: p50 },
        { scenario, measure: 'p99 ms', value: p99 },
      ],
    }
  },
}
