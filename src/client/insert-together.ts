import { mergeHints, type Notifier, namingHints, workHint } from '../notifier.ts'
import type { AddMembersCall, AddMembersReply } from '../store/flows.ts'
import type { InsertCall, Store } from '../store.ts'
import { type Enqueuer, toldJobs } from './enqueuer.ts'
import type { LaterHints } from './later-hints.ts'
import { transactionOf } from './transaction.ts'

export interface TogetherEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly enqueuer: Pick<Enqueuer, 'insert' | 'addMembers'>
  readonly laterHints: LaterHints
}

/**
 * Inserts jobs with the groups and runs to which they belong, all or nothing, and tells of what can start. With a
 * transaction of the user's they are there when that commits; without one, what others insert at the same time goes
 * along. Returns the places of the runs that were there before.
 */
export async function insertTogether(
  env: TogetherEnv,
  call: InsertCall,
  tx: unknown,
): Promise<readonly number[]> {
  const { store, notifier, enqueuer, laterHints } = env
  if (tx === undefined) {
    let known: readonly number[] = []
    const onKnownRuns = (places: readonly number[]): void => {
      known = places
    }
    await enqueuer.insert(call.jobs, call.again ?? false, { ...call, onKnownRuns })
    return known
  }
  const { results, enqueued = [], knownRuns = [] } = await transactionOf(store, tx).insert(call)
  const own =
    notifier.notices !== undefined
      ? namingHints(toldJobs(call.jobs, results))
      : call.jobs.flatMap((job, index) => {
          const result = results[index]
          return result?.status === 'ok' ? [workHint({ ...job, dueAt: result.dueAt })] : []
        })
  laterHints.tell(mergeHints([...own, ...enqueued.map((one) => ({ kind: 'work', ...one }) as const)]))
  return knownRuns
}

/** Adds members to an open group, or seals it, with a transaction of the user's or without. */
export async function addTogether(
  { store, enqueuer, laterHints }: TogetherEnv,
  call: AddMembersCall,
  tx: unknown,
): Promise<AddMembersReply> {
  if (tx === undefined) return enqueuer.addMembers(call)
  const reply = await transactionOf(store, tx).addMembers(call)
  laterHints.tell(mergeHints(reply.enqueued.map((one) => ({ kind: 'work', ...one }) as const)))
  return reply
}
