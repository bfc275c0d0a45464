import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import type { Usage } from '../measure/postgres.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop, untilRan } from './stage.ts'

export const steady1k: Scenario = steady('steady-1k', 'steady, 1,000/s', 1_000)
export const steady10k: Scenario = steady('steady-10k', 'steady, 10,000/s', 10_000)

/**
 * One process enqueues at a fixed rate, another runs the jobs. A job's time counts from when it should have been enqueued:
 * who cannot keep up is late from the first call on, and it must be seen.
 */
function steady(name: string, scenario: string, rate: number): Scenario {
  return {
    name,
    takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
    seconds: ({ steadySeconds, steadyWarmUpSeconds }) => 2.5 + steadySeconds + steadyWarmUpSeconds,

    async run(stage) {
      const { steadySeconds, steadyWarmUpSeconds } = stage.sizes
      const players = await stage.players(2)
      const [producer, worker] = [nth(players, 0), nth(players, 1)]
      const meter = await stage.meter()

      await worker.call('work', [{ concurrency: 100 }])
      const seconds = steadyWarmUpSeconds + steadySeconds
      const from = now() + steadyWarmUpSeconds * 1_000
      const producing = producer.call('produce', [{ from: 0, rate, seconds, stamp: 'due' }])
      await sleep(steadyWarmUpSeconds * 1_000)
      const before = await meter?.usage()
      const [produced] = await Promise.all([producing, sleep(steadySeconds * 1_000)])
      const after = await meter?.usage()
      const to = from + steadySeconds * 1_000
      await untilRan([worker], produced.count, 1_000)
      const { ran, p50, p99 } = await worker.call('window', [{ from, to }])

      await check(producer, produced.count, await stop([worker]))
      const done = { scenario, measure: 'jobs/s', value: ran / steadySeconds }
      if (p50 === null || p99 === null) return { figures: [done], note: 'no job ran in the time that counts' }
      return {
        figures: [
          done,
          { scenario, measure: 'p50 ms', value: p50 },
          { scenario, measure: 'p99 ms', value: p99 },
          ...cpuShare(before, after, steadySeconds).map((value) => ({
            scenario,
            measure: 'database CPU %',
            value,
          })),
        ],
      }
    },
  }
}

/** Of one core; nothing where it cannot be seen. */
function cpuShare(before: Usage | undefined, after: Usage | undefined, seconds: number): number[] {
  if (typeof before?.cpuMicros !== 'number' || typeof after?.cpuMicros !== 'number') return []
  return [(after.cpuMicros - before.cpuMicros) / (seconds * 1e4)]
}
