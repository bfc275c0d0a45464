import type { LimitFields } from '../core/lanes/limit-fields.ts'

export type { LimitFields }

/**
 * Limits. They are stored, so that they apply to all workers on all machines and can be changed at run time.
 * A queue is *limited* once a limit was set for it, one of its jobs has a lane, or a handler delayed it; only
 * then does a claim consider lanes at all.
 */
export interface LimitStore {
  /**
   * Sets limits. Declarations in code and changes by hand are stored separately; per field the change takes
   * precedence until it is removed. After it has returned, every claim obeys it; running jobs already count.
   * Redis: HSET limits, then count the queue's leases by lane.
   */
  setLimits(call: SetLimitsCall): Promise<{ readonly limits: readonly LimitRecord[] }>

  /** The limits of a space, or of one queue with its lanes. Redis: HGETALL limits. */
  limits(call: { readonly space: string; readonly queue?: string }): Promise<{
    readonly limits: readonly LimitRecord[]
  }>

  /**
   * The state of the lanes of a limited queue: the named ones, or those with work in the order of their keys.
   * Unknown lanes are left out. Redis: HGETALL each.
   */
  lanes(call: LanesCall): Promise<LanesReply>
}

/** A queue, one of its lanes, or a limit that several queues share. */
export type LimitTarget = { readonly queue: string; readonly lane?: string } | { readonly shared: string }

export interface SetLimitsCall {
  readonly space: string
  readonly limits: readonly {
    readonly target: LimitTarget
    /** `code` replaces what was declared; `hand` is merged into earlier changes. */
    readonly by: 'code' | 'hand'
    /** Null removes everything set by this source. */
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
  /** Only these; otherwise those with work. */
  readonly lanes?: readonly string[]
  readonly limit: number
  /** The last lane of the previous page. */
  readonly after?: string
  readonly now?: number
}

export interface LanesReply {
  readonly lanes: readonly LaneView[]
  /** The state of the queue as a whole; null if it is not limited. */
  readonly queue: { readonly running: number; readonly startsAt: number } | null
  /** The same for its shared limit, if any. */
  readonly shared: { readonly running: number; readonly startsAt: number } | null
  readonly now: number
}

export interface LaneView {
  readonly lane: string
  readonly running: number
  /** When its rate, or its handler, lets the next job start; a time in the past means now. */
  readonly startsAt: number
  /** Of a strict lane: the job at its head until it has ended for good. */
  readonly occupant: string | null
}
