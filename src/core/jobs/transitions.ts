/**
 * Every move a job can make, as pure functions of (job, command, now). The memory store is these over a
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

/** Orders ready jobs: by rank, then by id. */
export function byRank(a: Job, b: Job): number {
  return rankOf(a.dueAt, a.priority) - rankOf(b.dueAt, b.priority) || (a.id < b.id ? -1 : 1)
}

/** When a job that is enqueued now may start. A moment in the past means now. */
export function dueTime(job: Pick<NewJob, 'delayMs' | 'runAt'>, now: number): number {
  return Math.max(now + job.delayMs, job.runAt ?? 0)
}

/** The record of a job that was just enqueued. */
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
 * What a conflict of unique keys does to the job that holds the key, or null if it stays as it is. Only a
 * waiting job can be changed, and one that waits for a retry begins with a fresh budget. `replace` takes over the new job's time as well; `postpone` does so only
 * when that one has a delay, which then starts again (debounce).
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
    // What failed was the old content: the new one has the whole budget. Starts go on counting: they number the attempts.
    errors: 0,
    timeouts: 0,
    lost: 0,
    snoozes: 0,
    failure: null,
    ...(timed ? { dueAt: fresh.dueAt, state: fresh.state } : {}),
  }
}

/** A delayed job whose time has come. Its due time, and so its place, stays. */
export function promote(job: Job): Job {
  return { ...job, state: 'ready' }
}

/** The same by hand, also before it is due. One that is overdue keeps its age, and so its place. */
export function promoteNow(job: Job, now: number): Job {
  return { ...promote(job), dueAt: Math.min(job.dueAt, now) }
}

export interface Lease {
  readonly workerId: string
  readonly token: string
  readonly leaseMs: number
}

/** The guard of a claim, without holds and room: it exists, is not leased, and is due. */
export function claimable(job: Job, now: number): boolean {
  return (job.state === 'ready' || job.state === 'delayed') && job.dueAt <= now
}

// The start is counted when the job is taken, not when it fails: otherwise a job that kills its worker
// would never use up its tries and would run for ever.
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

/** The part of a leased job that its worker gets. */
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

/** What says who ends a lease: its holder, or another process, see `Settlement.rescue`. */
export interface EndOfLease {
  readonly token: string
  readonly rescue?: boolean
  readonly repeatToken?: string
}

/** The token that the ended job keeps, which identifies the same settlement when it is repeated. Null: none does. */
export function keptToken({ token, rescue, repeatToken }: EndOfLease): string | null {
  return rescue ? (repeatToken ?? null) : token
}

/**
 * Whether `token` holds the job now; if not, why. A finished job refuses with `gone`, a waiting or re-leased one with
 * `lost`. `settled`: the settlement whose `keptToken` this is has ended the lease before.
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

/** A lease that goes on. The caller has checked that the token holds. */
export function extend(job: Job, leaseMs: number, now: number): Job {
  return { ...job, leaseUntil: now + leaseMs }
}

/**
 * The end of a lease, as the verdict says. Null: the job is removed. The caller has checked that the token holds.
 * `kept` is its `keptToken`: after a rescue not the holder's, or a late holder would take it for its own settlement.
 */
