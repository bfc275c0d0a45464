/**
 * What a run leaves behind for the checker (docs/guarantees.md):
 *
 *   records   what programs asked, what they were told, what their handlers did. Written before anybody acts on it,
 *             outside of whatever may be killed. This is the truth about promises.
 *   audit     every change of every job, written by the store itself in the same transaction (or, for the memory
 *             store, in the same call). This is the truth about jobs.
 *   final     what was in the store when everything had healed and drained.
 *
 * The simulator and the tests with real processes write the same things, so there is one checker for both.
 */

import type { Counters, JobState, UniqueScope } from '../../src/core/jobs/job.ts'
import type { ChangeAction } from '../../src/core/jobs/transitions.ts'
import type { HoldKind, HoldTarget } from '../../src/core/lanes/holds.ts'
import type { ChangeRefusal, QueueCounts } from '../../src/store/store.ts'
import type { FlowHistory } from './flows/history.ts'

export interface History {
  readonly records: readonly HistoryRecord[]
  readonly audit: readonly AuditEntry[]
  /** By job id, after the drain. */
  readonly final: ReadonlyMap<string, AuditRow>
  readonly facts: Facts
  /** Absent: there are no flows. */
  readonly flows?: FlowHistory
}

/** What the checker has to know about the run. */
export interface Facts {
  /** Whether everything had ended, nothing waited and nothing ran, within the time given after the heal. */
  readonly drained: boolean
  /** How far apart a record's time and an audit entry's time may be although they tell of one moment. */
  readonly slackMs: number
  /** The lease length of all workers. */
  readonly leaseMs: number
  /** How long all workers wait for a handler after its signal aborted. Absent: unknown. */
  readonly graceMs?: number
  /** No job starts later than this after the claim that brought it: what waits longer for a slot goes back. Absent: unknown. */
  readonly prefetchMs?: number
  /** The budgets of each queue, where its policy matters. */
  readonly queues: Readonly<Record<string, QueueFacts>>
  /** No more live leases than this at any moment, over the jobs that `of` accepts. */
  readonly limits: readonly LimitFact[]
  /** Lanes, as `queue/lane`, whose jobs run one at a time, in the order of their enqueues. Absent: there are none. */
  readonly order?: readonly string[]
  /**
   * Transactions overlap, so two jobs may arrive in another order than the audit saw them. Then one is surely before
   * another only if its enqueue was answered before the other was asked for.
   */
  readonly overlapping?: boolean
  /** How often jobs may start, by the store's clock. Absent: as often as they like. */
  readonly rates?: readonly RateFact[]
  /** What `store.counts` said after the drain, by queue and state. Absent: not asked. */
  readonly counts?: Readonly<Record<string, Readonly<Record<JobState, number>>>>
  /** The store's time at which it said so. Absent: nothing waited. */
  readonly countedAt?: number
  /** Things that must be back at zero in the end: timers, handles, listeners, subscriptions. */
  readonly leaks: Readonly<Record<string, number>>
  /** Occurrences a schedule had to produce, as a reference computed them. Absent: there are no schedules. */
  readonly slots?: readonly SlotFact[]
  /** Joins of flows that had to fire. Absent: there are no flows. */
  readonly joins?: readonly JoinFact[]
  /** A process that is gone may lose its leases before they end (a store that notices the end of processes). */
  readonly liveness: boolean
}

export interface QueueFacts {
  /** Retries after errors, timeouts, lost runs; null: without end. */
  readonly retries: {
    readonly errors: number | null
    readonly timeouts: number | null
    readonly lost: number | null
  }
  /** The shortest wait before each kind of retry. */
  readonly backoffMs: { readonly errors: number; readonly timeouts: number; readonly lost: number }
  /** Successful jobs are removed at once. */
  readonly discards: boolean
  /** So are jobs that failed for good. Absent: they are kept. */
  readonly discardsFailures?: boolean
}

