/**
 * The store contract.
 *
 * A store moves rows and decides nothing: policies are judged before (`core/policies/policy.ts`), the rules
 * of every transition are pure functions (`core/jobs/transitions.ts`), and each store is a translation of
 * them, checked against the memory store by the same suite.
 *
 * Rules for every operation:
 * - one call is one transaction: all of it happens or none;
 * - plain data in and out, many jobs at a time, one object per call;
 * - the store's own clock decides. A test passes `now` and owns it;
 * - the id of a job, and of a run, is unique within its space: every call passes the space with the id, and
 *   reaches no job of another;
 * - it is idempotent. After a `StoreError` with effect `unknown` the caller sends the same call again;
 * - it is expressible as one Redis script, described beside each operation; `{s}` is the hash tag of the
 * shard,
 *   so that all keys of a call are in one slot.
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
  /** What this store can do. Callers check capabilities, never its name. */
  readonly capabilities: Capabilities

  /**
   * Connects, and checks schema and durability. Throws `SCHEMA_MISSING`, `SCHEMA_OUTDATED`, `SCHEMA_TOO_NEW`
   * or `STORE_UNSAFE`. Repeating it is cheap.
   */
  ready(): Promise<Durability>

  /**
   * Migrates the schema, one process at a time. Returns the ids of the applied migrations.
   * Redis: a version key, set by the script that upgrades.
   */
  migrate(): Promise<{ readonly applied: readonly string[] }>

  /**
   * Database health: size, bloat, settings; each finding with a fix. It changes nothing, and its cost does
   * not depend on the number of jobs.
   */
  examine(): Promise<readonly StoreFinding[]>

  /**
   * Inserts jobs, in order. A job whose id exists in its queue is `ok` and `known`, and left unchanged. A job
   * whose unique key is held by another is a `duplicate`, and its conflict rule was applied to that other
   * job. If an id belongs to a job in another queue of the space, or the id of a run to a run of another
   * flow, the call throws `ID_TAKEN` (see `core/jobs/taken-ids.ts`) and writes nothing. Jobs enqueued by
   * groups, moves and schedules have generated ids; if one is taken nevertheless, that job is left out.
   * Redis: for each job EXISTS job, GET unique; HSET job; ZADD ready|delayed; HINCRBY counts.
   */
  insert(call: InsertCall): Promise<InsertReply>

  /**
   * Leases ready jobs. First, delayed jobs that are due become ready (at most {@link PROMOTE_LIMIT} per
   * source); then, source by source, the lowest ranks are taken; with limits, lane by lane as in
   * `core/lanes/lanes.ts`. Jobs in {@link ClaimCall.first} take precedence. A held source is skipped. A ready
   * job that no worker claims stays ready, in its place, indefinitely. With `ids` the named jobs are taken by
   * primary key under the same guard, without a search. After a lost reply, {@link ClaimCall.again} returns
   * what was taken.
   * Redis: ZRANGEBYSCORE delayed → ZADD ready; ZPOPMIN ready; HSET lease; ZADD leases by expiry.
   */
  claim(call: ClaimCall): Promise<ClaimReply>

  /**
   * Extends leases. Each result reports whether the lease still holds, and whether the job is asked to stop.
   * A worker that stops extends the leases of its running handlers through drain and grace, and settles each
   * or hands it back before it departs: a store never ends a lease because its worker is stopping.
   * Redis: for each HGET token, compare; HSET and ZADD leases.
   */
  extend(call: ExtendCall): Promise<ExtendReply>

  /**
   * Ends leases according to their verdicts, together with the jobs that each handler enqueued, and may
   * include the next claim in the same round trip. A settlement is accepted only while its token is the job's
   * current lease; a repetition by the same holder is `ok` again, with the state to which it led; everything
   * else is refused and changes nothing, and its jobs are not enqueued.
   * A job that is handed back is ready in its old place, and its attempt is not counted.
   * A rescue ends the token with the lease: it is refused if the holder was first, and the holder after it.
   * Redis: for each HGET token, compare; ZREM leases; ZADD or HDEL; then insert, then claim, as above.
   */
  settle(call: SettleCall): Promise<SettleReply>

  /**
   * Actions of operators: cancel, bury, retry, and so on, by id or by selection. The ids of removed jobs are
   * remembered, see {@link InsertCall.again}. In a selection, `prioritize` and `reschedule` skip jobs that
   * need no change. A retry takes the jobs of a call in the order of their enqueues, so strict lanes keep
   * theirs.
   * Redis: the same moves between sorted sets, for ids given or found by ZRANGE.
   */
  change(call: ChangeCall): Promise<ChangeReply>

  /**
   * Counts the jobs of a selection. Exact, unless jobs move meanwhile, or {@link CountCall.look} ended it.
   * Without a filter `counts` is faster. Redis: ZCOUNT; with a text, ZSCAN and HGET each.
   */
  count(call: CountCall): Promise<CountReply>

  /**
   * Running jobs whose lease has expired, or that belong to one of `workers`, by the end of their lease. Only
   * in the named queues: a process judges only queues it knows. The caller settles with that lease's token.
   * Redis: ZRANGEBYSCORE leases; SMEMBERS of a worker's jobs.
   */
  expired(call: ExpiredCall): Promise<ExpiredReply>

  /** Jobs by id; null if there is none in that space. Redis: HGETALL each. */
  get(call: GetCall): Promise<{ readonly jobs: readonly (Job | null)[] }>

  /**
   * One page of a queue's jobs in one state, by key and never by offset: ready jobs lane by lane and by place
   * (without lanes: by rank), delayed by due time, running by start, finished newest first.
   * Redis: ZRANGE by score from the cursor.
   */
  list(call: ListCall): Promise<ListReply>

  /**
   * The number of jobs of each queue of a space by state and the store's clock, and how long the oldest has
   * waited, at a cost independent of their number: stored counters, of delayed jobs also by due time, the
   * jobs due within the current second, and the first entries of the indexes of waiting jobs. It writes
   * nothing, and does not know which workers handle a queue: that ready jobs are unhandled follows from
   * {@link workers}. Redis: HMGET counts; ZLEXCOUNT delayed; ZRANGEBYLEX LIMIT.
   */
  counts(call: CountsCall): Promise<CountsReply>

  /**
   * Removes up to `limit` expired finished jobs, oldest first, and other leftovers: unique keys past their
   * window, remembered ids, workers not seen for an hour. The ids of jobs that finished less than
   * {@link REMEMBER_DISCARDED_MS} ago are remembered, see {@link InsertCall.again}; older ones need not be.
   * Redis: ZRANGEBYSCORE expiry.
   */
  prune(call: { readonly limit: number; readonly now?: number }): Promise<{ readonly pruned: number }>

  /**
   * Registers a worker or refreshes its heartbeat; the store may attach its own liveness check (a session
   * lock, a process id, a named connection). Sent at start and with every heartbeat.
   * Redis: HSET worker, PEXPIRE; CLIENT SETNAME on its connection.
   */
  attend(call: { readonly worker: WorkerInfo; readonly now?: number }): Promise<void>

  /** Removes a worker from the list on a clean stop. */
  depart(call: { readonly workerId: string }): Promise<void>

  /** The registered workers, or those of these ids, with what the store knows about their liveness. Redis: HVALS or HMGET; CLIENT LIST ID. */
  workers(call: {
    readonly space?: string
    readonly ids?: readonly string[]
    readonly now?: number
  }): Promise<{ readonly workers: readonly WorkerPresence[] }>

  /**
   * The same operations inside a transaction of the caller, if `capabilities.transactions`. Throws
   * `TX_UNSUPPORTED` for a value that is not a transaction of this store.
   */
  within?(tx: unknown): StoreInTransaction

  /** The notifier of this store, created once and closed with the store; the default of the client. */
  notifier?(): Notifier

  /** Closes what the store opened itself. Idempotent. */
  close(): Promise<void>
}

