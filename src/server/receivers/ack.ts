/** What receivers say about jobs, the same over every transport. On the wire of HTTP it is JSON with these very names. */
import type { RelayEnd, RelayStop } from '../../index.ts'

/** How a job ended. One of the fields after the token says how; with none of them it is done, without a result. */
export interface Ack {
  readonly id: string
  /** As it came with the job. */
  readonly token: string
  /** The result as a value. */
  readonly done?: unknown
  /** The same as JSON text, for transports that do not read it. */
  readonly doneText?: string
  /** It failed, and the policy of its queue says what comes next. */
  readonly failed?: AckFailure
  /** Again later; counts as no failure. */
  readonly snooze?: { readonly delayMs: number; readonly reason?: string }
  /** Among the dead, whatever the policy says: the reason. */
  readonly bury?: string
  /** Ended as cancelled: the reason. */
  readonly cancel?: string
  /** Not begun: somebody else shall have it, and nothing is counted. */
  readonly handBack?: boolean
}

export interface AckFailure {
  readonly message: string
  readonly name?: string
  readonly stack?: string
  /** Again after this time instead of what the policy says. */
  readonly retryInMs?: number
}

/**
 * `ok`: saved. `lost`: somebody else has the job now, or nobody. `gone`: it is finished in another way, or removed. `unknown`: the
 * store could not be asked in time; the end is kept and tried again, and saying it again is harmless.
 */
export type AckStatus = 'ok' | 'lost' | 'gone' | 'unknown'

/** The answer to acks that came together. That an end was saved is the rule, and is not said job by job. */
export interface AckAnswer {
  /** How many were saved. */
  readonly saved: number
  /** Those that were not, in their order, and why. */
  readonly results: readonly AckResult[]
}

export interface AckResult {
  readonly id: string
  readonly status: Exclude<AckStatus, 'ok'>
}

/** A job that somebody holds. */
export interface Held {
  readonly id: string
  readonly token: string
}

export interface Extended {
  readonly id: string
  /** `unknown`: another server handed it out, and only that one can extend it. */
  readonly status: AckStatus
  /** Why somebody wants it to stop; null: nobody does. */
  readonly cancelReason: string | null
}

/** How far a job is, and lines for its log. */
export interface Note extends Held {
  readonly progress?: number
  readonly progressNote?: string
  readonly lines?: readonly NoteLine[]
}

export interface NoteLine {
  /** debug, info, warn or error. */
  readonly level: string
  readonly message: string
  readonly fields?: unknown
}

/** A job shall end: its ack will not count any more, or not as a success. */
export interface Stop extends Held {
  readonly reason: RelayStop
  readonly detail: string
}

/** Most acks say no more. */
const DONE: RelayEnd = { kind: 'done' }

/** An ack in the words of the relay. */
export function endOf(ack: Ack): RelayEnd {
  const { failed, snooze, bury, cancel, handBack, done, doneText } = ack
  if (failed !== undefined) return { kind: 'failed', ...failed }
  if (snooze !== undefined) return { kind: 'snooze', delayMs: snooze.delayMs, reason: snooze.reason ?? '' }
  if (bury !== undefined) return { kind: 'bury', reason: bury }
  if (cancel !== undefined) return { kind: 'cancel', reason: cancel }
  if (handBack === true) return { kind: 'back', ran: false }
  if (doneText !== undefined) return { kind: 'done', text: doneText }
  return done === undefined ? DONE : { kind: 'done', value: done }
}
