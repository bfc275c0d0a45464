import { type Duration, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import { reasonFailure } from '../core/failure.ts'
import { FINAL_STATES, isFinal, type JobState } from '../core/job.ts'
import { LIMITS } from '../core/limits.ts'
import { assertJobId, assertName } from '../core/names.ts'
import { type ChangeAction, isPossible, POSSIBLE } from '../core/transitions.ts'
import type { Notifier } from '../notifier.ts'
import type { ChangeRefusal, Store, Where } from '../store.ts'
import { assertWhole } from '../worker/options.ts'
import { type ListOptions, statesOf, whereOf } from './inspect.ts'

/** Jobs by id, or all of a queue that fit. */
export type Target =
  | string
  | readonly string[]
  | (Pick<ListOptions, 'state' | 'after' | 'before' | 'text'> & {
      readonly queue: string
      /** At most this many. @default all */
      readonly limit?: number
    })

export interface ChangeSummary {
  /** Jobs changed. */
  readonly changed: number
  /** Running jobs that were asked to stop; their handlers see it at their signal. */
  readonly requested: number
  /** What was not possible, and why. */
  readonly refused: readonly { readonly id: string; readonly reason: ChangeRefusal }[]
}

const PAGE = 500

/** Which states an action takes when the target names none. */
const USUAL: Readonly<Record<ChangeAction, readonly JobState[]>> = {
  ...POSSIBLE,
  redrive: ['dead'],
  remove: FINAL_STATES,
}

/** Does one thing to many jobs, in portions. Hints tell workers and whoever waits for a result. */
export async function changeJobs(
  env: { readonly store: Store; readonly notifier: Notifier; readonly space: string },
  action: ChangeAction,
  target: Target,
  options: { readonly reason: string; readonly keep: Duration },
): Promise<ChangeSummary> {
  const { store, notifier, space } = env
  const kind = action === 'bury' ? 'bury' : 'cancel'
  const failure =
    action === 'cancel' || action === 'bury' ? JSON.stringify(reasonFailure(kind, options.reason)) : null
  const keepMs = toMs('keep', options.keep)
  assertWhole('keep', keepMs, 0, LIMITS.delayMs)
  const common = { action, space, failure, keepMs }
  let changed = 0
  const requested: string[] = []
  const refused = new Map<string, ChangeRefusal>()

  const page = async (
    part: Parameters<Store['change']>[0]['target'],
  ): Promise<{ found: number; moved: number }> => {
    const { results } = await store.change({ ...common, target: part })
    for (const result of results) {
      if (result.status === 'ok') changed++
      else if (result.status === 'requested') requested.push(result.id)
      else refused.set(result.id, result.reason)
    }
    return {
      found: results.length,
      moved: results.filter((result) => result.status !== 'refused').length,
    }
  }

  if (typeof target === 'string' || Array.isArray(target)) {
    const ids = typeof target === 'string' ? [target] : (target as readonly string[])
    for (const id of ids) assertJobId(id)
    for (let from = 0; from < ids.length; from += PAGE) await page({ ids: ids.slice(from, from + PAGE) })
  } else {
    const chosen = target as Exclude<Target, string | readonly string[]>
    assertName('Queue', chosen.queue)
    if (chosen.limit !== undefined) assertWhole('limit', chosen.limit, 1, Number.MAX_SAFE_INTEGER)
    let left = chosen.limit ?? Infinity
    const states = chosen.state === undefined ? USUAL[action] : statesOf(chosen.state)
    for (const state of states) {
      if (isPossible(action, state)) continue
      throw new SkepError('OPTION_INVALID', `A job that is ${state} cannot be changed by ${action}.`)
    }
    for (const state of states) {
      const where = await settledWhere(store, space, chosen, state)
      for (let goOn = where !== null; goOn && left > 0; ) {
        // A running job that was asked to stop still runs, so it would be found again.
        const limit = Math.min(left, state === 'running' ? 10_000 : PAGE)
        const { found, moved } = await page({ queue: chosen.queue, state, where: where ?? {}, limit })
        left -= moved
        // Those that were refused are found again, and are no reason to leave out what comes after them.
        goOn = found === limit && moved > 0 && state !== 'running'
      }
    }
  }

  if (requested.length > 0) notifier.publish([{ kind: 'cancel', space, ids: requested }])
  if (changed > 0) notifier.publish([{ kind: 'sync' }])
  return {
    changed,
    requested: requested.length,
    refused: Array.from(refused, ([id, reason]) => ({ id, reason })),
  }
}

/**
 * What is meant by "all" of a finished state: those that have ended by now. Otherwise jobs that end again while
 * the others are changed would be changed again, without end. Null when there are none.
 */
async function settledWhere(
  store: Store,
  space: string,
  chosen: Exclude<Target, string | readonly string[]>,
  state: JobState,
): Promise<Where | null> {
  const where = whereOf(chosen)
  if (!isFinal(state)) return where
  const { jobs } = await store.list({ space, queue: chosen.queue, state, where, limit: 1, cursor: null })
  const latest = jobs[0]?.finishedAt ?? null
  return latest === null ? null : { ...where, before: Math.min(where.before ?? Infinity, latest + 1) }
}