/** What can be done inside the caller's transaction: it takes effect if and when that commits. */
export type StoreInTransaction = Pick<Store, 'insert' | 'settle' | 'addMembers'>

export interface Capabilities {
  /** Enqueue and complete inside the caller's own transaction. */
  readonly transactions: boolean
  /** Several processes may share the jobs. */
  readonly processes: boolean
  /** The store itself detects that a worker's process has exited, before its leases expire. */
  readonly liveness: boolean
  /**
   * The number of jobs from which a second insert is sent while another is in flight. Low if a call costs
   * little beside its jobs, high if each is a commit. @default 250
   */
  readonly secondInsertAt?: number
  /**
   * The maximum claim size of a worker without limits. Higher if a call costs as much as hundreds of jobs,
   * lower if a claim blocks all other callers. @default 500
   */
  readonly jobsPerClaim?: number
  /**
   * The claim size for a limited queue that is still receiving jobs, one of which may be next. Lower if a
   * claim waits for the one in flight, as high as ever if calls are made inside the worker's own process.
   * @default 170
   */
  readonly jobsPerClaimWithNews?: number
  /** Hints sent after a call are delivered after it commits, so inserts may notify early. @default false */
  readonly tellsInOrder?: boolean
  /**
   * An insert with unique keys or given ids may have to wait for an open transaction of a program. Such
   * inserts, and settlements that enqueue such jobs, are then sent separately, with
   * {@link InsertCall.lockWaitMs}. @default false
   */
  readonly waitsForKeys?: boolean
}

