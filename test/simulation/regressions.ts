import type { StoreName } from './stores.ts'

/**
 * Trials that once found something. They are run first, for ever. A seed stands for the same trial only while the
 * simulator draws the same numbers; when an action is added the story beside it says what to look for again.
 */
export const REGRESSIONS: readonly {
  readonly store: StoreName
  readonly seed: number
  readonly story: string
}[] = [
  { store: 'memory', seed: 39, story: "a late holder took a rescuer's settlement for its own" },
  { store: 'memory', seed: 123, story: 'a repeated enqueue brought back a job that had run and was gone' },
  { store: 'memory', seed: 13, story: 'a call that was never answered kept jobs leased for ever' },
  { store: 'memory', seed: 82, story: 'a closed client left its deadlines behind' },
  { store: 'sqlite', seed: 47, story: 'a closed client left hints to be sent' },
]
