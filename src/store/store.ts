/**
 * What a store promises.
 *
 * A store moves rows and decides nothing: policies are judged before (`core/policy.ts`), the rules of
 * every move are pure functions (`core/transitions.ts`), and each store is a translation of them,
 * checked against the memory store by the same suite.
 *
 * Rules for every operation:
 * - one call is one transaction: all of it happens or none;
 * - plain data in and out, many jobs at a time, one object per call;
 * - the store's own clock decides. A test passes `now` and owns it;
 * - the id of a job, and of a run, is unique within its space: every call names the space with the id, and reaches no job of another;
 * - it can be repeated. After a `StoreError` with effect `unknown` the caller sends the same call again;
 * - it is expressible as one Redis script; how is written beside each operation, where `{s}` is the
 *   hash tag of the shard, so that all keys of a call are in one slot.
 *
 * The guard of a claim, in this order: exists → not leased → not held → due → room → claim.
 */
import type { NewGroup } from '../core/flows/groups.ts'
import type { NewRun, RunMove } from '../core/flows/runs.ts'
import type { Waiting } from '../core/flows/wakeups.ts'
import type { ClaimedJob, Job, JobState, NewJob } from '../core/jobs/job.ts'
import type { Note } from '../core/jobs/job-log.ts'
import type { TakenId } from '../core/jobs/taken-ids.ts'
import type { ChangeAction } from '../core/jobs/transitions.ts'
import type { KeyRange } from '../core/lanes/key-range.ts'
import type { Verdict } from '../core/policies/policy.ts'
import type { Notifier } from '../notifier/notifier.ts'
import type { Enqueued, FlowStore } from './flows.ts'
import type { HoldStore } from './holds.ts'
import type { NoteStore } from './job-log.ts'
import type { LimitStore } from './limits.ts'
import type { RecordStore } from './records.ts'
import type { ScheduleStore } from './schedules.ts'

export interface Store extends FlowStore, HoldStore, LimitStore, NoteStore, RecordStore, ScheduleStore {
  /** Facts about what this store can do. Nobody asks for its name. */
  readonly capabilities: Capabilities

  /**
   * Opens what has to be open and checks that the schema and the durability are what they should be.
   * Throws `SCHEMA_MISSING`, `SCHEMA_OUTDATED`, `SCHEMA_TOO_NEW` or `STORE_UNSAFE`. Repeating it is cheap.
   */
  ready(): Promise<Durability>

  /**
   * Brings the schema up to date, one process at a time. Returns the ids of the migrations it ran.
   * Redis: a version key, set by the script that upgrades.
   */
  migrate(): Promise<{ readonly applied: readonly string[] }>

  /**
   * How the database is kept that the store lies in: what it takes, and what makes it slow or full, each with what to do. It changes
   * nothing, and takes no longer with many jobs.
   */
  examine(): Promise<readonly StoreFinding[]>

  /**
   * Inserts jobs, in order. A job whose id exists already in its queue is `ok` and `known`, and left as it is. A job
   * whose unique key is held by another is a `duplicate`, and its conflict rule was applied to that other job.
   * If the id of one of them is that of a job in another queue of its space, the call throws `ID_TAKEN` (see
   * `core/taken.ts`) and nothing of it is written; so it does if the id of a run is that of a run of another flow, of any version. What groups, moves and schedules enqueue has ids that were made
   * for it; if one is taken nevertheless, that job is left out.
   * Redis: for each job EXISTS job, GET unique; HSET job; ZADD ready|delayed; HINCRBY counts.
   */
  insert(call: InsertCall): Promise<InsertReply>

  /**
   * Leases ready jobs: delayed ones that are due become ready first (at most {@link PROMOTE_LIMIT} per
   * source), then, source by source, the lowest ranks are taken; where there are limits, lane by lane as
   * `core/lanes.ts` says. What is in {@link ClaimCall.first} goes before the others. A source that is held is left as it is. With `ids` the named jobs are taken
   * by primary key under the same guard, and no query searches for work. After a lost reply, {@link ClaimCall.again}
   * asks for what was taken.
   * Redis: ZRANGEBYSCORE delayed → ZADD ready; ZPOPMIN ready; HSET lease; ZADD leases by expiry.
   */
  claim(call: ClaimCall): Promise<ClaimReply>

  /**
   * Prolongs leases. Each result says whether the lease still holds, and whether somebody asked the
   * job to stop. Redis: for each HGET token, compare; HSET and ZADD leases.
   */
  extend(call: ExtendCall): Promise<ExtendReply>