/** What an acknowledged write guarantees. */
export interface Durability {
  /** What a write survives: nothing (memory), the end of the process, or a loss of power. */
  readonly level: 'memory' | 'process' | 'disk'
  /** A description, for `skep doctor` and the log. */
  readonly detail: string
  /** Problems that do not prevent the start. */
  readonly warnings: readonly string[]
}

/** One finding about the database of a store, for `skep doctor` and the system page. */
export interface StoreFinding {
  /** A keyword: `storage`, `vacuum`. */
  readonly name: string
  readonly status: 'ok' | 'warn'
  readonly text: string
  /** What to do, with the exact command after a colon; null if nothing. */
  readonly fix: string | null
}

/** The number of due jobs that one claim makes ready per source. */
export const PROMOTE_LIMIT = 1_000

/**
 * How long the ids of removed jobs are remembered, see {@link InsertCall.again}. No call is retried longer.
 */
export const REMEMBER_DISCARDED_MS = 600_000

/** Workers not seen for this long are removed from the list. */
export const FORGET_WORKER_MS = 3_600_000

export interface InsertCall {
  readonly jobs: readonly NewJob[]
  /** Groups and runs created before the jobs; existing ones are left unchanged. */
  readonly groups?: readonly NewGroup[]
  readonly runs?: readonly NewRun[]
  /**
   * An earlier call with these jobs may have succeeded. A job that has meanwhile run, finished and been
   * removed must not be inserted again, so the store also checks the ids of recently removed jobs: discarded
   * by a settlement, pruned soon after they finished, or removed by a change.
   */
  readonly again?: boolean
  /** The ids were generated for this very call, so they need not be looked up. */
  readonly fresh?: boolean
  /**
   * How long the call may wait for a transaction that holds one of the unique keys or ids. After that it
   * fails with `STORE_BUSY` and has no effect. Omitted: the timeout of a call. See
   * {@link Capabilities.waitsForKeys}.
   */
  readonly lockWaitMs?: number
  /**
   * A message from `along` of the store's own notifier, published once the call has happened. May be lost.
   */
  readonly letter?: string
  readonly now?: number
}

export interface InsertReply {
  /** One per job, in order. */
  readonly results: readonly InsertResult[]
  /** Queues in which groups that fired have enqueued jobs, for hints; omitted if none. */
  readonly enqueued?: readonly Enqueued[]
  /** The indexes in {@link InsertCall.runs} of runs that already existed; omitted if none. */
  readonly knownRuns?: readonly number[]
  /**
   * It happened after calls sent later, so early hints must be repeated: see
   * {@link Capabilities.tellsInOrder}.
   */
  readonly isLate?: true
}

