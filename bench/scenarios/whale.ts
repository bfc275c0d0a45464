import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import type { Player } from '../player/player.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, fill, nth, stop } from './stage.ts'

const scenario = 'whale'

/** A single job every 20 ms. */
const PER_SECOND = 50

/** Long enough that no worker empties the large lane, or all of the machine's time goes into that. */
const TAKES_MS = 10

/** How long the last of them are waited for. */
const PATIENCE_MS = 5_000

/**
 * One lane has a deep backlog, of which a hundred handlers run jobs of 10 ms. Beside it comes a single job in a lane of its own,
 * every 20 ms: from the call that enqueues it to the call of its handler.
 */
export const whale: Scenario = {
  name: scenario,
  needs: ['lanes'],
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ whale: { backlog, jobs, warmUp } }) => 4 + backlog / 40_000 + (jobs + warmUp) / PER_SECOND,

  async run(stage) {
    const { backlog, jobs, warmUp } = stage.sizes.whale
    const players = await stage.players(2, { rules: { lanes: 1 + warmUp + jobs } })
    const [producer, worker] = [nth(players, 0), nth(players, 1)]
    await fill(producer, backlog, 0, { lanes: 1 })

    await worker.call('work', [{ concurrency: 100, takesMs: TAKES_MS }])
    const produced = await producer.call('produce', [
      { from: backlog, rate: PER_SECOND, seconds: (warmUp + jobs) / PER_SECOND, stamp: 'call', lanes: 'own' },
    ])
    const counted = produced.count - warmUp
    const { ran, p50, p99 } = await untilStarted(worker, backlog + warmUp, counted)

    await check(producer, backlog + produced.count, await stop([worker]))
    if (ran < counted || p50 === null || p99 === null)
      return {
        figures: [],
        note: `of ${counted} single jobs ${ran} started within ${PATIENCE_MS / 1_000} s after the last`,
      }
    return {
      figures: [
        { scenario, measure: 'p50 ms', value: p50 },
        { scenario, measure: 'p99 ms', value: p99 },
      ],
    }
  },
}

/** Waits for the jobs from a number on, with patience. */
async function untilStarted(worker: Player, least: number, count: number) {
  const end = now() + PATIENCE_MS
  for (;;) {
    const window = await worker.call('window', [{ from: 0, to: now(), least }])
    if (window.ran >= count || now() >= end) return window
    await sleep(50)
  }
}
