import { Fifo } from './fifo.ts'
import type { Run } from './run.ts'

type Lane = Fifo<Run>

/**
 * Claimed runs that wait for a slot. Lanes take turns here too, and within a lane the first to come is the first to go:
 * a single job does not wait behind all that was claimed of a busy lane before it.
 */
export class WaitingRuns {
  readonly #lanes = new Map<string | null, Lane>()
  /** Those with runs; the first is next. */
  #turns = new Fifo<Lane>()
  #size = 0

  get size(): number {
    return this.#size
  }

  push(run: Run): void {
    this.#size++
    const lane = this.#lanes.get(run.job.lane)
    if (lane) {
      lane.push(run)
      return
    }
    const added = new Fifo<Run>()
    added.push(run)
    this.#lanes.set(run.job.lane, added)
    this.#turns.push(added)
  }

  shift(): Run | undefined {
    const lane = this.#turns.first()
    const run = lane?.shift()
    if (lane === undefined || run === undefined) return undefined
    this.#size--
    // Mostly there is one lane, and it is next again.
    if (lane.size > 0 && this.#turns.size === 1) return run
    this.#turns.shift()
    if (lane.size > 0) this.#turns.push(lane)
    else this.#lanes.delete(run.job.lane)
    return run
  }

  remove(run: Run): boolean {
    return this.take((other) => other === run).length > 0
  }

  /** Takes out all for which this is true. */
  take(isTaken: (run: Run) => boolean): Run[] {
    const taken: Run[] = []
    for (const [key, lane] of this.#lanes) {
      taken.push(...lane.take(isTaken))
      if (lane.size === 0) this.#lanes.delete(key)
    }
    if (taken.length > 0) this.#turns.take((lane) => lane.size === 0)
    this.#size -= taken.length
    return taken
  }
}