export type InsertResult =
  /** The job is stored. `known`: it was before this call, or a removed job of this id is remembered. */
  | { readonly status: 'ok'; readonly state: JobState; readonly dueAt: number; readonly known?: true }
  /** Its unique key is held by the job `id`; `action` is what happened to that one. */
  | {
      readonly status: 'duplicate'
      readonly id: string
      readonly action: 'ignored' | 'replaced' | 'postponed'
    }

/** A queue to claim from, and the maximum number of jobs. */
export interface Source {
  readonly space: string
  readonly queue: string
  readonly limit: number
  /**
   * The lowest rank hinted since the last claim. A store that starts its search where its last one started
   * looks at least this far back; others ignore it.
   */
  readonly hintedRank?: number
  /**
   * Only jobs with a key in this range, also among those named by `ids`; others are left alone. Jobs that a
   * token already holds (`again`) are returned with any key. For several ranges, use several sources of
   * the same queue.
   *
   * A key belongs to a lane, see `core/lanes/key-range.ts`. So the lanes of a limited queue in the range are
   * served in turn, as if there were no others, and all limits of the queue apply; a queue without lanes has
   * all of its jobs in the first range. No store rejects a range, but it must be one that `parseKeyRange`
   * accepts: of whole slices. Then a store finds the lanes of each slice in the order of their turns, and
   * never visits one outside the range. It does so from the first claim with a range on: without ranges there
   * is no cost. nextDueAt covers the whole queue.
   */
  readonly keys?: KeyRange
}

export interface ClaimCall {
  /** In the order in which they are served. */
  readonly sources: readonly Source[]
  /** The maximum number of jobs over all sources. */
  readonly limit: number
  /** Take only these jobs; they still have to be in one of the sources. */
  readonly ids?: readonly string[]
  /**
   * Those of these jobs that wait in a source go before all others of it, by rank, while there is room. With
   * limits the lanes alone decide, and with `ids` or `again` these are ignored.
   */
  readonly first?: readonly string[]
  readonly workerId: string
  /** Generated by the caller for every claim: together with the job's id it identifies the lease. */
  readonly token: string
  /**
   * An earlier call with this token may have succeeded, and its reply was lost. Then nothing new is taken:
   * the reply has all jobs of these sources that the token holds, each with its lease renewed from now.
   */
  readonly again?: boolean
  readonly leaseMs: number
  readonly now?: number
}

export interface ClaimReply {
  readonly jobs: readonly ClaimedJob[]
  /**
   * When to claim again, by the store's clock: the next delayed job of these sources is due, a rate lets the
   * next one start, or a hold ends. It may be too early and is never too late. Set when fewer jobs than
   * `limit` were found; otherwise null.
   */
  readonly nextDueAt: number | null
  /** The indexes of limited sources; omitted if none. There the end of a lease may make room for others. */
  readonly limited?: readonly number[]
  /** The current time of the store's clock. */
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
  /** Only if the lease has expired by the store's clock: so that a rescue is never too early. */
  readonly onlyIfExpired?: boolean
  /**
   * By another process than the holder. Accepted only while the token holds the lease. The token is not kept,
   * so a late holder is refused, with `lost` or `gone`.
   */
  readonly rescue?: boolean
  /**
   * With `rescue`: the token that the ended job keeps instead. A settlement with the same one is accepted as
   * a repetition of this one. Omitted: none is.
   */
  readonly repeatToken?: string
  /**
   * Jobs that the handler enqueued: inserted if, and only if, this settlement is accepted. If an id is taken,
   * the settlement is refused and the lease continues.
   */
  readonly enqueue?: readonly NewJob[]
  /** Groups that the handler created, with its enqueued jobs as members. */
  readonly groups?: readonly NewGroup[]
  /**
   * It passes its group membership on to one of its enqueued jobs: its own completion does not count for the
   * group, and it is a member of none from now on. See `core/flows/chains.ts`.
   */
  readonly handsOn?: boolean
  /** Its move of a run. If the run has moved or ended, the job is settled and nothing else happens. */
  readonly move?: RunMove
  /** The remaining log of the attempt, written before the lease ends, as by {@link NoteStore.note}. */
  readonly note?: Note
  /** The job may have a log, to be removed with the job. Omitted: none is looked for. */
  readonly noted?: boolean
}

