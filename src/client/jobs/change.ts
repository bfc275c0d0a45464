import { type Duration, type Keep, keepToMs, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { reasonFailure } from '../../core/jobs/failure.ts'
import { FINAL_STATES, isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { type PriorityMode, storedPriority } from '../../core/jobs/priority.ts'
import {
  byEnqueue,
  type ChangeAction,
  type ChangeTo,
  type Enqueued,
  isPossible,
  POSSIBLE,
  stepsBefore,
} from '../../core/jobs/transitions.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertJobId, assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { type Hint, type Notifier, namingHints } from '../../notifier/notifier.ts'
import type { ChangeCall, ChangeRefusal, ChangeReply, Store, Where } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { moment } from '../enqueue/enqueue.ts'
import { type AnyQueue, assertPriorityMode } from '../queues/queue.ts'
import { type ListOptions, statesOf, whereOf } from './list.ts'
import { SetAside } from './set-aside.ts'

/** Jobs by id, or all of a queue that fit. */
export type Target = string | readonly string[] | (JobFilter & { readonly queue: string })

/** Which jobs of a queue. */
export type JobFilter = Pick<ListOptions, 'state' | 'after' | 'before' | 'text'> & {
  /** At most this many. @default all */
  readonly limit?: number
}

export interface ChangeSummary {
  /** Jobs changed. */
  readonly changed: number
  /** Running jobs that were asked to stop; their handlers see it at their signal. */
  readonly requested: number
  /** What was not possible, and why. */
  readonly refused: readonly { readonly id: string; readonly reason: ChangeRefusal }[]
}

const TARGET_KEYS = optionKeys<JobFilter & { readonly queue: string }>('the target', {
  queue: true,
  state: true,
  after: true,
  before: true,
  text: true,
  limit: true,
})

const RESCHEDULE_KEYS = optionKeys<{ readonly delay: Duration }>('jobs.reschedule()', { delay: true })

const PAGE = 500

/** Which states an action takes when the target names none. */
export const USUAL: Readonly<Record<ChangeAction, readonly JobState[]>> = {
  ...POSSIBLE,
  retry: ['dead'],
  remove: FINAL_STATES,
}

/** What ends jobs for which somebody may wait. */
const ENDING: ReadonlySet<ChangeAction> = new Set<ChangeAction>(['cancel', 'bury', 'remove'])

export interface ChangeEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly space: string
  /** Jobs that were changed, after each page. */
  readonly onChanged?: (ids: readonly string[]) => Promise<void>
}

/** Does one thing to many jobs, in portions. Hints tell workers and whoever waits for a result. */
export async function changeJobs(
  env: ChangeEnv,
  action: ChangeAction,
  target: Target,
  options: {
    readonly reason: string
    readonly keep: Keep
    /** Of a retry: see {@link ChangeCall.earlierMs}. */
    readonly earlierMs?: number
  } & ChangeTo,
): Promise<ChangeSummary> {
  const { store, notifier, space } = env
  const { priority = 0, dueAt } = options
  const kind = action === 'bury' ? 'bury' : 'cancel'
  const failure =
    action === 'cancel' || action === 'bury' ? JSON.stringify(reasonFailure(kind, options.reason)) : null
  const keepMs = keepToMs('keep', options.keep)
  assertWhole('keep', keepMs, 0, LIMITS.delayMs)
  const common = { action, space, failure, keepMs, priority }
  // The jobs of a retry are due at one moment, however many calls it takes, or up to 1 ms earlier for each that follows.
  let due = dueAt
  let changed = 0
  let requested = 0
  const refused = new Map<string, ChangeRefusal>()

  const page = async (
    part: ChangeCall['target'],
    /** Jobs that were found in a state that fits: one that has left it since is passed over. */
    isFound = false,
    earlierMs = options.earlierMs ?? 0,
  ): Promise<{ moved: number; cursor: string | null }> => {
    const { results, cursor, waiting } = await store.change({
      ...common,
      ...(due === undefined ? {} : { dueAt: due }),
      ...(earlierMs > 0 && { earlierMs }),
      target: part,
    })
    // Not before the moment of the first call, and at most half a second after it; a store takes none that is not over.
    if (action === 'retry' && waiting[0] !== undefined) due ??= waiting[0].dueAt + earlierMs + results.length
    const stopping: string[] = []
    let moved = 0
    for (const result of results) {
      if (result.status !== 'refused') moved++
      else if (!isFound || (result.reason !== 'state' && result.reason !== 'unknown'))
        refused.set(result.id, result.reason)
      if (result.status === 'requested') stopping.push(result.id)
    }
    requested += stopping.length
    changed += moved - stopping.length
    // After each page: the next one may fail, and what this one did is to be known all the same.
    const hints = await waitingHints(env, results, waiting)
    if (stopping.length > 0) hints.push({ kind: 'cancel', space, ids: stopping })
    if (moved > stopping.length && ENDING.has(action)) hints.push({ kind: 'sync' })
    if (hints.length > 0) notifier.publish(hints)
    if (env.onChanged && moved > 0) {
      await env.onChanged(results.flatMap(({ status, id }) => (status === 'ok' ? [id] : [])))
    }
    return { moved, cursor }
  }

  if (typeof target === 'string' || Array.isArray(target)) {
    const given = typeof target === 'string' ? [target] : (target as readonly string[])
    for (const id of given) assertJobId(id)
    // The store orders the jobs of one call.
    const isOrdered = action !== 'retry' || given.length <= PAGE
    const ids = isOrdered ? given : await inEnqueueOrder(env, given)
    const steps = isOrdered ? [] : stepsBefore(ids)
    for (let from = 0; from < ids.length; from += PAGE) {
      const part = ids.slice(from, from + PAGE)
      await page({ ids: part }, false, steps[from + part.length - 1])
    }
  } else {
    const chosen = target as Exclude<Target, string | readonly string[]>
    assertOptions(TARGET_KEYS, chosen ?? null)
    if (chosen.queue === undefined) {
      throw new SkepError(
        'OPTION_INVALID',
        "The target names neither jobs nor a queue, so nothing was changed. Pass an id, an array of ids, or a filter: { queue: 'mail' }.",
        { facts: { place: TARGET_KEYS.place, name: 'queue' } },
      )
    }
    assertFilter(TARGET_KEYS.place, chosen)
    assertName('Queue', chosen.queue)
    if (chosen.limit !== undefined) assertWhole('limit', chosen.limit, 1, Number.MAX_SAFE_INTEGER)
    let left = chosen.limit ?? Infinity
    const states = chosen.state === undefined ? USUAL[action] : statesOf(chosen.state)
    assertPossible(action, states)
    if (action === 'retry') {
      await retryAll(
        env,
        { ...chosen, limit: left },
        states,
        async ({ ids, earlierMs }) => (await page({ ids }, true, earlierMs)).moved,
      )
      left = 0
    }
    for (const state of left === 0 ? [] : states) {
      const where = await settledWhere(store, space, chosen, state)
      let cursor: string | null = null
      for (let goOn = where !== null; goOn && left > 0; goOn = cursor !== null) {
        const limit = Math.min(left, PAGE)
        // From where the last page ended: what was refused, asked to stop or moved up is not looked at again.
        const part = { queue: chosen.queue, state, where: where ?? {}, limit, cursor }
        const reply: Awaited<ReturnType<typeof page>> = await page(part)
        left -= reply.moved
        cursor = reply.cursor
      }
    }
  }

  return {
    changed,
    requested,
    refused: Array.from(refused, ([id, reason]) => ({ id, reason })),
  }
}

/**
 * Retries what fits, in the order of the enqueues. So all of it is found first, in whatever states it is and in whatever order it
 * ended.
 */
async function retryAll(
  { store, space }: ChangeEnv,
  chosen: JobFilter & { readonly queue: string; readonly limit: number },
  states: readonly JobState[],
  retry: (part: ReturnType<SetAside['first']>) => Promise<number>,
): Promise<void> {
  const { queue } = chosen
  const places: { state: JobState; where: Where }[] = []
  for (const state of states) {
    const where = await settledWhere(store, space, chosen, state)
    if (where !== null) places.push({ state, where })
  }
  let left = chosen.limit
  let aside: SetAside | null = new SetAside()
  while (aside !== null) {
    for (const { state, where } of places) {
      let cursor: string | null = null
      do {
        const found = { space, queue, state, where, limit: PAGE, cursor, oldestFirst: true }
        const reply: Awaited<ReturnType<Store['list']>> = await store.list(found)
        for (const job of reply.jobs) aside.add(job)
        cursor = reply.cursor
      } while (cursor !== null)
    }
    while (left > 0 && !aside.isOver) {
      const part = aside.first(Math.min(left, PAGE))
      left -= await retry(part)
      aside.drop(part.ids.length)
    }
    aside = left > 0 ? aside.next() : null
  }
}

/** Jobs by id in the order of their enqueues; before them the ids of which there is none, which are refused. */
async function inEnqueueOrder({ store, space }: ChangeEnv, ids: readonly string[]): Promise<string[]> {
  const found: Enqueued[] = []
  for (let from = 0; from < ids.length; from += PAGE) {
    const some = ids.slice(from, from + PAGE)
    const { jobs } = await store.get({ space, ids: some })
    for (const [n, job] of jobs.entries()) {
      const { enqueuedAt, arrival } = job ?? { enqueuedAt: 0 }
      found.push({ id: some[n] as string, enqueuedAt, ...(arrival !== undefined && { arrival }) })
    }
  }
  return found.sort(byEnqueue).map(({ id }) => id)
}

/** What to tell of jobs that came to another place in line. For notices they are read, because an id tells no queue. */
async function waitingHints(
  { store, notifier, space }: Parameters<typeof changeJobs>[0],
  results: ChangeReply['results'],
  waiting: ChangeReply['waiting'],
): Promise<Hint[]> {
  if (notifier.notices !== undefined && waiting.length > 0) {
    const ids = results.filter(({ status }) => status === 'ok').map(({ id }) => id)
    try {
      const { jobs } = await store.get({ space, ids })
      return namingHints(jobs.filter((job) => job?.state === 'ready' || job?.state === 'delayed') as Job[])
    } catch {
      // The change has happened, so it is told of as well as it can be.
    }
  }
  return waiting.map((place) => ({ kind: 'work', space, ...place }))
}

/**
 * Refuses a filter that says nothing: `{ text: search }` with an unset variable would mean all jobs of the queue. Called before
 * anything is changed.
 */
export function assertFilter(place: string, filter: object): void {
  for (const [name, value] of Object.entries(filter) as [string, unknown][]) {
    if (value !== undefined && (name !== 'text' || (typeof value === 'string' && value !== ''))) continue
    const expected = name === 'text' ? 'use a string that is not empty' : 'give it a value'
    throw new SkepError(
      'OPTION_INVALID',
      `${name} of ${place} is ${show(value)}, which would match every job, so nothing was changed; ${expected}, or leave it out.`,
      { facts: { place, name } },
    )
  }
}

/** Refuses states in which the action is never possible, before anything is changed. */
export function assertPossible(action: ChangeAction, states: readonly JobState[]): void {
  const state = states.find((one) => !isPossible(action, one))
  if (state === undefined) return
  throw new SkepError('OPTION_INVALID', `A job that is ${state} cannot be changed by ${action}.`)
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

/** The moment that was asked for; now, if it is over. */
export function dueMoment(when: Date | { readonly delay: Duration }, now: number): number {
  if (when instanceof Date) return Math.max(now, moment(when))
  assertOptions(RESCHEDULE_KEYS, when ?? null)
  const delayMs = toMs('delay', when.delay)
  assertWhole('delay', delayMs, 0, LIMITS.delayMs)
  return now + delayMs
}

/** What is known of a queue that was declared: its name, and how it counts priorities. */
export type DeclaredQueue = Pick<AnyQueue, 'name' | 'priorityMode'>

/** All jobs of a queue, or those that fit. The queue is given as it was declared, so that its mode is known. */
export type DeclaredTarget = DeclaredQueue | (JobFilter & { readonly queue: DeclaredQueue })

export interface PrioritizeOptions {
  /** How the queue of these jobs counts priorities: ids and names do not tell. */
  readonly priorityMode: PriorityMode
}

const KEYS = optionKeys<PrioritizeOptions>('jobs.prioritize()', { priorityMode: true })

/**
 * Which jobs get which stored priority. The same number means minutes in one mode and rank before everything in the
 * other, and a job of priority 0 does not show of which kind its queue is. So the mode is never guessed.
 */
export function resolvePriority(
  target: Target | DeclaredTarget,
  priority: number,
  options: Partial<PrioritizeOptions> = {},
): { readonly target: Target; readonly priority: number } {
  assertOptions(KEYS, options)
  assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
  const { queue, ...filter } = partsOf(target)
  const mode = options.priorityMode ?? queue?.priorityMode
  if (mode === undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      "Ids and the name of a queue do not tell how it counts priorities. Pass the queue itself, or priorityMode: 'head-start' or 'strict'.",
    )
  }
  assertPriorityMode(mode)
  return {
    target: queue === null ? (target as Target) : { ...filter, queue: queue.name },
    priority: storedPriority(priority, mode),
  }
}

function partsOf(target: Target | DeclaredTarget): JobFilter & { readonly queue: DeclaredQueue | null } {
  if (typeof target !== 'object' || target === null || Array.isArray(target)) return { queue: null }
  if ('priorityMode' in target) return { queue: target }
  const { queue, ...filter } = target as JobFilter & { readonly queue: string | DeclaredQueue }
  return typeof queue === 'string' ? { queue: null } : { ...filter, queue }
}