export interface LimitFact {
  readonly name: string
  readonly limit: number
  readonly of: (row: AuditRow) => boolean
}

/** In a span of W ms jobs start that cost no more than `limit * W / perMs + burst`. */
export interface RateFact {
  readonly name: string
  readonly limit: number
  readonly perMs: number
  readonly burst: number
  readonly of: (row: AuditRow) => boolean
  /** A full bucket is forgotten: a clock that goes back to before it was full finds a new one. */
  readonly forgets?: boolean
}

export interface SlotFact {
  readonly schedule: string
  readonly slot: number
  /** Whether exactly one job is required, or at most one. */
  readonly required: boolean
}

export interface JoinFact {
  readonly run: string
  readonly node: string
  /** The jobs that have to end first. */
  readonly children: readonly string[]
}

// ── records ──────────────────────────────────────────────────────────────────────────────────────

/**
 * invoke: it is about to be asked. ok: it happened for certain. fail: it did not, for certain.
 * info: nobody knows (no answer, or the process died).
 */
export type RecordType = 'invoke' | 'ok' | 'fail' | 'info'

interface Common {
  /** Place in the order of the whole run (simulation) or of one process's file. */
  readonly n: number
  /** True time in milliseconds, comparable between processes. */
  readonly at: number
  /** The process and its incarnation, such as `w2#3`. */
  readonly proc: string
  readonly type: RecordType
}

export type HistoryRecord =
  | EnqueueRecord
  | CommandRecord
  | HoldRecord
  | ConfirmRecord
  | ClaimRecord
  | ExtendRecord
  | SettleRecord
  | StartRecord
  | EndRecord
  | ToldRecord
  | StopRecord
  | CountsRecord
  | AttendRecord
  | DepartRecord
  | HandledRecord
  | EventRecord

/** One record for each job. */
export interface EnqueueRecord extends Common {
  readonly f: 'enqueue'
  readonly id: string
  readonly queue: string
  /** JSON text. */
  readonly payload: string
  /** Not before this true time; the time of the call when there is no delay. Only meant for `invoke`. */
  readonly notBefore: number
  readonly unique?: { readonly key: string; readonly scope: UniqueScope; readonly windowMs: number }
  /** On `ok`: it was a duplicate of this job, which counts in its place. */
  readonly duplicateOf?: string
  /** Where callers choose ids: the same for a question and its answer, because one id may be enqueued several times. */
  readonly call?: string
  /** On `ok`: the caller was told that a job with its id was there already. */
  readonly known?: boolean
  /** On `invoke`: by a handler, under this lease; it exists if, and only if, that lease's success is accepted. */
  readonly within?: string
  /** On `invoke`: put down with this group or this move of a run; it exists if that fires, or is accepted. */
  readonly by?: string
}

/** Stands for the jobs of a selection, in the `invoke` and in the answer as a whole. */
export const SELECTION = '*'

/** Something a person did to a job. */
export interface CommandRecord extends Common {
  readonly f: 'command'
  /** The same for a question and its answer: a process may ask the same thing twice at once. */
  readonly call?: number
  readonly action: ChangeAction
  readonly id: string
  /** On `ok`. */
  readonly result?: 'ok' | 'requested' | 'refused'
  /** Of a refusal. */
  readonly reason?: ChangeRefusal
}

/** Somebody puts a hold, or takes it away: one record for each. */
export interface HoldRecord extends Common, HoldTarget {
  readonly f: 'hold'
  readonly action: 'hold' | 'release'
  /** The same for a question and its answer. */
  readonly call: number
  readonly kind: HoldKind
  /** On `ok` of a hold: when it ends by itself, by the store's clock; null: never. */
  readonly until?: number | null
}

/** Somebody who put a hold got the answer of the client. Its type is always `ok`. */
export interface ConfirmRecord extends Common, HoldTarget {
  readonly f: 'confirm'
  readonly kind: HoldKind
  /** It waited until every worker had confirmed. */
  readonly everywhere: boolean
}

