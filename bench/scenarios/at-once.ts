import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import { lacks, type Scenario } from './scenario.ts'
import { check, nth, stop } from './stage.ts'

const scenario = 'all at once'

/** One process enqueues with a hundred callers while another runs the jobs: what comes through. */
export const atOnce: Scenario = {
  name: 'at-once',
  // By hand, on SQLite, whoever writes without a pause keeps all others out: that is no limit, it is nothing.
  takesPart: (contestant) =>
    !lacks(contestant, 'processes') && !(contestant.kind === 'raw' && contestant.store === 'sqlite'),
  seconds: ({ atOnceSeconds }) => 2 + 1.3 * atOnceSeconds,

  async run(stage) {
    const ms = stage.sizes.atOnceSeconds * 1_000
    const warmUpMs = ms / 4
    const players = await stage.players(2)
    const [producer, worker] = [nth(players, 0), nth(players, 1)]

    await worker.call('work', [{ concurrency: 100 }])
    const together = stage.contestant.kind === 'raw'
    const from = now() + warmUpMs
    const enqueueing = producer.call('enqueueWithCallers', [
      { from: 0, callers: 100, ms: warmUpMs + ms, together },
    ])
    const [enqueued] = await Promise.all([enqueueing, sleep(warmUpMs + ms)])
    const { ran } = await worker.call('window', [{ from, to: from + ms }])

    await check(producer, enqueued.count, await stop([worker]))
    return {
      figures: [
        { scenario, measure: 'jobs/s', value: (ran / ms) * 1_000 },
        { scenario, measure: 'enqueued/s', value: (enqueued.count / enqueued.ms) * 1_000 },
      ],
    }
  },
}
