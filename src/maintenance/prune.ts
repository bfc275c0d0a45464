import type { Store } from '../store.ts'

const PAGE = 1_000
const PAGES = 50

/** Removes finished jobs whose time is over, in portions. Returns how many. */
export async function pruneAll(store: Store, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (let page = 0; page < PAGES && !signal?.aborted; page++) {
    const { pruned } = await store.prune({ limit: PAGE })
    total += pruned
    if (pruned < PAGE) break
  }
  return total
}
