import { messageOf, StoreError } from '../core/errors.ts'
import type { Notifier } from '../notifier.ts'
import type { Store } from '../store.ts'
import { instruction } from '../worker/handler.ts'
import type { Run } from '../worker/run.ts'
import { cancelMembers } from './change-runs.ts'
import { GROUP_HEADER, REST_HEADER } from './group-maker.ts'

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
