import type { Enqueued } from '../player/commands.ts'
import type { Scenario, Value } from './scenario.ts'
import { check, nth } from './stage.ts'

/** One process puts jobs in: one call after the other, a hundred callers, and one call with very many. */
export const enqueue: Scenario = {
  name: 'enqueue',
  takesPart: () => true,
  seconds: ({ enqueueMs, enqueueWarmUpMs, bulk }) =>
    1 + (2 * (enqueueMs + enqueueWarmUpMs)) / 1_000 + bulk / 50_000,

  async run(stage) {
    const { enqueueMs: ms, enqueueWarmUpMs: warmUpMs, bulk } = stage.sizes
    const player = nth(await stage.players(1), 0)
    const together = stage.contestant.kind === 'raw'
    let from = 0
    const counted = async (enqueued: Promise<Enqueued>): Promise<Enqueued> => {
      from += (await enqueued).count
      return enqueued
    }

    await counted(player.call('enqueueOneByOne', [{ from, ms: warmUpMs }]))
    const one = await counted(player.call('enqueueOneByOne', [{ from, ms }]))
    await counted(player.call('enqueueWithCallers', [{ from, callers: 100, ms: warmUpMs, together }]))
    const callers = await counted(player.call('enqueueWithCallers', [{ from, callers: 100, ms, together }]))
    // What the callers put in makes Redis write its log anew, in a process beside it: more often for those who put in more.
    await stage.redis()?.rewriteLog()
    const many = await counted(player.call('enqueueMany', [{ from, count: bulk, chunk: bulk }]))

    await check(player, from)
    return {
      figures: [
        value('enqueue, one awaited', one),
        value('enqueue, 100 callers', callers),
        value('enqueue, bulk', many),
      ],
    }
  },
}

function value(scenario: string, { count, ms }: Enqueued): Value {
  return { scenario, measure: 'jobs/s', value: (count / ms) * 1_000 }
}