  /**
   * Ends leases as their verdicts say, together with the jobs each handler enqueued, and may carry the
   * next claim in the same round trip. A settlement is accepted only while its token is the job's
   * current lease; one that the holder of this very token already did is `ok` again, with the state to which it led;
   * everything else is refused and changes nothing, nor do its enqueued jobs exist.
   * A rescue ends the token with the lease: it is refused when the holder was first, and the holder after it.
   * Redis: for each HGET token, compare; ZREM leases; ZADD or HDEL; then insert, then claim, as above.
   */
  settle(call: SettleCall): Promise<SettleReply>

  /**
   * What people do to jobs: cancel, bury, retry, and so on, by id or by selection. The ids of removed jobs are
   * remembered, see {@link InsertCall.again}. Of a selection, `prioritize` and `reschedule` pass over what is so already.
   * A retry takes the jobs of a call in the order of their enqueues, so that strict lanes come back in theirs.
   * Redis: the same moves between sorted sets, for ids given or found by ZRANGE.
   */
  change(call: ChangeCall): Promise<ChangeReply>

  /**
   * How many jobs a selection has. Exact, unless somebody moves jobs while it counts, or {@link CountCall.look} ended it.
   * Without a filter `counts` tells it at once. Redis: ZCOUNT; with a text, ZSCAN and HGET each.
   */
  count(call: CountCall): Promise<CountReply>

  /**
   * Running jobs whose lease is over, or that belong to one of `workers`, in the named queues only, by the
   * end of their lease: a process judges nothing it does not know. A read; what follows is a settle with that lease's token.
   * Redis: ZRANGEBYSCORE leases; SMEMBERS of a worker's jobs.
   */
  expired(call: ExpiredCall): Promise<ExpiredReply>

  /** Jobs by id; null where there is none in that space. Redis: HGETALL each. */
  get(call: GetCall): Promise<{ readonly jobs: readonly (Job | null)[] }>

  /**
   * One page of a queue's jobs in one state, by key and never by offset: ready lane by lane and by their place in it
   * (without lanes: by rank), delayed by due time,
   * running by start, finished newest first. Redis: ZRANGE by score from the cursor.
   */
  list(call: ListCall): Promise<ListReply>

  /**
   * How many jobs each queue of a space has in each state by the store's clock, and since when the oldest has waited, at a cost
   * that does not depend on how many there are: stored counters, of delayed jobs also by when they are due, the jobs due within the
   * current second, and the first entries of the indexes of waiting jobs. It writes nothing. Redis: HMGET counts; ZLEXCOUNT
   * delayed; ZRANGEBYLEX LIMIT.
   */
  counts(call: CountsCall): Promise<CountsReply>

  /**
   * Removes up to `limit` finished jobs whose time is over, oldest first, and clears away other leftovers:
   * unique keys past their window, remembered ids, workers not seen for an hour. The ids of jobs that finished less
   * than {@link REMEMBER_DISCARDED_MS} ago are remembered, see {@link InsertCall.again}; those of older ones need not
   * be. Redis: ZRANGEBYSCORE expiry.
   */
  prune(call: { readonly limit: number; readonly now?: number }): Promise<{ readonly pruned: number }>

  /**
   * Says that a worker is here, and lets the store tie its own knowledge of life to it (a session lock,
   * a process id, a named connection). Sent at start and with every heartbeat.
   * Redis: HSET worker, PEXPIRE; CLIENT SETNAME on its connection.
   */
  attend(call: { readonly worker: WorkerInfo; readonly now?: number }): Promise<void>

  /** Takes a worker off the list at a clean stop. */
  depart(call: { readonly workerId: string }): Promise<void>

  /** The workers on the list, with what the store knows about their life. */
  workers(call: {
    readonly space?: string
    readonly now?: number
  }): Promise<{ readonly workers: readonly WorkerPresence[] }>

  /**
   * The same operations inside a transaction the user began, when `capabilities.transactions`.
   * Throws `TX_UNSUPPORTED` for a thing it does not recognise as one.
   */
  within?(tx: unknown): StoreInTransaction

  /** The notifier that fits this store, made once and closed with the store; used when the user names none. */
  notifier?(): Notifier

  /** Ends what the store opened itself. Closing twice is fine. */
  close(): Promise<void>
}

