/**
 * Every transition of a job, as pure functions of (job, command, now). The memory store applies them to a
 * map; every other store translates them. The states are drawn in `job.ts`.
 */
import { unchained } from '../flows/chains.ts'
import type { Verdict } from '../policies/policy.ts'
import {
  type ClaimedJob,
  type Failure,
  FINAL_STATES,
  isFinal,
  type Job,
  type JobState,
  type NewJob,
  rankOf,
} from './job.ts'

export function byRank(a: Job, b: Job): number {
  return rankOf(a.dueAt, a.priority) - rankOf(b.dueAt, b.priority) || (a.id < b.id ? -1 : 1)
}

/** When a job that is enqueued now may start. A time in the past means now. */
export function dueTime(job: Pick<NewJob, 'delayMs' | 'runAt'>, now: number): number {
  return Math.max(now + job.delayMs, job.runAt ?? 0)
}

export function create(job: NewJob, now: number): Job {
  const dueAt = dueTime(job, now)
  return {
    id: job.id,
    space: job.space,
    queue: job.queue,
    state: dueAt > now ? 'delayed' : 'ready',
    payload: job.payload,
    headers: job.headers,
    priority: job.priority,
    overrides: job.overrides,
    lane: job.lane,
    strict: job.strict,
    cost: job.cost,
    member: job.member,
    dueAt,
    enqueuedAt: now,
    startedAt: null,
    finishedAt: null,
    expiresAt: null,
    generation: 0,
    starts: 0,
    errors: 0,
    timeouts: 0,
    lost: 0,
    snoozes: 0,
    token: null,
    worker: null,
    leaseUntil: null,
    cancelReason: null,
    uniqueKey: job.unique?.key ?? null,
    uniqueScope: job.unique?.scope ?? null,
    result: null,
    failure: null,
  }
}

/**
 * What a conflict of unique keys does to the job that holds the key, or null if it stays unchanged. Only a
 * waiting job can change; one that waits for a retry gets a fresh budget. `replace` also takes the new job's
 * time; `postpone` does so only if the new job has a delay, which then restarts (debounce).
 */
export function collide(held: Job, incoming: NewJob, now: number): Job | null {
  const how = incoming.unique?.onConflict ?? 'ignore'
  if (how === 'ignore' || (held.state !== 'ready' && held.state !== 'delayed')) return null
  const fresh = create(incoming, now)
  const timed = how === 'replace' || incoming.delayMs > 0 || incoming.runAt !== null
  return {
    ...held,
    payload: fresh.payload,
    headers: fresh.headers,
    priority: fresh.priority,
    overrides: fresh.overrides,
    // The old payload failed, so the new one gets the whole budget. Starts go on: they number the attempts.
    errors: 0,
    timeouts: 0,
    lost: 0,
    snoozes: 0,
    failure: null,
    ...(timed ? { dueAt: fresh.dueAt, state: fresh.state } : {}),
  }
}

/** A delayed job that has become due. It keeps its due time, and so its place. */
export function promote(job: Job): Job {
  return { ...job, state: 'ready' }
}

/** The same by hand, also before it is due. An overdue job keeps its age, and so its place. */
export function promoteNow(job: Job, now: number): Job {
  return { ...promote(job), dueAt: Math.min(job.dueAt, now) }
}

export interface Lease {
  readonly workerId: string
  readonly token: string
  readonly leaseMs: number
}

/** Whether a job can be claimed, ignoring holds and limits. */
export function claimable(job: Job, now: number): boolean {
  return (job.state === 'ready' || job.state === 'delayed') && job.dueAt <= now
}

// The start is counted at claim time, not on failure: otherwise a job that kills its worker would never use
// up its attempts and would run forever.
export function claim(job: Job, lease: Lease, now: number): Job {
  return {
    ...job,
    state: 'running',
    token: lease.token,
    worker: lease.workerId,
    leaseUntil: now + lease.leaseMs,
    startedAt: now,
    starts: job.starts + 1,
  }
}

/** The part of a leased job that its worker receives. */
export function claimedPart(job: Job): ClaimedJob {
  return {
    id: job.id,
    space: job.space,
    queue: job.queue,
    payload: job.payload,
    headers: job.headers,
    priority: job.priority,
    overrides: job.overrides,
    lane: job.lane,
    dueAt: job.dueAt,
    enqueuedAt: job.enqueuedAt,
    generation: job.generation,
    starts: job.starts,
    errors: job.errors,
    timeouts: job.timeouts,
    lost: job.lost,
    snoozes: job.snoozes,
    token: job.token as string,
  }
}