export interface SettleCall {
  readonly settlements: readonly Settlement[]
  readonly claim?: Omit<ClaimCall, 'now'>
  /**
   * How long the call may wait for each lock held by another transaction. After that it fails with
   * `STORE_BUSY`, and nothing is claimed; what was settled nevertheless is `ok` again on repetition.
   * Omitted: the timeout of a call. See {@link Capabilities.waitsForKeys}.
   */
  readonly lockWaitMs?: number
  readonly now?: number
}

export interface SettleReply {
  readonly results: readonly SettleResult[]
  readonly claimed: ClaimReply | null
  /** Queues in which groups that fired, or moves, have enqueued jobs, for hints; omitted if none. */
  readonly enqueued?: readonly Enqueued[]
}

export type SettleResult =
  /** `state`: the new state of the job, `cancelled` instead of waiting if it had been asked to stop. */
  | { readonly status: 'ok'; readonly state: JobState; readonly inserted?: readonly InsertResult[] }
  | { readonly status: 'refused'; readonly reason: Refusal | 'not-expired' }
  /** The token holds, but ids of its enqueued jobs belong to jobs in other queues of the space. */
  | { readonly status: 'refused'; readonly reason: 'taken'; readonly taken: readonly TakenId[] }
  /** The reply was lost. Send it again: a settlement that happened is `ok` again. */
  | { readonly status: 'unknown' }

export interface ChangeCall {
  readonly action: ChangeAction
  readonly space: string
  /** These jobs, or a page of a selection: up to its limit, in list order; for a retry, the oldest first. */
  readonly target:
    | { readonly ids: readonly string[] }
    | (Selection & {
        readonly limit: number
        /** From the previous page. @default null, for the first */
        readonly cursor?: string | null
      })
  /** For `prioritize`: the priority as stored, see {@link NewJob.priority}. @default 0 */
  readonly priority?: number
  /**
   * For `reschedule`: the new due time, by the store's clock. A time in the past means now.
   * For `retry`: the start of the operation that this call belongs to, by the store's clock: its last job is
   * due then. A time in the future means now. @default now
   */
  readonly dueAt?: number
  /**
   * For `retry`: the last job of this call is due this long before `dueAt`, because other calls of the
   * operation follow. The jobs of a call are due in the order of their enqueues (`byEnqueue`), each 1 ms
   * before the next where the ids contradict that order, see `stepsBefore`. @default 0
   */
  readonly earlierMs?: number
  /** JSON text of a failure, kept with jobs that this ends. */
  readonly failure: string | null
  /** How long jobs that this ends are kept. */
  readonly keepMs: number
  readonly now?: number
}

export interface ChangeReply {
  /**
   * One per given id, in order; or one per job of the selection, including refused ones (`unique`, `run`).
   */
  readonly results: readonly ChangeResult[]
  /**
   * For a selection: the start of the next page; null if fewer jobs than the limit were selected, so that
   * this was the last. A page may have fewer results than its limit without being the last: jobs that changed
   * state meanwhile are skipped.
   */
  readonly cursor: string | null
  /** The queues in which a job changed its place (retry, promote, prioritize, reschedule), for hints. */
  readonly waiting: readonly Waiting[]
  /** Queues in which groups that fired have enqueued jobs, for hints; omitted if none. */
  readonly enqueued?: readonly Enqueued[]
}

export type ChangeResult =
  | { readonly id: string; readonly status: 'ok' }
  /** It is running: its worker was asked to stop it. */
  | { readonly id: string; readonly status: 'requested' }
  | { readonly id: string; readonly status: 'refused'; readonly reason: ChangeRefusal }

