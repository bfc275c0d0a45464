import type { Hold, HoldKind, HoldTarget } from '../core/lanes/holds.ts'

/**
 * Holds. Putting and releasing one costs the same however many jobs it keeps back: no job is touched, the claim asks.
 * When `hold` has answered, no claim takes a job of its target until it is released or ends, and a claim that was under
 * way when it was called has either finished before the answer or sees it.
 *
 * A hold says nothing of jobs that were claimed before it: those are leased, and a store settles and extends them as ever. The claimer
 * hands back what it prefetched and has not started, by a settlement. So a job that is handed back under a hold stays ready, in its
 * place, and is not claimed until the hold is released; then it is at once, also if it became due in the meantime.
 */
export interface HoldStore {
  /**
   * Puts holds. One of the same kind on the same target is replaced and keeps its `since`, so it can be repeated. A hold on
   * a lane names its queue exactly. Redis: HSET holds; the claim reads them.
   */
  hold(call: HoldCall): Promise<{ readonly holds: readonly Hold[] }>

  /** Takes holds away. What starts again is found by the next claim. Redis: HDEL holds. */
  release(call: ReleaseCall): Promise<{ readonly released: readonly boolean[] }>

  /** The holds that stand and concern a space: its own and those on every space; all of them without one. */
  holds(call: {
    readonly space?: string
    readonly now?: number
  }): Promise<{ readonly holds: readonly Hold[] }>
}

export interface HoldCall {
  readonly holds: readonly (HoldTarget & {
    readonly kind: HoldKind
    readonly reason: string | null
    readonly by: string | null
    /** For how long from now; null: until it is released. */
    readonly forMs: number | null
  })[]
  readonly now?: number
}

export interface ReleaseCall {
  readonly holds: readonly (HoldTarget & { readonly kind: HoldKind })[]
  readonly now?: number
}
