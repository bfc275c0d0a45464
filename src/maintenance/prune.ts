import type { Store } from '../store/store.ts'

const PAGE = 1_000

/** Removes expired finished jobs, in batches, until none is left. Returns their number. */
export async function pruneAll(store: Store, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (let pruned = PAGE; pruned >= PAGE && !signal?.aborted; total += pruned) {
    pruned = (await store.prune({ limit: PAGE })).pruned
  }
  return total
}