/** What can be done inside a user's own transaction: it takes effect when that commits, and only then. */
export type StoreInTransaction = Pick<Store, 'insert' | 'settle' | 'addMembers'>

export interface Capabilities {
  /** Enqueue and complete inside the user's own transaction. */
  readonly transactions: boolean
  /** Several processes may use the same jobs. */
  readonly processes: boolean
  /** The store itself notices that a worker's process is gone, before its leases end. */
  readonly liveness: boolean
  /**
   * From so many jobs on it is worth sending a second insert beside the one that is under way. Few where a call costs little
   * beside its jobs, many where each is a commit. @default 250
   */
  readonly secondInsertAt?: number
  /**
   * So many jobs a worker takes with one claim at most, where there are no limits. More where a call costs as much as hundreds of
   * jobs, fewer where everybody waits while one is answered. @default 500
   */
  readonly jobsPerClaim?: number
  /**
   * The same of a queue with limits to which jobs keep coming, of which one may be next. Fewer where a claim waits for the one that is under
   * way, as many as ever where calls are made in the worker's own process. @default 170
   */
  readonly jobsPerClaimWithNews?: number
  /**
   * What its own notifier tells after a call was sent is heard after the call has happened. So whoever inserts may tell of it
   * before the answer is there. @default false
   */
  readonly tellsInOrder?: boolean
  /**
   * An insert with unique keys or given ids can have to wait for a transaction that a program left open. Then such inserts, and
   * settlements that enqueue such jobs, go apart from all others, with {@link InsertCall.lockWaitMs}. @default false
   */
  readonly waitsForKeys?: boolean
}

/** What it means when this store says ok. */
export interface Durability {
  /** Survives: nothing (memory), the end of the process, or the loss of power. */
  readonly level: 'memory' | 'process' | 'disk'
  /** In words, for `skep doctor` and the log. */
  readonly detail: string
  /** Things worth knowing that do not stop the start. */
  readonly warnings: readonly string[]
}

/** One thing about the database of a store, for `skep doctor` and the page about the system. */
export interface StoreFinding {
  /** A word: `storage`, `vacuum`. */
  readonly name: string
  readonly status: 'ok' | 'warn'
  readonly text: string
  /** What to do, with the very command after a colon; null if nothing. */
  readonly fix: string | null
}

/** How many due jobs one claim makes ready per source. */
export const PROMOTE_LIMIT = 1_000

/**
 * How long a store remembers the ids of jobs that were discarded or removed, see {@link InsertCall.again}. Much longer
 * than anybody repeats a call.
 */
export const REMEMBER_DISCARDED_MS = 600_000

/** A worker not seen for this long is taken off the list. */
export const FORGET_WORKER_MS = 3_600_000

export interface InsertCall {
  readonly jobs: readonly NewJob[]
  /** Groups and runs that come with them: made before the jobs, those that are there are left as they are. */
  readonly groups?: readonly NewGroup[]
  readonly runs?: readonly NewRun[]
  /**
   * An earlier call with these jobs may have happened. Then a job that meanwhile ran, finished and left must not be
   * inserted anew, so the store also looks among those that lately left, in whatever way: discarded by a settlement,
   * pruned soon after their finish, or removed by a change.
   */
  readonly again?: boolean
  /** The ids were made for this very call, so no store has seen them before: they need not be looked for. */
  readonly fresh?: boolean
  /**
   * How long the call may wait for a transaction that holds one of the unique keys or ids. After that it fails with
   * `STORE_BUSY` and has no effect. Left out: as long as a call may take. See {@link Capabilities.waitsForKeys}.
   */
  readonly lockWaitMs?: number
  /** What the store publishes when the call has happened, from `along` of its own notifier. It may be lost as any hint. */
  readonly letter?: string
  readonly now?: number
}

export interface InsertReply {
  /** One for each job, in order. */
  readonly results: readonly InsertResult[]
  /** Queues in which groups that fired have enqueued jobs, for hints; left out when none did. */
  readonly enqueued?: readonly Enqueued[]
  /** The places in {@link InsertCall.runs}, from 0, of runs that were there before; left out when none was. */
  readonly knownRuns?: readonly number[]
  /** It happened later than calls that were sent after it, so whoever told of it early has to tell again: see {@link Capabilities.tellsInOrder}. */
  readonly isLate?: true
}