/** A claim as the worker sent it, and the jobs it got on `ok`. */
export interface ClaimRecord extends Common {
  readonly f: 'claim'
  readonly token: string
  readonly workerId: string
  readonly leaseMs: number
  /** On `invoke`, of one that may take new jobs: how many at most, in all and by queue. */
  readonly limit?: number
  readonly asked?: Readonly<Record<string, number>>
  readonly jobs?: readonly { readonly id: string; readonly generation: number; readonly starts: number }[]
}

/** One record for each lease. `sentAt` is the true time of the `invoke`. */
export interface ExtendRecord extends Common {
  readonly f: 'extend'
  readonly id: string
  readonly token: string
  readonly sentAt: number
  /** On `ok`. */
  readonly status?: 'ok' | 'refused' | 'unknown'
}

/** One record for each settlement. */
export interface SettleRecord extends Common {
  readonly f: 'settle'
  readonly id: string
  readonly token: string
  /** Where the verdict sends the job. */
  readonly to: JobState
  /** By somebody else than the holder, because its lease is over or its process gone. */
  readonly rescue: boolean
  /** JSON text of the result, for `done`. */
  readonly value: string | null
  /** On `ok`: what the store said. */
  readonly status?: 'ok' | 'refused' | 'unknown'
  readonly state?: JobState
  /** Ids of the jobs that are inserted with it. */
  readonly enqueue?: readonly string[]
  /** The lane of the job starts nothing for so long: its handler was told "too many requests". */
  readonly waitMs?: number
}

/** A handler began. Its type is always `ok`. */
export interface StartRecord extends Common {
  readonly f: 'start'
  readonly id: string
  readonly queue: string
  readonly token: string
  readonly generation: number
  /** As the handler saw it. */
  readonly attempt: number
  readonly payload: string
}

/** A handler ended, or its signal told it to; one that goes on after that has two of these. Its type is always `ok`. */
export interface EndRecord extends Common {
  readonly f: 'end'
  readonly id: string
  readonly token: string
  readonly how: 'returned' | 'threw' | 'snoozed' | 'throttled' | 'cancelled' | 'buried' | 'aborted'
  /** JSON text of what it returned. */
  readonly value: string | null
  /** Of `aborted`: what its signal said, such as `stop`. */
  readonly reason?: string
  /** The handler did not listen to its signal. */
  readonly isDeaf?: boolean
}

/** What a listener heard, or what somebody who waited for the result got (`result`). Its type is always `ok`. */
export interface ToldRecord extends Common {
  readonly f: 'told'
  readonly event: 'finished' | 'error' | 'timeout' | 'lost' | 'dead' | 'cancelled' | 'snoozed' | 'result'
  readonly id: string
  /** The lease it is about, where that is known. */
  readonly token: string | null
  readonly value: string | null
}

/** A worker's stop: `invoke` when asked, `ok` when it resolved. */
export interface StopRecord extends Common {
  readonly f: 'stop'
  readonly workerId: string
}

/** What somebody was told of all queues of the space. Only the answer has the figures. */
export interface CountsRecord extends Common {
  readonly f: 'counts'
  /** The same for a question and its answer. */
  readonly call: number
  /** By the store's clock. */
  readonly now?: number
  readonly counts?: readonly QueueCounts[]
}

/** A worker puts itself on the list, at its start and with each heartbeat. */
export interface AttendRecord extends Common {
  readonly f: 'attend'
  readonly workerId: string
  readonly queues: readonly string[]
}

/** A worker is taken off the list: `invoke`, and `ok` when that was answered. */
export interface DepartRecord extends Common {
  readonly f: 'depart'
  readonly workerId: string
}

/** What a caller was told of the queues: how many jobs are ready, and how many of them no worker handles. Only the answer has them. */
export interface HandledRecord extends Common {
  readonly f: 'handled'
  /** The same for a question and its answer. */
  readonly call: number
  readonly queues?: readonly { readonly queue: string; readonly ready: number; readonly unhandled: number }[]
}

