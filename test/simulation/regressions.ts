import type { StoreName } from './stores.ts'

/**
 * Trials in which a bug that was mended shows when it is put back (most of them by a mutant of `test/mutants`). They are
 * run first, for ever. A seed stands for the same trial only while the simulator draws the same numbers: the seeds at
 * which these were first seen stand for other trials by now. When an action is added, the mutant tells the new seed.
 */
export const REGRESSIONS: readonly {
  readonly store: StoreName
  readonly seed: number
  readonly story: string
}[] = [
  { store: 'memory', seed: 2, story: "a late holder took a rescuer's settlement for its own" },
  { store: 'memory', seed: 20, story: 'a repeated enqueue brought back a job that had run and was gone' },
  { store: 'memory', seed: 13, story: 'a call that was never answered kept jobs leased for ever' },
  { store: 'memory', seed: 3, story: 'a closed client left its deadlines behind' },
  { store: 'sqlite', seed: 18, story: 'a closed client left hints to be sent' },
]
