import { messageOf, StoreError } from '../../core/errors.ts'
import { mergeHints, type Notifier, namingHints, workHint } from '../../notifier/notifier.ts'
import type { AddMembersCall, AddMembersReply } from '../../store/flows.ts'
import type { InsertCall, Store } from '../../store/store.ts'
import { instruction } from '../../worker/handler.ts'
import type { Run } from '../../worker/runs.ts'
import type { CallsUnderWay } from '../calls-under-way.ts'
import { type Enqueuer, toldJobs } from '../enqueue/batcher.ts'
import { type LaterHints, transactionOf } from '../enqueue/transaction.ts'
import { cancelMembers } from '../flows/change-runs.ts'
import { GROUP_HEADER, REST_HEADER } from './members.ts'

export interface TogetherEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly enqueuer: Pick<Enqueuer, 'insert' | 'addMembers'>
  readonly laterHints: LaterHints
}

/** For calls of the API, which a close waits for. */
export interface CountedEnv extends TogetherEnv {
  readonly calls: CallsUnderWay
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

export interface RestEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly space: string
}

/** After a fault of the store the job is looked at again after this time. */
const AGAIN_MS = 1_000

const REASON = 'The group that it belonged to has been decided without it.'

/** The group whose other members a job has to cancel before its handler is called; null for almost all jobs. */
export function restOf({ job: { headers } }: Run): string | null {
  if (headers === null || !headers.includes(REST_HEADER)) return null
  try {
    const { [REST_HEADER]: rest, [GROUP_HEADER]: group } = JSON.parse(headers) as Record<string, string>
    return rest === undefined ? null : (group ?? null)
  } catch {
    // Whoever reads the headers is told.
    return null
  }
}

/**
 * Cancels what a group has left when the job that follows it starts. It is that job which does it, because it is
 * there as long as this has not been done, whatever dies meanwhile; to do it again is harmless.
 */
export async function callAfterRest(env: RestEnv, run: Run, call: () => unknown): Promise<unknown> {
  const wait = await cancelRest(env, run)
  return wait ?? call()
}

/** Null when it is done. Otherwise the job's answer for now: a store that is away is no fault of its handler. */
export async function cancelRest(env: RestEnv, run: Run): Promise<unknown> {
  const group = restOf(run)
  if (group === null) return null
  try {
    await cancelMembers(env, group, REASON)
    return null
  } catch (error) {
    if (!(error instanceof StoreError) || !error.transient) throw error
    return instruction('snooze', AGAIN_MS, `The rest of the group is not cancelled yet: ${messageOf(error)}`)
  }
}
