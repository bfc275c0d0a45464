import type { Run } from './run.ts'

/** Runs that one map takes before the next one takes over. Each more of them is one more place to look. */
const MOST_IN_A_MAP = 4_000
const MOST_MAPS = 8

/**
 * The runs that a worker holds, by the ids of their jobs.
 *
 * One Map would do. But a Map that is added to and deleted from without end leaves its old tables behind, and in V8 each
 * of them refers to the next and to what it held. As soon as one has grown old, everything after it lives until
 * the next full collection: two thirds of what a drain kept in memory. So a map takes only so many runs, and is dropped
 * when they have gone.
 */
export class HeldRuns {
  /** The last one is added to. */
  #maps: Map<string, Run>[] = [new Map()]
  #added = 0

  get(id: string): Run | undefined {
    for (const map of this.#maps) {
      const run = map.get(id)
      if (run) return run
    }
    return undefined
  }

  /** Holds a run, in the place of another one of the same job, which it returns. */
  add(run: Run): Run | undefined {
    const before = this.get(run.job.id)
    if (before) this.remove(before)
    if (this.#added === MOST_IN_A_MAP) this.#addMap()
    this.#put(run, this.#maps.at(-1) as Map<string, Run>)
    this.#added++
    return before
  }

  /** Holds it no longer. Another run of the same job stays. */
  remove(run: Run): void {
    const map = run.heldIn
    if (!map) return
    run.heldIn = null
    map.delete(run.job.id)
    // A new array, because somebody may be going through the old one.
    if (map.size === 0 && map !== this.#maps.at(-1)) this.#maps = this.#maps.filter((held) => held !== map)
  }

  get isEmpty(): boolean {
    return this.#maps.every(({ size }) => size === 0)
  }

  /** All of them. Whoever goes through them may remove them on the way. */
  *values(): IterableIterator<Run> {
    for (const map of this.#maps) yield* map.values()
  }

  #put(run: Run, map: Map<string, Run>): void {
    map.set(run.job.id, run)
    run.heldIn = map
  }

  #addMap(): void {
    // Runs that take long are few, and each might keep a map of its own.
    if (this.#maps.length === MOST_MAPS) {
      const all = new Map<string, Run>()
      for (const run of this.values()) this.#put(run, all)
      this.#maps = [all]
    }
    this.#maps.push(new Map())
    this.#added = 0
  }
}