export type InsertResult =
  /** The job is in the store. `known`: it was there before this call, or a removed job of this id is remembered. */
  | { readonly status: 'ok'; readonly state: JobState; readonly dueAt: number; readonly known?: true }
  /** Its unique key is held by the job `id`; `action` says what happened to that one. */
  | {
      readonly status: 'duplicate'
      readonly id: string
      readonly action: 'ignored' | 'replaced' | 'postponed'
    }

/** Where to take jobs from, and at most how many from there. */
export interface Source {
  readonly space: string
  readonly queue: string
  readonly limit: number
  /**
   * The lowest rank a hint told of since the last claim. A store that begins its search where its last
   * one began looks at least this far back; others ignore it.
   */
  readonly hintedRank?: number
  /**
   * Only jobs whose key is in this range, also of those that are named by `ids`; all others are left as they are. What a token
   * holds already (`again`) is told whatever its key is. For several ranges, several sources of the same queue.
   *
   * A key belongs to a lane, see `core/key-range.ts`. So of a limited queue the lanes in the range are served in their turn,
   * as if there were no others, and all limits of the queue hold; a queue without lanes has all of its jobs in the first range.
   * No store refuses a range, but it must be one that `parseKeyRange` accepts: of whole slices. Then a store finds the
   * lanes of each slice in the order of their turns, and never walks over one outside of the range. It does so from the
   * first claim with a range on: whoever uses none pays nothing. nextDueAt is about the whole queue.
   */
  readonly keys?: KeyRange
}

export interface ClaimCall {
  /** In the order in which they are served. */
  readonly sources: readonly Source[]
  /** At most this many in all. */
  readonly limit: number
  /** Take only these jobs; they still have to be in one of the sources. */
  readonly ids?: readonly string[]
  /**
   * Those of these jobs that wait in a source go before all others of it, by their ranks, as long as there is room. Where there are
   * limits the lanes alone say who is next, and with `ids` or `again` these say nothing.
   */
  readonly first?: readonly string[]
  readonly workerId: string
  /** Made by the caller, new for every claim: with the job's id it names the lease. */
  readonly token: string
  /**
   * An earlier call with this token may have happened, and its reply was lost. Then nothing new is taken: the reply has
   * the jobs of these sources that the token holds, all of them, each with its lease counted from now.
   */
  readonly again?: boolean
  readonly leaseMs: number
  readonly now?: number
}

export interface ClaimReply {
  readonly jobs: readonly ClaimedJob[]
  /**
   * When it is worth looking again (a moment of the store's clock): the next delayed job of these sources is due, a rate
   * lets the next one start, or a hold ends. It may be too early and is never too late. Filled in when fewer jobs than
   * `limit` were found; otherwise null.
   */
  readonly nextDueAt: number | null
  /** Which of the sources are limited, by their place in the call; left out when none is. There the end of a lease may make room for others. */
  readonly limited?: readonly number[]
  /** The time of the store's clock. */
  readonly now: number
}

export interface ExtendCall {
  readonly leases: readonly { readonly space: string; readonly id: string; readonly token: string }[]
  readonly leaseMs: number
  readonly now?: number
}

export interface ExtendReply {
  readonly results: readonly ExtendResult[]
}

export type ExtendResult =
  | { readonly status: 'ok'; readonly cancelReason: string | null }
  | { readonly status: 'refused'; readonly reason: Refusal }
  | { readonly status: 'unknown' }

/** `gone`: no such job, or it is finished. `lost`: it is waiting, or another token holds it. */
export type Refusal = 'gone' | 'lost'

export interface Settlement {
  readonly space: string
  readonly id: string
  readonly token: string
  readonly verdict: Verdict
  /** Only if the lease is over by the store's clock: how a rescuer makes sure it is not too early. */
  readonly onlyIfExpired?: boolean
  /**
   * By another process than the holder. Accepted only while the token holds the lease. The token is not kept, so a holder
   * who comes late with it is refused, with `lost` or `gone`.
   */
  readonly rescue?: boolean
  /**
   * With `rescue`: the token that the ended job keeps instead. A settlement with the same one is accepted as a repetition
   * of this one. Left out: none is.
   */
  readonly repeatToken?: string
  /**
   * Jobs the handler enqueued: inserted if, and only if, this settlement is accepted. If the id of one is taken, the
   * settlement is refused and the lease goes on.
   */
  readonly enqueue?: readonly NewJob[]
  /** Groups that the handler made, with what it enqueued as their members. */
  readonly groups?: readonly NewGroup[]
  /**
   * It hands its place in its group on to one of the jobs that it enqueues: its own end is none for the group, and from now
   * on it is a member of none. See `core/chains.ts`.
   */
  readonly handsOn?: boolean
  /** What it does to a run. If that has moved on, or ended, the job is settled and nothing else happens. */
  readonly move?: RunMove
  /** What the run still has to tell. It is written before the lease ends, as {@link NoteStore.note} would. */
  readonly note?: Note
  /** The job may have notes. If this settlement removes the job, they go with it; of others nobody looks for any. */
  readonly noted?: boolean
}

