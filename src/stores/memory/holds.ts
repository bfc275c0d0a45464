import { type Hold, holdKey, holdsQueue, latestEnd, stands } from '../../core/lanes/holds.ts'
import type { HoldCall, ReleaseCall } from '../../store/holds.ts'

/** The holds, a short list in insertion order. */
export class Holds {
  readonly #holds = new Map<string, Hold>()

  put(hold: HoldCall['holds'][number], now: number): Hold {
    const { kind, space, queue, lane, reason, by, forMs } = hold
    const known = this.#holds.get(holdKey(hold))
    const since = known && stands(known, now) ? known.since : now
    const until = forMs === null ? null : now + forMs
    const put: Hold = { kind, space, queue, lane, reason, by, since, until }
    this.#holds.set(holdKey(hold), put)
    return put
  }

  release(hold: ReleaseCall['holds'][number], now: number): boolean {
    const known = this.#holds.get(holdKey(hold))
    this.#holds.delete(holdKey(hold))
    return known !== undefined && stands(known, now)
  }

  /** The active holds that concern a space, or all. */
  standing(space: string | undefined, now: number): Hold[] {
    return [...this.#holds.values()].filter(
      (hold) => stands(hold, now) && (space === undefined || hold.space === null || hold.space === space),
    )
  }

  /** When the holds on a whole queue end; 0: not held. */
  endOf(space: string, queue: string, now: number): number {
    return latestEnd(this.standing(space, now).filter((hold) => holdsQueue(hold, space, queue)))
  }

  /** When the holds on one lane end; 0: not held. */
  laneEnd(space: string, queue: string, lane: string, now: number): number {
    const own = this.standing(space, now).filter((hold) => hold.queue === queue && hold.lane === lane)
    return latestEnd(own)
  }

  prune(now: number): void {
    for (const [key, hold] of this.#holds) if (!stands(hold, now)) this.#holds.delete(key)
  }
}
