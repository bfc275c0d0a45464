import type { Player } from '../player/player.ts'
import type { Scenario } from './scenario.ts'
import { check, fill, nth, type Outcome, stop, untilRan } from './stage.ts'

const scenario = 'backlog'

/**
 * What a job costs when a million wait, against ten thousand. Both are drained by one worker in pieces of ten thousand,
 * stopped after each; the first piece is warm-up. In one case the queue is filled again before each piece, in the
 * other it is full from the start. The fill makes Redis write its log anew, with a process that takes one of the cores;
 * that is over before either case begins, and neither writes enough for another one.
 */
export const backlog: Scenario = {
  name: 'backlog',
  // The rivals' figures would tell little and take long.
  takesPart: ({ kind }) => kind === 'skep',
  seconds: ({ backlog: { large, piece, pieces } }) => 4 + large / 80_000 + (2 * pieces * piece) / 30_000,

  async run(stage) {
    const { piece, pieces, large } = stage.sizes.backlog
    const players = await stage.players(2)
    const [filler, worker] = [nth(players, 0), nth(players, 1)]

    await stage.redis()?.rewriteLog()
    let filled = 0
    const small = await drainPieces(worker, piece, pieces, async () => {
      await fill(filler, piece, filled)
      filled += piece
    })
    await check(filler, filled, small)
    await fill(filler, large, filled)
    await stage.redis()?.rewriteLog()
    const great = await drainPieces(worker, piece, pieces, async () => {})

    await check(filler, large, great)
    return {
      figures: [
        { scenario, measure: '10k jobs/s', value: small.perSecond },
        { scenario, measure: '1M jobs/s', value: great.perSecond },
        { scenario, measure: 'ratio', value: great.perSecond / small.perSecond },
      ],
    }
  },
}

async function drainPieces(
  worker: Player,
  piece: number,
  pieces: number,
  refill: () => Promise<void>,
): Promise<Pick<Outcome, 'ran' | 'distinct'> & { perSecond: number }> {
  let ran = 0
  let distinct = 0
  let counted = 0
  let ms = 0
  for (let n = 0; n <= pieces; n++) {
    await refill()
    await worker.call('work', [{ concurrency: 100 }])
    await untilRan([worker], piece, 30_000)
    const outcome = await stop([worker])
    ran += outcome.ran
    distinct += outcome.distinct
    if (n === 0) continue
    counted += outcome.ran - 1
    ms += outcome.ms
  }
  return { ran, distinct, perSecond: (counted / ms) * 1_000 }
}