export interface SettleCall {
  readonly settlements: readonly Settlement[]
  readonly claim?: Omit<ClaimCall, 'now'>
  /**
   * How long the call may wait for each lock that another transaction holds. After that it fails with `STORE_BUSY`, and nothing is
   * claimed; what it settled all the same is `ok` again when it is repeated. Left out: as long as a call may take. See
   * {@link Capabilities.waitsForKeys}.
   */
  readonly lockWaitMs?: number
  readonly now?: number
}

export interface SettleReply {
  readonly results: readonly SettleResult[]
  readonly claimed: ClaimReply | null
  /** Queues in which groups that fired, or moves, have enqueued jobs, for hints; left out when none did. */
  readonly enqueued?: readonly Enqueued[]
}

export type SettleResult =
  /** `state` is where the job went: `cancelled` instead of waiting if somebody had asked it to stop. */
  | { readonly status: 'ok'; readonly state: JobState; readonly inserted?: readonly InsertResult[] }
  | { readonly status: 'refused'; readonly reason: Refusal | 'not-expired' }
  /** It holds, but the ids of jobs that it enqueues are those of jobs in other queues of the space. */
  | { readonly status: 'refused'; readonly reason: 'taken'; readonly taken: readonly TakenId[] }
  /** The reply was lost. Send it again: a settlement that happened is `ok` again. */
  | { readonly status: 'unknown' }

export interface ChangeCall {
  readonly action: ChangeAction
  readonly space: string
  /** These jobs, or a page of a selection: up to its limit, in the order of the list; of a retry, the oldest first. */
  readonly target:
    | { readonly ids: readonly string[] }
    | (Selection & {
        readonly limit: number
        /** From the page before. @default null, for the first */
        readonly cursor?: string | null
      })
  /** For `prioritize`: the priority as stored, see {@link NewJob.priority}. @default 0 */
  readonly priority?: number
  /**
   * For `reschedule`: when the jobs are due, by the store's clock. One that is over means now.
   * For `retry`: when the operation began of which this call is a part, by the store's clock: all of its jobs are due then,
   * and so come back in the order of their enqueues. One that is not over means now. @default now
   */
  readonly dueAt?: number
  /** JSON text of a failure, kept with jobs that this ends. */
  readonly failure: string | null
  /** How long jobs that this ends are kept. */
  readonly keepMs: number
  readonly now?: number
}

export interface ChangeReply {
  /** One for each id given, in order; or one for each job of the selection, refused ones (`unique`, `run`) among them. */
  readonly results: readonly ChangeResult[]
  /**
   * Of a selection: where the next page begins; null when fewer jobs than the limit were selected, so that this was
   * the last. A page may have fewer results than its limit and not be the last: what left its state meanwhile is
   * passed over.
   */
  readonly cursor: string | null
  /** The queues in which a job came to another place in line (retry, promote, prioritize, reschedule), for hints. */
  readonly waiting: readonly Waiting[]
  /** Queues in which groups that fired have enqueued jobs, for hints; left out when none did. */
  readonly enqueued?: readonly Enqueued[]
}

export type ChangeResult =
  | { readonly id: string; readonly status: 'ok' }
  /** It runs: its worker was asked to stop it. */
  | { readonly id: string; readonly status: 'requested' }
  | { readonly id: string; readonly status: 'refused'; readonly reason: ChangeRefusal }

/**
 * `unknown`: no such job in this space. `state`: not possible in its present state. `unique`: its key is held. `run`: it belongs
 * to a run of a flow that does not wait for it any more, see `mayRejoin` in `core/runs.ts`; decided in the transaction of the change.
 */
export type ChangeRefusal = 'unknown' | 'state' | 'unique' | 'run'

/** Jobs of one queue in one state. */
export interface Selection {
  readonly queue: string
  readonly state: JobState
  readonly where?: Where
}

