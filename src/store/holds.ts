import type { Hold, HoldKind, HoldTarget } from '../core/lanes/holds.ts'

/**
 * Holds. Setting and releasing one costs the same for any number of jobs: no job is touched, claims
 * check it. After `hold` has returned, no claim takes a job of its target until it is released or expires,
 * and a concurrent claim has either finished before or sees it.
 *
 * A hold does not affect jobs that were claimed before: they are leased, and are settled and extended as
 * usual. The worker hands back what it prefetched and has not started, by a settlement. A job that is handed
 * back under a hold stays ready, in its place, and is claimed as soon as the hold is released, also if it
 * became due in the meantime.
 */
export interface HoldStore {
  /**
   * Sets holds. One of the same kind on the same target is replaced and keeps its `since`, so it can be
   * repeated. A hold on a lane names its queue exactly. Redis: HSET holds; the claim reads them.
   */
  hold(call: HoldCall): Promise<{ readonly holds: readonly Hold[] }>

  /** Releases holds. The next claim finds the released jobs. Redis: HDEL holds. */
  release(call: ReleaseCall): Promise<{ readonly released: readonly boolean[] }>

  /** The active holds that concern a space: its own and those on every space; all of them without a space. */
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
    /** The duration from now; null: until it is released. */
    readonly forMs: number | null
  })[]
  readonly now?: number
}

export interface ReleaseCall {
  readonly holds: readonly (HoldTarget & { readonly kind: HoldKind })[]
  readonly now?: number
}
