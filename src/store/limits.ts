import type { LimitFields } from '../core/lanes/limit-fields.ts'

export type { LimitFields }

/**
 * Limits. They are kept in the store, so that they hold for all workers on all machines and can be changed at run time.
 * A queue is *limited* when something was ever said about it here, one of its jobs has a lane, or a handler made it
 * wait; only then does a claim look at lanes at all.
 */
export interface LimitStore {
  /**
   * Says what limits are. What code declares and what is changed by hand are kept apart, and of each field the change
   * counts until it is taken back. When it has answered, every claim keeps to it; jobs that run already count.
   * Redis: HSET limits, then count the queue's leases by lane.
   */
  setLimits(call: SetLimitsCall): Promise<{ readonly limits: readonly LimitRecord[] }>

  /** The limits of a space, or of one queue of it with its lanes. Redis: HGETALL limits. */
  limits(call: { readonly space: string; readonly queue?: string }): Promise<{
    readonly limits: readonly LimitRecord[]
  }>

  /**
   * What the lanes of a limited queue are doing: the named ones, or those with work in the order of their keys. A lane
   * that is not known has nothing to tell and is left out. Redis: HGETALL each.
   */
  lanes(call: LanesCall): Promise<LanesReply>
}

/** A queue, one of its lanes, or a limit that several queues share. */
export type LimitTarget = { readonly queue: string; readonly lane?: string } | { readonly shared: string }

export interface SetLimitsCall {
  readonly space: string
  readonly limits: readonly {
    readonly target: LimitTarget
    /** `code` replaces what was declared; `hand` adds to what was changed. */
    readonly by: 'code' | 'hand'
    /** Null takes back all that was said in this way. */
    readonly fields: LimitFields | null
  }[]
  readonly now?: number
}

export interface LimitRecord {
  readonly target: LimitTarget
  readonly declared: LimitFields | null
  readonly changed: LimitFields | null
}

export interface LanesCall {
  readonly space: string
  readonly queue: string
  /** These; otherwise those that have work. */
  readonly lanes?: readonly string[]
  readonly limit: number
  /** The last lane of the page before. */
  readonly after?: string
  readonly now?: number
}

export interface LanesReply {
  readonly lanes: readonly LaneView[]
  /** What the queue as a whole is doing; null when it is not limited. */
  readonly queue: { readonly running: number; readonly startsAt: number } | null
  /** The same for the limit it shares, if it does. */
  readonly shared: { readonly running: number; readonly startsAt: number } | null
  readonly now: number
}

export interface LaneView {
  readonly lane: string
  readonly running: number
  /** From when on its rate, or what its handler said, lets the next job start; a moment in the past means now. */
  readonly startsAt: number
  /** Of a strict lane: the job that is at its head until it ends for good. */
  readonly occupant: string | null
}
