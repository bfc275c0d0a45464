import { byEnqueue, type Enqueued, stepsBefore } from '../../core/jobs/transitions.ts'

/** This many jobs are kept in memory, with their order alone: about 15 MB. */
const MOST = 100_000

/**
 * The jobs that a retry has found, in whatever order that was. They are retried when all have been found, in the order of their
 * enqueues. Of more jobs than fit the first are kept, and those after them are found in another walk.
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
  /** For each of the kept: how much before the last of them it has to be due, see {@link stepsBefore}. */
  #steps: number[] = []
  /** At most so many are left for later walks, and each may need a millisecond of its own. */
  #beyond = 0

  constructor(after: Enqueued | null = null, most: number = MOST) {
    this.#after = after
    this.#most = most
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0
  }

  /** A job that was added before changes nothing. */
  add({ id, enqueuedAt, arrival }: Enqueued): void {
    const job = arrival === undefined ? { id, enqueuedAt } : { id, enqueuedAt, arrival }
    if (this.#after !== null && byEnqueue(job, this.#after) <= 0) return
    if (this.#bound !== null && byEnqueue(job, this.#bound) > 0) {
      this.#beyond++
      return
    }
    this.#kept.push(job)
    this.#isSorted = false
    if (this.#kept.length >= 2 * this.#most) this.#cut()
  }

  /** The ids of the next few, when all have been added, and how much before the operation's begin the last of them is due. */
  first(count: number): { readonly ids: string[]; readonly earlierMs: number } {
    if (!this.#isSorted) this.#cut()
    if (this.#steps.length !== this.#kept.length) this.#steps = stepsBefore(this.#kept.map(({ id }) => id))
    const ids = this.#kept.slice(this.#done, this.#done + count).map(({ id }) => id)
    return { ids, earlierMs: (this.#steps[this.#done + ids.length - 1] ?? 0) + this.#beyond }
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
    this.#beyond += this.#kept.length - this.#most
    this.#kept.length = this.#most
    this.#bound = this.#kept.at(-1) ?? null
  }
}
