import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'
import type { Run } from './run.ts'

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
