import type { QueueCounts, Store } from '../store.ts'
import { CARD_KIND } from './cards.ts'

const CARDS_PER_READ = 200

/**
 * Leaves out queues of which nothing is left: no job in any state, no live worker, no hold, limit or declaration. Stores keep
 * the name of a queue for ever, so without this a dropped queue would still be listed.
 */
export async function knownQueues(
  store: Store,
  space: string,
  counted: readonly QueueCounts[],
  handled: ReadonlySet<string>,
): Promise<readonly QueueCounts[]> {
  const empty = counted.filter((one) => isEmpty(one) && !handled.has(one.queue)).map(({ queue }) => queue)
  // Mostly there is none, and then nothing more is read.
  if (empty.length === 0) return counted
  const parts: string[][] = []
  for (let i = 0; i < empty.length; i += CARDS_PER_READ) parts.push(empty.slice(i, i + CARDS_PER_READ))
  const [{ holds }, { limits }, ...cards] = await Promise.all([
    store.holds({ space }),
    store.limits({ space }),
    ...parts.map((ids) => store.getRecords({ scope: space, kind: CARD_KIND, ids })),
  ])
  const known = new Set<string | null>([
    ...holds.filter((hold) => hold.space === space).map(({ queue }) => queue),
    ...limits.map(({ target }) => ('queue' in target ? target.queue : null)),
    ...cards.flatMap(({ records }) => records.map((record) => record?.id ?? null)),
  ])
  const unknown = new Set(empty.filter((queue) => !known.has(queue)))
  return counted.filter(({ queue }) => !unknown.has(queue))
}

function isEmpty({ states }: QueueCounts): boolean {
  return Object.values(states).every((jobs) => jobs === 0)
}