/** Identifies who ends a lease: its holder, or another process, see `Settlement.rescue`. */
export interface EndOfLease {
  readonly token: string
  readonly rescue?: boolean
  readonly repeatToken?: string
}

/** The token kept on the ended job to recognize a repeated settlement. Null: none. */
export function keptToken({ token, rescue, repeatToken }: EndOfLease): string | null {
  return rescue ? (repeatToken ?? null) : token
}

/**
 * Whether `token` holds the job now; if not, why. A finished job refuses with `gone`, a waiting or re-leased
 * one with `lost`. `settled`: the settlement with this `keptToken` has already ended the lease.
 */
export function holder(
  job: Job | undefined,
  token: string,
  kept: string | null = token,
): 'holds' | 'settled' | 'gone' | 'lost' {
  if (job === undefined) return 'gone'
  if (job.token === token && job.state === 'running') return 'holds'
  if (kept !== null && job.token === kept && job.state !== 'running') return 'settled'
  return isFinal(job.state) ? 'gone' : 'lost'
}

/** Extends a lease. The caller has checked that the token holds. */
export function extend(job: Job, leaseMs: number, now: number): Job {
  return { ...job, leaseUntil: now + leaseMs }
}

/**
 * Ends a lease by the verdict; null: the job is removed. The caller has checked that the token holds.
 * `kept` is its `keptToken`: after a rescue not the holder's, as a late holder would mistake it for its own.
 */
export function settle(job: Job, verdict: Verdict, now: number, kept: string | null = job.token): Job | null {
  const waits = verdict.to === 'ready' || verdict.to === 'delayed'
  // The caller that cancelled a running job was promised that it will not start again.
  const cancelled = waits && job.cancelReason !== null
  const to = cancelled ? 'cancelled' : verdict.to
  const keepMs = cancelled ? verdict.keepCancelledMs : verdict.keepMs

  const ended: Job = {
    ...job,
    state: to,
    token: kept,
    leaseUntil: null,
    starts: job.starts - (verdict.refund ? 1 : 0),
    errors: job.errors + (verdict.count === 'errors' ? 1 : 0),
    timeouts: job.timeouts + (verdict.count === 'timeouts' ? 1 : 0),
    lost: job.lost + (verdict.count === 'lost' ? 1 : 0),
    snoozes: job.snoozes + (verdict.count === 'snoozes' ? 1 : 0),
    result: verdict.result,
    failure: cancelled
      ? cancelFailure(job.cancelReason as string)
      : (verdict.failure ?? (to === 'done' ? null : job.failure)),
  }
  if (isFinal(to)) return keepMs === null ? null : { ...ended, finishedAt: now, expiresAt: now + keepMs }
  if (to === 'delayed') return { ...ended, dueAt: now + verdict.delayMs }
  return { ...ended, dueAt: verdict.keepPlace ? job.dueAt : now }
}

export function cancelFailure(reason: string): string {
  return JSON.stringify({ kind: 'cancel', message: reason } satisfies Failure)
}

export function finish(
  job: Job,
  to: 'cancelled' | 'dead',
  failure: string | null,
  keepMs: number,
  now: number,
): Job {
  return { ...job, state: to, failure: failure ?? job.failure, finishedAt: now, expiresAt: now + keepMs }
}

/** The fields that determine the order of enqueues. */
export type Enqueued = Pick<Job, 'id' | 'enqueuedAt' | 'arrival'>

/**
 * Orders jobs that are retried together by enqueue time: strict jobs of the same millisecond by arrival,
 * others by id. This is their order in strict lanes. All others are ordered by due time, see {@link stepsBefore}.
 */
export function byEnqueue(a: Enqueued, b: Enqueued): number {
  if (a.enqueuedAt !== b.enqueuedAt) return a.enqueuedAt - b.enqueuedAt
  const { arrival: first = Number.MAX_SAFE_INTEGER } = a
  const { arrival: second = Number.MAX_SAFE_INTEGER } = b
  return first - second || (a.id < b.id ? -1 : Number(a.id > b.id))
}

/**
 * A finished job restarted as its next generation: fresh counters, no lease that could return. `since`: the
 * start of the whole operation, so that its jobs have the same due time; `earlierMs` before that.
 */
export function retry(job: Job, now: number, since: number = now, earlierMs = 0): Job {
  return {
    ...job,
    state: 'ready',
    headers: job.state === 'done' ? unchained(job.headers) : job.headers,
    generation: job.generation + 1,
    dueAt: Math.min(since, now) - earlierMs,
    startedAt: null,
    finishedAt: null,
    expiresAt: null,
    starts: 0,
    errors: 0,
    timeouts: 0,
    lost: 0,
    snoozes: 0,
    token: null,
    worker: null,
    leaseUntil: null,
    cancelReason: null,
    result: null,
    failure: null,
  }
}