export function settle(job: Job, verdict: Verdict, now: number, kept: string | null = job.token): Job | null {
  const waits = verdict.to === 'ready' || verdict.to === 'delayed'
  // Whoever cancelled a running job was told that it will not start again.
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

/** The stored failure of a job that was cancelled. */
export function cancelFailure(reason: string): string {
  return JSON.stringify({ kind: 'cancel', message: reason } satisfies Failure)
}

/** Ends a job that does not run. */
export function finish(
  job: Job,
  to: 'cancelled' | 'dead',
  failure: string | null,
  keepMs: number,
  now: number,
): Job {
  return { ...job, state: to, failure: failure ?? job.failure, finishedAt: now, expiresAt: now + keepMs }
}

/** What tells the order of enqueues. */
export type Enqueued = Pick<Job, 'id' | 'enqueuedAt' | 'arrival'>

/**
 * Orders jobs that are retried together by their enqueue: strict jobs of one millisecond by their arrival, others by id. In this
 * order they get their places in strict lanes. All others come by their due times, see {@link stepsBefore}.
 */
export function byEnqueue(a: Enqueued, b: Enqueued): number {
  if (a.enqueuedAt !== b.enqueuedAt) return a.enqueuedAt - b.enqueuedAt
  const { arrival: first = Number.MAX_SAFE_INTEGER } = a
  const { arrival: second = Number.MAX_SAFE_INTEGER } = b
  return first - second || (a.id < b.id ? -1 : Number(a.id > b.id))
}

/**
 * A finished job from the beginning, as its next generation: new counters, no lease that could come back. `since`: when the
 * operation began of which this is a part, so that its jobs are due at one moment, however many calls it takes; `earlierMs` before that.
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

/** A waiting job with another priority. Its due time stays, and its rank follows. */
export function prioritize(job: Job, priority: number): Job {
  return { ...job, priority }
}

/** A waiting job that is due at another moment, and waits for it, or not any more. */
export function reschedule(job: Job, dueAt: number, now: number): Job {
  return { ...job, dueAt, state: dueAt > now ? 'delayed' : 'ready' }
}

/** Of a selection: whether the action would leave this job as it is. It is passed over then, or it might be met again and again. */
export function isSoAlready(job: Job, action: ChangeAction, to: ChangeTo): boolean {
  return (
    (action === 'prioritize' && job.priority === (to.priority ?? 0)) ||
    (action === 'reschedule' && job.dueAt === to.dueAt)
  )
}

/** What some actions change to. */
export interface ChangeTo {
  /** For `prioritize`, as stored. @default 0 */
  readonly priority?: number
  /** For `reschedule`. */
  readonly dueAt?: number
}

/** The moment a selection's `after` and `before` are about: due, started or finished. */
export function timeOf(job: Job): number {
  return job.state === 'ready' ? job.dueAt : listKey(job)
}

/** The number by which a state's jobs are listed and paged, then by id: finished ones downwards, others upwards. */
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
 * What people do to jobs.
 * cancel: a waiting job ends, a running one is asked to. bury: a waiting job goes among the dead.
 * retry: a finished job starts anew, as its next generation; one of a run only while the run waits for it, see `mayRejoin`.
 * promote: a delayed job is ready, and due now unless it was due before. remove: a job that does not run is deleted.
 * prioritize: a waiting job gets another priority, and with it another place in line.
 * reschedule: a waiting job is due at another moment.
 */
export type ChangeAction = 'cancel' | 'bury' | 'retry' | 'promote' | 'remove' | 'prioritize' | 'reschedule'

/** The states in which each action is possible. */
export const POSSIBLE: Readonly<Record<ChangeAction, readonly JobState[]>> = {
  cancel: ['delayed', 'ready', 'running'],
  bury: ['delayed', 'ready'],
  retry: FINAL_STATES,
  promote: ['delayed'],
  remove: ['delayed', 'ready', ...FINAL_STATES],
  // Delayed ones first: one that becomes ready meanwhile is then not missed.
  prioritize: ['delayed', 'ready'],
  reschedule: ['delayed', 'ready'],
}

export function isPossible(action: ChangeAction, state: JobState): boolean {
  return POSSIBLE[action].includes(state)
}

/** Whether an action can be done to this job. What is in strict order has its place by its arrival, and no other moment. */
export function isPossibleFor(
  action: ChangeAction,
  { state, strict }: Pick<Job, 'state' | 'strict'>,
): boolean {
  return isPossible(action, state) && !(action === 'reschedule' && strict)
}

/** Does something to each, in the order in which an action takes jobs, and returns what came of it in the order given. */
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
