import { byEnqueue, type Enqueued } from '../../core/jobs/transitions.ts'

/** So many jobs are kept in memory, with their order alone: about 15 MB. */
const MOST = 100_000

/**
 * Jobs of strict order that a retry has met, in whatever order that was. They come back when all have been met, the one
 * that was enqueued first first. Of more jobs than fit the first are kept, and those after them are met in another walk.
 */
export class SetAside {
  readonly #most: number
  /** Only what comes after this is kept: the rest had its turn in an earlier walk. */
  readonly #after: Enqueued | null
  #kept: Enqueued[] = []
  /** No more than these are kept: what comes after this one has to wait for the next walk. */
  #bound: Enqueued | null = null
  #isSorted = true
  /** How many of the kept have had their turn. */
  #done = 0

  constructor(after: Enqueued | null = null, most: number = MOST) {
    this.#after = after
    this.#most = most
  }

  /** Whether this is the first walk: later ones are about strict jobs alone. */
  get isFirst(): boolean {
    return this.#after === null
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0
  }

  /** A job that was added before changes nothing. */
  add({ id, enqueuedAt, arrival }: Enqueued): void {
    const job = arrival === undefined ? { id, enqueuedAt } : { id, enqueuedAt, arrival }
    if (this.#after !== null && byEnqueue(job, this.#after) <= 0) return
    if (this.#bound !== null && byEnqueue(job, this.#bound) > 0) return
    this.#kept.push(job)
    this.#isSorted = false
    if (this.#kept.length >= 2 * this.#most) this.#cut()
  }

  /** The ids of the next few, when all have been added. */
  first(count: number): string[] {
    if (!this.#isSorted) this.#cut()
    return this.#kept.slice(this.#done, this.#done + count).map(({ id }) => id)
  }

  /** So many of these have had their turn. */
  drop(count: number): void {
    this.#done += count
  }

  /** Whether all that were kept have had their turn. */
  get isOver(): boolean {
    return this.#done >= this.#kept.length
  }

  /** For another walk, which is about the jobs that did not fit; null if none did not. */
  next(): SetAside | null {
    return this.#bound === null ? null : new SetAside(this.#bound, this.#most)
  }

  #cut(): void {
    this.#kept.sort(byEnqueue)
    this.#kept = this.#kept.filter(({ id }, n) => id !== this.#kept[n - 1]?.id)
    this.#isSorted = true
    if (this.#kept.length <= this.#most) return
    this.#kept.length = this.#most
    this.#bound = this.#kept.at(-1) ?? null
  }
}
