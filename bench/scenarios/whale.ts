import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import type { Window } from '../player/commands.ts'
import type { Player } from '../player/player.ts'
import { isQueue, lacks, type Scenario, type Value } from './scenario.ts'
import { check, fill, nth, stop } from './stage.ts'

const scenario = 'whale'

/** A single job every 20 ms. */
const PER_SECOND = 50

/** How long the last of them are waited for. */
const PATIENCE_MS = 5_000

/**
 * What handlers take. With a few milliseconds the machine has time to spare, and what is seen is how many jobs a worker takes
 * ahead. With nothing all of the machine goes into the large lane.
 */
const PHASES = [
  { name: '', takesMs: 10 },
  { name: 'no-op ', takesMs: null },
] as const

/**
 * One lane has a deep backlog that a hundred handlers work at. Beside it comes a single job in a lane of its own, every 20 ms:
 * from the call that enqueues it to the call of its handler.
 */
export const whale: Scenario = {
  name: scenario,
  needs: ['lanes'],
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ whale: { backlog, jobs, warmUp } }) =>
    5 + backlog / 40_000 + (PHASES.length * (jobs + warmUp)) / PER_SECOND,

  async run(stage) {
    const { backlog, jobs, warmUp } = stage.sizes.whale
    const players = await stage.players(2, { rules: { lanes: 1 + PHASES.length * (warmUp + jobs) } })
    const [producer, worker] = [nth(players, 0), nth(players, 1)]
    await fill(producer, backlog, 0, { lanes: 1 })
    const postgres = await stage.postgres()
    await postgres?.calm()

    let enqueued = backlog
    let ran = 0
    let distinct = 0
    const figures: Value[] = []
    const notes: string[] = []
    for (const { name, takesMs } of PHASES) {
      await worker.call('work', [{ concurrency: 100, ...(takesMs !== null && { takesMs }) }])
      const produced = await producer.call('produce', [
        {
          from: enqueued,
          rate: PER_SECOND,
          seconds: (warmUp + jobs) / PER_SECOND,
          stamp: 'call',
          lanes: 'own',
        },
      ])
      const counted = produced.count - warmUp
      const started = await untilStarted(worker, enqueued + warmUp, counted)
      enqueued += produced.count
      const outcome = await stop([worker])
      ran += outcome.ran
      distinct += outcome.distinct
      if (started.ran < counted) notes.push(`${name}${started.ran} of ${counted} single jobs started`)
      else figures.push(...valuesOf(name, started))
      // Those of this phase that still wait would be taken for jobs of the next.
      if (started.ran < counted) break
    }

    await check(producer, enqueued, { ran, distinct })
    if (notes.length === 0) return { figures }
    return { figures, note: `${notes.join('; ')} within ${PATIENCE_MS / 1_000} s after the last` }
  },
}

function valuesOf(name: string, { p50, p99 }: Window): Value[] {
  if (p50 === null || p99 === null) return []
  return [
    { scenario, measure: `${name}p50 ms`, value: p50 },
    { scenario, measure: `${name}p99 ms`, value: p99 },
  ]
}

/** Waits for the jobs from a number on, with patience. */
async function untilStarted(worker: Player, least: number, count: number): Promise<Window> {
  const end = now() + PATIENCE_MS
  for (;;) {
    const window = await worker.call('window', [{ from: 0, to: now(), least }])
    if (window.ran >= count || now() >= end) return window
    await sleep(50)
  }
}
