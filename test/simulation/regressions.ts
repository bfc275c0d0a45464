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
  { store: 'sqlite', seed: 27, story: 'a repeated enqueue brought back a job that had been pruned' },
  { store: 'memory', seed: 22, story: 'a call that was never answered kept a worker from ever stopping' },
  { store: 'sqlite', seed: 40, story: 'a call that was never answered kept jobs leased for ever' },
  { store: 'memory', seed: 109, story: 'a closed client left a timer behind' },
]
