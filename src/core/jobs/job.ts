import type { Membership } from '../flows/groups.ts'

/**
 * The states of a job and the transitions between them:
 *
 *              ┌────────── snooze, retry later ──────────┐
 *              ▼                                         │
 *   enqueue → delayed ── due ──▶ ready ── claim ──▶ running ──▶ done | failed | dead | cancelled
 *        └───────────────────────▲  ▲                    │        │
 *                                │  └── hand back, retry ┘        │
 *                                └──────── retry ───────────────┘ (a new generation)
 *
 *   delayed, ready ── cancel ──▶ cancelled
 *
 * delayed: waits for its due time. ready: may start. running: has one live lease.
 * done: a handler returned. failed: ended by an error, kept for the record only.
 * dead: ended by an error and waits for an operator (or a retry). cancelled: by a caller or its handler.
 *
 * Whether a worker handles its queue is not a state: a job without a handler is `ready` and keeps its place,
 * see `jobs/unhandled.ts`.
 */
export const JOB_STATES = ['delayed', 'ready', 'running', 'done', 'failed', 'dead', 'cancelled'] as const

export type JobState = (typeof JOB_STATES)[number]

/** States that only a retry leaves. */
export type FinalState = 'done' | 'failed' | 'dead' | 'cancelled'

export const FINAL_STATES: readonly FinalState[] = ['done', 'failed', 'dead', 'cancelled']

export function isFinal(state: JobState): state is FinalState {
  return (FINAL_STATES as readonly JobState[]).includes(state)
}

/** How often each event happened to a job. Each has its own budget; waiting counts nothing. */
export interface Counters {
  /** Times a handler received the job. */
  readonly starts: number
  /** Times the handler threw. */
  readonly errors: number
  /** Times the handler timed out. */
  readonly timeouts: number
  /** Times the worker died or lost its lease. */
  readonly lost: number
  /** Times the handler asked to be called later. */
  readonly snoozes: number
}

/** How long a unique key is held: until the job starts, until it ends, or for a fixed time. */
export type UniqueScope = 'queued' | 'active' | 'window'

/**
 * What an enqueue does when another job holds its unique key:
 * `ignore` leaves that job unchanged; `replace` gives it the new payload and time;
 * `postpone` gives it the new payload and restarts its delay (debounce).
 * A running job is never changed.
 */
export type UniqueConflict = 'ignore' | 'replace' | 'postpone'

export interface Unique {
  readonly key: string
  readonly scope: UniqueScope
  /** For the scope `window`: how long the key is held, counted from the enqueue. Otherwise 0. */
  readonly windowMs: number
  readonly onConflict: UniqueConflict
}

/** A job as it is passed to a store. It has been validated: a store rejects nothing. */
export interface NewJob {
  /** Made by the client, so inserting the same job twice is idempotent. */
  readonly id: string
  readonly space: string
  readonly queue: string
  /** JSON text. */
  readonly payload: string
  /** JSON text of a flat object of strings, or null. */
  readonly headers: string | null
  /** Steps of head start, see {@link rankOf}: -100 to 100, or strict ones as returned by `storedPriority`. */
  readonly priority: number
  /** The minimum delay after the insert, by the store's clock. */
  readonly delayMs: number
  /** The earliest start. The later of the two counts. */
  readonly runAt: number | null
  readonly unique: Unique | null
  /** JSON text of the options that differ from the queue's own, or null. */
  readonly overrides: string | null
  /** The key of its lane; null for the default lane. */
  readonly lane: string | null
  /**
   * In a strict lane its place is its arrival, not its time or priority. The queue must have limits by then.
   */
  readonly strict: boolean
  /** How much of a rate and of its lane's turn it uses: an integer from 1. */
  readonly cost: number
  /** Its number in a group; null: no member. */
  readonly member: Membership | null
}

/** The defaults of a new job. */
export const PLAIN_JOB: Omit<NewJob, 'id' | 'space' | 'queue' | 'payload'> = Object.freeze({
  headers: null,
  priority: 0,
  delayMs: 0,
  runAt: null,
  unique: null,
  overrides: null,
  lane: null,
  strict: false,
  cost: 1,
  member: null,
})

/** Everything a store knows about one job. Timestamps are milliseconds of the store's clock. */
export interface Job extends Counters {
  readonly id: string
  readonly space: string
  readonly queue: string
  readonly state: JobState
  readonly payload: string
  readonly headers: string | null
  readonly priority: number
  readonly overrides: string | null
  readonly lane: string | null
  readonly strict: boolean
  readonly cost: number
  readonly member: Membership | null
  /** When it may start, or could last start. */
  readonly dueAt: number
  readonly enqueuedAt: number
  /** For a strict job: the number of its enqueue. It grows with each enqueue; a retry does not change it. */
  readonly arrival?: number
  /** When it was last claimed. */
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** When prune may remove a finished job; null while it is not finished. */
  readonly expiresAt: number | null
  /** Raised by each retry. */
  readonly generation: number
  /** The token of the latest lease; after a rescue null or its `repeatToken`. Valid only while `running`. */
  readonly token: string | null
  /** The worker that holds the lease, or held it last. */
  readonly worker: string | null
  readonly leaseUntil: number | null
  /** The reason, if it was cancelled while running. */
  readonly cancelReason: string | null
  readonly uniqueKey: string | null
  readonly uniqueScope: UniqueScope | null
  /** JSON text of the handler's return value. */
  readonly result: string | null
  /** JSON text of a {@link Failure}: the latest error, or why it was snoozed, cancelled or buried. */
  readonly failure: string | null
}

/** The part of a claimed job that its worker receives. */
export interface ClaimedJob extends Counters {
  readonly id: string
  readonly space: string
  readonly queue: string
  readonly payload: string
  readonly headers: string | null
  readonly priority: number
  readonly overrides: string | null
  readonly lane: string | null
  readonly dueAt: number
  readonly enqueuedAt: number
  readonly generation: number
  readonly token: string
}

/** Why an attempt did not succeed, as stored. */
export interface Failure {
  readonly kind: 'error' | 'timeout' | 'lost' | 'snooze' | 'cancel' | 'bury' | 'poison'
  readonly message: string
  readonly name?: string
  readonly code?: string
  readonly stack?: string
  /** The version of the worker's program, if known. */
  readonly version?: string
  readonly causes?: readonly { readonly name: string; readonly message: string }[]
}

/** One step of priority is worth this much waiting: priority 1 overtakes jobs that have waited for less. */
export const PRIORITY_STEP_MS = 600_000

/**
 * The order in which ready jobs start, lowest first, then by id. It is the due time minus a head start for
 * priority, so one index provides priority, FIFO order and ageing, and nothing starves.
 */
export function rankOf(dueAt: number, priority: number): number {
  return dueAt - priority * PRIORITY_STEP_MS
}

/** The header of a copied job: the id of the original. */
export const COPY_HEADER = 'skep-copy-of'