/** What happened to the world: for people who read a trace. `clock`: the store's clock went back. */
export interface EventRecord extends Common {
  readonly f: 'crash' | 'fault' | 'heal' | 'stall' | 'clock'
  readonly what: string
}

// ── audit ────────────────────────────────────────────────────────────────────────────────────────

/** One change of one job: `before` null is a new job, `after` null a removed one. */
export interface AuditEntry {
  /** Place in commit order. */
  readonly seq: number
  /** Place among the records, where one order covers both (simulation). */
  readonly n?: number
  /** The store's clock. */
  readonly at: number
  readonly id: string
  readonly before: AuditRow | null
  readonly after: AuditRow | null
}

/** What the audit keeps of a job. */
export interface AuditRow {
  /** Absent where all jobs are in one space. A job of another space than `default` is called `space/id` everywhere. */
  readonly space?: string
  readonly queue: string
  /** JSON text. Absent where the audit does not see it. */
  readonly payload?: string
  readonly state: JobState
  readonly generation: number
  readonly dueAt: number
  /** The lease: only while running. */
  readonly token: string | null
  readonly worker: string | null
  readonly leaseUntil: number | null
  readonly cancelReason: string | null
  /** Absent where the audit does not see them. */
  readonly counters?: Counters
  readonly unique?: { readonly key: string; readonly scope: UniqueScope } | null
  readonly finishedAt?: number | null
  readonly expiresAt?: number | null
  readonly result?: string | null
  readonly lane?: string | null
  /** How much of a rate it takes. Absent: 1. */
  readonly cost?: number
  /** For later features: the slot of a schedule it stands for, the join it is. */
  readonly slot?: { readonly schedule: string; readonly slot: number } | null
  readonly join?: { readonly run: string; readonly node: string } | null
}

// ── the checker's answer ─────────────────────────────────────────────────────────────────────────

export interface Report {
  /** Must be empty. */
  readonly violations: readonly Violation[]
  /** The numbers people ask for. */
  readonly counts: Counts
}

export interface Counts {
  /** Enqueues that were acknowledged. */
  readonly enqueued: number
  /** Of these, gone without a trace. */
  readonly lost: number
  /** Jobs that ran or exist although nobody enqueued them, or that were said not to exist. */
  readonly unexpected: number
  /** Jobs whose handler started more than once. Allowed: at least once is the promise. */
  readonly duplicated: number
  /** Enqueues nobody knew the fate of, and that turned out to exist. Allowed. */
  readonly recovered: number
  readonly staleSettles: number
  readonly starts: number
}

export interface Violation {
  /** Such as `I-4`. */
  readonly invariant: string
  readonly kind: ViolationKind
  /** The job, the key, the process it is about. */
  readonly about: string
  /** One sentence. */
  readonly message: string
}

export type ViolationKind =
  | 'lost'
  | 'unexpected'
  | 'unique-broken'
  | 'lease-overlap'
  | 'stale-settle-accepted'
  | 'acked-twice'
  | 'redelivered-after-ack'
  | 'terminal-left'
  | 'attempts-wrong'
  | 'early-start'
  | 'order-break'
  | 'limit-break'
  | 'rate-break'
  | 'hold-break'
  | 'started-after-cancel'
  | 'slot-duplicate'
  | 'slot-missed'
  | 'join-duplicate'
  | 'join-early'
  | 'join-stuck'
  | 'not-atomic'
  | 'wrong-result'
  | 'wrong-payload'
  | 'ran-after-stop'
  | 'handed-back-alive'
  | 'outcome-dropped'
  | 'retry-spent'
  | 'pruned-early'
  | 'bad-shape'
  | 'miscounted'
  | 'not-by-the-clock'
  | 'unhandled-wrong'
  | 'stuck-lease'
  | 'not-drained'
  | 'leak'
