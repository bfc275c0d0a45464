import { expect, it } from 'vitest'
import { describeReport } from '../proof/checker/index.ts'
import type { TrialKind } from './features/index.ts'
import { replayLine } from './replay.ts'
import { SOMETIMES, SometimesCounter } from './sometimes.ts'
import { prepareStore, type StoreName } from './stores.ts'
import { Trial, type TrialOptions } from './trial.ts'

/**
 * Runs these trials in portions, and then asks whether the rare states were reached: all of them, or those that only
 * this store knows, where the trials are few; or nobody asks.
 */
export function describeTrials(
  store: StoreName,
  firstSeed: number,
  trials: number,
  states: 'all' | 'own' | 'any',
  kind: TrialKind = 'jobs',
  options: TrialOptions & { readonly also?: (trial: Trial) => void } = {},
): void {
  const seen = new SometimesCounter(kind)
  const PORTION = 100

  for (let from = firstSeed; from < firstSeed + trials; from += PORTION) {
    const until = Math.min(from + PORTION, firstSeed + trials)
    it(`keeps every promise in trials of ${kind} ${from} to ${until - 1} on ${store}`, async () => {
      await prepareStore(store)
      for (let seed = from; seed < until; seed++) {
        const trial = new Trial(seed, store, kind, options)
        const result = await trial.run()
        options.also?.(trial)
        seen.add(result)
        const { report } = result
        if (report.violations.length > 0)
          expect.fail(`${describeReport(report)}\nreplay: ${replayLine(store, seed, kind, options)}`)
      }
    }, 300_000)
  }

  if (states === 'any') return
  it(`has been in ${states === 'all' ? 'every rare state' : 'the rare states of its own'} on ${store}`, () => {
    const own = SOMETIMES[kind].filter(({ only }) => only === store).map(({ what }) => what)
    const never = seen.never([store])
    expect(states === 'all' ? never : never.filter((what) => own.includes(what))).toEqual([])
  })
}
