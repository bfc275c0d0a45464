import type { Runtime } from '../runtime/runtime.ts'
import type { Store } from '../store/store.ts'
import type { Run } from './runs.ts'

export interface LeaseKeeperOptions {
  readonly store: Store
  readonly runtime: Runtime
  readonly leaseMs: number
  /** All runs whose lease has to be kept. */
  readonly held: () => Iterable<Run>
  /** Somebody wants this run to stop. */
  readonly onCancel: (run: Run, reason: string) => void
  /** The lease is not ours any more (`refused`), or may not be because it could not be renewed in time. */
  readonly onLost: (run: Run, refused: boolean) => void
}

/** Renews the leases of a whole process in one call, and notices those that are lost. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
  }

  /** Renews every lease that has used up a third of its time. */
  async renewDue(): Promise<void> {
    const { runtime, leaseMs, held } = this.#options
    const soon = runtime.mono() + (leaseMs * 2) / 3
    const due = Array.from(held()).filter((run) => run.holds && run.leaseUntil <= soon)
    await this.renew(due)
  }

  /** Renews these leases, and so learns whether they still hold and whether somebody cancelled the jobs. */
  async renew(runs: readonly Run[]): Promise<void> {
    if (runs.length === 0) return
    const { store, runtime, leaseMs, onCancel, onLost } = this.#options
    // The lease counts from before the call was sent: the reply may take as long as it likes.
    const sentAt = runtime.mono()
    const leases = runs.map(({ job }) => ({ space: job.space, id: job.id, token: job.token }))
    const { results } = await store.extend({ leases, leaseMs })
    results.forEach((result, index) => {
      const run = runs[index] as Run
      if (result.status === 'refused') onLost(run, true)
      else if (result.status === 'ok') {
        run.leaseUntil = sentAt + leaseMs
        if (result.cancelReason !== null) onCancel(run, result.cancelReason)
      }
    })
  }

  /** Reports leases that could not be renewed and run out within the margin. Needs no store. */
  checkDeadlines(): void {
    for (const run of this.#options.held()) {
      if (run.holds && !this.isSafe(run)) this.#options.onLost(run, false)
    }
  }

  /** Whether the lease surely holds now and for a moment longer. */
  isSafe(run: Run): boolean {
    return run.holds && run.leaseUntil - this.marginMs > this.#options.runtime.mono()
  }

  /** How long before its end a lease counts as lost. Whoever checks must do so more often than this. */
  get marginMs(): number {
    return Math.min(1_000, this.#options.leaseMs / 10)
  }
}

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