/**
 * All that is given must hold. `after` is inclusive, `before` is not; they are about the due, start or finish time.
 *
 * Ready jobs are found by their lane, all others by their time, and by both where the lane is not the default one: at a cost that
 * depends on what is found. Everything else is looked for among all jobs of the queue and the state.
 */
export interface Where {
  readonly after?: number
  readonly before?: number
  /** This text, letter by letter, is in the payload or the failure. */
  readonly text?: string
  /** In this lane; `''` is the default lane. */
  readonly lane?: string
}

export interface ExpiredCall {
  readonly sources: readonly { readonly space: string; readonly queue: string }[]
  /** Also the jobs of these workers, whatever their leases say. */
  readonly workerIds: readonly string[]
  readonly limit: number
  readonly now?: number
}

export interface ExpiredReply {
  readonly leases: readonly ExpiredLease[]
}

export interface ExpiredLease extends ClaimedJob {
  readonly workerId: string
  readonly cancelReason: string | null
  /** False when it is listed only because its worker is gone. */
  readonly over: boolean
}

export interface GetCall {
  readonly space: string
  readonly ids: readonly string[]
}

export interface ListCall extends Selection {
  readonly space: string
  /** Finished jobs the oldest first; others as ever. @default false */
  readonly oldestFirst?: boolean
  readonly limit: number
  /** From the page before; null for the first. */
  readonly cursor: string | null
}

export interface ListReply {
  readonly jobs: readonly Job[]
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
}

export interface CountCall extends Selection {
  readonly space: string
  /** To stop at so many. It bounds the work where the store finds the selection by key, see {@link Where}. */
  readonly limit?: number
  /** To look at so many jobs of the queue and the state at most, whether they fit or not. Where it is not found by key, that bounds the work. */
  readonly look?: number
}

export interface CountReply {
  readonly count: number
  /** How many jobs were looked at, if {@link CountCall.look} was given: so many as that mean that there may be more. */
  readonly looked?: number
}

export interface CountsCall {
  readonly space: string
  /** Only these. */
  readonly queues?: readonly string[]
  /** Also which spaces have jobs, see {@link CountsReply.spaces}. */
  readonly spaces?: boolean
  readonly now?: number
}

export interface CountsReply {
  readonly queues: readonly QueueCounts[]
  /**
   * If that was asked for: all spaces that have jobs, by name, from the stored counters of their queues. So it costs the same
   * however many jobs there are.
   */
  readonly spaces?: readonly SpaceCounts[]
  /** The time of the store's clock. */
  readonly now: number
}

export interface SpaceCounts {
  readonly space: string
  /** How many of its queues have jobs. */
  readonly queues: number
  /** As they are stored: overdue jobs as delayed. */
  readonly states: Readonly<Record<JobState, number>>
}

export interface QueueCounts {
  readonly queue: string
  /** By the clock: a delayed job that is due counts as ready. */
  readonly states: Readonly<Record<JobState, number>>
  /**
   * How many of the ready jobs are stored as delayed although they are due, because no claim has made them ready: nothing
   * claims from the queue, it is held, or its workers are full. Exact, however many there are.
   */
  readonly overdue: number
  /**
   * When the job that has waited longest became due; null when none is ready. All waiting jobs count: of every lane, also of
   * paused and full ones, of every priority, and overdue ones, however many stand in front of it. A store for which looking is
   * expensive may miss a job that came back to its place in front of others in the last seconds.
   */
  readonly oldestDueAt: number | null
}

/** The states in which the jobs of a queue are stored, and listed: overdue ones as delayed. */
export function storedStates({ states, overdue }: QueueCounts): Readonly<Record<JobState, number>> {
  if (overdue === 0) return states
  return { ...states, delayed: states.delayed + overdue, ready: states.ready - overdue }
}

export interface WorkerInfo {
  readonly id: string
  readonly space: string
  readonly host: string
  readonly pid: number
  readonly queues: readonly string[]
  readonly concurrency: number
  /** Handlers running at the last heartbeat. */
  readonly running: number
  readonly startedAt: number
  /** JSON text of what else there is to know, for people: see `worker/vitals.ts`. Up to 4 KiB. */
  readonly vitals: string
}

export interface WorkerPresence extends WorkerInfo {
  readonly seenAt: number
  /** `gone`: the store knows that the process ended. `here`: that it lives. `unsure`: only its heartbeats tell. */
  readonly life: 'here' | 'gone' | 'unsure'
}
