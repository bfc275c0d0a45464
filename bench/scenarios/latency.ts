import { now } from '../contest.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop, untilRan } from './stage.ts'

const scenario = 'idle latency'

/** A job every 10 ms: from the call that enqueues it in one process to the call of its handler in another. */
export const latency: Scenario = {
  name: 'latency',
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ latencyJobs, latencyWarmUp }) => 1.5 + (latencyJobs + latencyWarmUp) / 100,

  async run(stage) {
    const { latencyJobs, latencyWarmUp } = stage.sizes
    const players = await stage.players(2)
    const [producer, worker] = [nth(players, 0), nth(players, 1)]
    const produce = (from: number, count: number) =>
      producer.call('produce', [{ from, rate: 100, seconds: count / 100, stamp: 'call' }])

    await worker.call('work', [{ concurrency: 10 }])
    const warmUp = await produce(0, latencyWarmUp)
    await untilRan([worker], warmUp.count, 5_000)
    const from = now()
    const counted = await produce(warmUp.count, latencyJobs)
    const total = warmUp.count + counted.count
    await untilRan([worker], total, 5_000)
    const { ran, p50, p99 } = await worker.call('window', [{ from, to: now() }])

    await check(producer, total, await stop([worker]))
    if (ran < counted.count || p50 === null || p99 === null) {
      throw new Error(`Only ${ran} of ${counted.count} jobs ran within 5 s.`)
    }
    return {
      figures: [
        { scenario, measure: 'p50 ms', value: p50 },
        { scenario, measure: 'p99 ms', value: p99 },
      ],
    }
  },
}
