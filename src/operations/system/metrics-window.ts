import type { Runtime, Skep } from '../../index.ts'
import type { QueueSummary } from '../schema/outputs.ts'

/** The minimum interval between samples, and the number of samples kept. */
const APART_MS = 15_000
const KEPT = 8
/** The age of a sample that is compared: at least and at most. */
const LEAST_MS = 30_000
const MOST_MS = 600_000

interface Look {
  readonly at: number
  readonly waited: ReadonlyMap<string, number>
}

/** Keeps how long jobs waited some time ago, to detect growth. */
export class Lookback {
  readonly #runtime: Runtime
  readonly #looks = new WeakMap<Skep, Look[]>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** How long the oldest job of each queue waited some time ago. Records the present values for later. */
  waited(skep: Skep, queues: readonly QueueSummary[]): ReadonlyMap<string, number> {
    const now = this.#runtime.mono()
    const looks = (this.#looks.get(skep) ?? []).filter(({ at }) => now - at <= MOST_MS)
    const earlier = looks.findLast(({ at }) => now - at >= LEAST_MS)
    const last = looks.at(-1)
    if (last === undefined || now - last.at >= APART_MS) {
      const waited = new Map(
        queues.flatMap(({ queue, oldestMs }) => (oldestMs === null ? [] : [[queue, oldestMs]])),
      )
      looks.push({ at: now, waited })
    }
    this.#looks.set(skep, looks.slice(-KEPT))
    return earlier?.waited ?? new Map()
  }
}