/** A waiting job with another priority. Its due time stays; its rank follows. */
export function prioritize(job: Job, priority: number): Job {
  return { ...job, priority }
}

/** A waiting job with another due time: `delayed` or `ready` accordingly. */
export function reschedule(job: Job, dueAt: number, now: number): Job {
  return { ...job, dueAt, state: dueAt > now ? 'delayed' : 'ready' }
}

/** Whether the action would change nothing. A selection skips such jobs, or it might match them forever. */
export function isSoAlready(job: Job, action: ChangeAction, to: ChangeTo): boolean {
  return (
    (action === 'prioritize' && job.priority === (to.priority ?? 0)) ||
    (action === 'reschedule' && job.dueAt === to.dueAt)
  )
}

export interface ChangeTo {
  /** For `prioritize`, as stored. @default 0 */
  readonly priority?: number
  /** For `reschedule`. */
  readonly dueAt?: number
}

/** The timestamp that a selection's `after` and `before` compare: due, started or finished. */
export function timeOf(job: Job): number {
  return job.state === 'ready' ? job.dueAt : listKey(job)
}

/** The sort key of a state's list and its pages, then id: finished jobs descending, others ascending. */
export function listKey(job: Job): number {
  switch (job.state) {
    case 'ready':
      return rankOf(job.dueAt, job.priority)
    case 'delayed':
      return job.dueAt
    case 'running':
      return job.startedAt as number
    default:
      return job.finishedAt as number
  }
}

/**
 * What operators do to jobs.
 * cancel: a waiting job ends, a running one is asked to stop. bury: a waiting job becomes dead.
 * retry: a finished job restarts as its next generation; one of a run only while the run waits for it.
 * promote: a delayed job becomes ready, and due now unless it was due before.
 * remove: deletes a job that is not running.
 * prioritize: changes the priority of a waiting job, and so its place.
 * reschedule: changes the due time of a waiting job.
 */
export type ChangeAction = 'cancel' | 'bury' | 'retry' | 'promote' | 'remove' | 'prioritize' | 'reschedule'

export const POSSIBLE: Readonly<Record<ChangeAction, readonly JobState[]>> = {
  cancel: ['delayed', 'ready', 'running'],
  bury: ['delayed', 'ready'],
  retry: FINAL_STATES,
  promote: ['delayed'],
  remove: ['delayed', 'ready', ...FINAL_STATES],
  // Delayed jobs first: one that becomes ready meanwhile is then not missed.
  prioritize: ['delayed', 'ready'],
  reschedule: ['delayed', 'ready'],
}

export function isPossible(action: ChangeAction, state: JobState): boolean {
  return POSSIBLE[action].includes(state)
}

/** Whether an action is possible for this job. A strict job's place is its arrival, so it has no due time. */
export function isPossibleFor(
  action: ChangeAction,
  { state, strict }: Pick<Job, 'state' | 'strict'>,
): boolean {
  return isPossible(action, state) && !(action === 'reschedule' && strict)
}

/** Applies `change` in the order required by the action, and returns the results in the order given. */
export function inOrder<Item, Result>(
  action: ChangeAction,
  items: readonly Item[],
  jobOf: (item: Item) => Job | undefined,
  /** `earlierMs`: of a retry, see {@link stepsBefore}. */
  change: (item: Item, earlierMs: number) => Result,
): Result[] {
  if (action !== 'retry') return items.map((item) => change(item, 0))
  const results: Result[] = []
  const jobs = items.map((item, at) => ({ item, at, job: jobOf(item) }))
  jobs.sort((a, b) => (a.job && b.job ? byEnqueue(a.job, b.job) : Number(!b.job) - Number(!a.job)))
  const finished = jobs.filter(({ job }) => job !== undefined && isFinal(job.state))
  const steps = stepsBefore(finished.map(({ job }) => (job as Job).id))
  const earlierBy = new Map(finished.map((entry, n) => [entry, steps[n] as number]))
  for (const entry of jobs) results[entry.at] = change(entry.item, earlierBy.get(entry) ?? 0)
  return results
}

/**
 * Ready jobs of one due time start by id. So that jobs that are retried together start in the order given, each is due 1 ms before the
 * next where its id comes after the id of that. For each job: how many milliseconds before the last one.
 */
export function stepsBefore(ids: readonly string[]): number[] {
  const steps = ids.map(() => 0)
  for (let n = ids.length - 1, step = 0; n >= 0; n--) {
    if (n + 1 < ids.length && (ids[n] as string) > (ids[n + 1] as string)) step++
    steps[n] = step
  }
  return steps
}
