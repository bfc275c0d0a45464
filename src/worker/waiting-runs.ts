import { Fifo } from './fifo.ts'
import type { Run } from './run.ts'

/** A lane with runs that wait: where they all are, and how many. */
interface Lane {
  readonly runs: Fifo<Run>
  count: number
}

/**
 * Claimed runs that wait for a slot, in the order in which the store gave them. But a lane of which nothing waits here may
 * pass those of which something does: of a busy lane much was claimed ahead, and a single job of another would wait for
 * all of it. It passes every other one, so nobody is kept waiting. Within a lane the order stays.
 */
export class WaitingRuns {
  readonly #inOrder = new Fifo<Run>()
  readonly #passing = new Fifo<Run>()
  readonly #lanes = new Map<string | null, Lane>()
  /** Whether something waited when the claim came whose runs are being added. */
  #isBehind = false
  #isPassed = false

  get size(): number {
    return this.#inOrder.size + this.#passing.size
  }

  /** Whether some may pass others. */
  get hasPassing(): boolean {
    return this.#passing.size > 0
  }

  /** The runs that follow are of one claim, which has put their lanes in order. */
  beginClaim(): void {
    this.#isBehind = this.size > 0
  }

  push(run: Run): void {
    const lane = this.#lanes.get(run.job.lane)
    const runs = lane?.runs ?? (this.#isBehind ? this.#passing : this.#inOrder)
    if (lane) lane.count++
    else this.#lanes.set(run.job.lane, { runs, count: 1 })
    runs.push(run)
  }

  shift(): Run | undefined {
    this.#isPassed = !this.#isPassed && this.#passing.size > 0
    const first = this.#isPassed ? this.#passing : this.#inOrder
    const run = first.shift() ?? this.#passing.shift()
    if (run) this.#left(run)
    return run
  }

  remove(run: Run): boolean {
    return this.take((other) => other === run).length > 0
  }

  /** Takes out all for which this is true. */
  take(isTaken: (run: Run) => boolean): Run[] {
    const taken = [...this.#passing.take(isTaken), ...this.#inOrder.take(isTaken)]
    for (const run of taken) this.#left(run)
    return taken
  }

  #left(run: Run): void {
    const lane = this.#lanes.get(run.job.lane) as Lane
    lane.count--
    if (lane.count === 0) this.#lanes.delete(run.job.lane)
  }
}
