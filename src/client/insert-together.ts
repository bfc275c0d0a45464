import { mergeHints, type Notifier, workHint } from '../notifier.ts'
import type { InsertCall, Store } from '../store.ts'
import type { LaterHints } from './later-hints.ts'
import { transactionOf } from './transaction.ts'

export interface TogetherEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly laterHints: LaterHints
}

/**
 * Inserts jobs with the groups and runs to which they belong, all or nothing, and tells of what can start. With a
 * transaction of the user's they are there when that commits.
 */
export async function insertTogether(env: TogetherEnv, call: InsertCall, tx: unknown): Promise<void> {
  const { store, notifier, laterHints } = env
  const { results, enqueued = [] } = await (tx === undefined ? store : transactionOf(store, tx)).insert(call)
  const own = call.jobs.flatMap((job, index) => {
    const result = results[index]
    return result?.status === 'ok' ? [workHint({ ...job, dueAt: result.dueAt })] : []
  })
  const hints = mergeHints([...own, ...enqueued.map((one) => ({ kind: 'work', ...one }) as const)])
  if (tx !== undefined) laterHints.tell(hints)
  else if (hints.length > 0) notifier.publish(hints)
}