/**
 * `unknown`: no such job in this space. `state`: not possible in its current state. `unique`: its key is
 * held. `run`: it belongs to a run that no longer waits for it, see `mayRejoin` in `core/flows/runs.ts`;
 * decided in the transaction of the change.
 */
export type ChangeRefusal = 'unknown' | 'state' | 'unique' | 'run'

/** Jobs of one queue in one state. */
export interface Selection {
  readonly queue: string
  readonly state: JobState
  readonly where?: Where
}

/**
 * All given conditions must match. `after` is inclusive, `before` exclusive; both compare due, start or
 * finish time.
 *
 * Ready jobs are found by lane, all others by time, and by both outside the default lane: at a cost that
 * depends on the result. Everything else is tested on all jobs of the queue and the state.
 */
export interface Where {
  readonly after?: number
  readonly before?: number
  /** A substring of the payload or the failure, case-sensitive. */
  readonly text?: string
  /** In this lane; `''` is the default lane. */
  readonly lane?: string
}

export interface ExpiredCall {
  readonly sources: readonly { readonly space: string; readonly queue: string }[]
  /** Also the jobs of these workers, even with live leases. */
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
  /** False if it is listed only because its worker is gone. */
  readonly over: boolean
}

export interface GetCall {
  readonly space: string
  readonly ids: readonly string[]
}

export interface ListCall extends Selection {
  readonly space: string
  /** Finished jobs oldest first; no effect on others. @default false */
  readonly oldestFirst?: boolean
  readonly limit: number
  /** From the previous page; null for the first. */
  readonly cursor: string | null
}

export interface ListReply {
  readonly jobs: readonly Job[]
  /** For the next page; null if this was the last. */
  readonly cursor: string | null
}

export interface CountCall extends Selection {
  readonly space: string
  /** Stop at this number. It bounds the work if the store finds the selection by key, see {@link Where}. */
  readonly limit?: number
  /**
   * The maximum number of jobs of the queue and state to test. Bounds the work if they are not found by key.
   */
  readonly look?: number
}

export interface CountReply {
  readonly count: number
  /** The number of tested jobs, if {@link CountCall.look} was given: if equal to it, there may be more. */
  readonly looked?: number
}

export interface CountsCall {
  readonly space: string
  readonly queues?: readonly string[]
  /** Also list the spaces with jobs, see {@link CountsReply.spaces}. */
  readonly spaces?: boolean
  readonly now?: number
}

export interface CountsReply {
  readonly queues: readonly QueueCounts[]
  /** If requested: all spaces with jobs, by name, from stored counters: at a constant cost per queue. */
  readonly spaces?: readonly SpaceCounts[]
  /** The current time of the store's clock. */
  readonly now: number
}

export interface SpaceCounts {
  readonly space: string
  readonly queues: number
  /** As they are stored: overdue jobs as delayed. */
  readonly states: Readonly<Record<JobState, number>>
}

export interface QueueCounts {
  readonly queue: string
  /** By the clock: a due delayed job counts as ready. */
  readonly states: Readonly<Record<JobState, number>>
  /**
   * The number of ready jobs still stored as delayed, because no claim has made them ready: nothing claims
   * from the queue, it is held, or its workers are full. Exact, however many there are.
   */
  readonly overdue: number
  /**
   * When the longest waiting job became due; null if none is ready. All waiting jobs count: of every lane,
   * also paused and full ones, of every priority, and overdue ones, however many are before it. A store for
   * which this is expensive may miss a job that returned to its place in the last seconds.
   */
  readonly oldestDueAt: number | null
}

/** The states in which the jobs of a queue are stored and listed: overdue ones as delayed. */
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
  /** JSON text of further facts, for display: see `runtime/process-stats.ts`. Up to 4 KiB. */
  readonly vitals: string
}

export interface WorkerPresence extends WorkerInfo {
  readonly seenAt: number
  /**
   * `gone`: the store knows that the process exited. `here`: it is alive. `unsure`: only heartbeats show it.
   */
  readonly life: 'here' | 'gone' | 'unsure'
}
