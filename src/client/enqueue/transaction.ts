import { SkepError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { type Hint, type Notifier, namingHints, workHint } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { InsertResult, Store, StoreInTransaction } from '../../store/store.ts'
import { toldJobs } from './batcher.ts'

/** The store's operations inside the user's transaction, or a clear refusal. */
export function transactionOf(store: Store, tx: unknown): StoreInTransaction {
  if (!store.capabilities.transactions || !store.within) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'This store has no transactions to take part in. Use the SQLite or Postgres store for `tx`.',
    )
  }
  if (tx === undefined || tx === null) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'tx is missing: pass the transaction (client, handle or ORM) you began.',
    )
  }
  return store.within(tx)
}

/** When hints are sent for jobs in a transaction: when it commits is not ours to know, so it is several times. */
const HINTS_MS = [1, 10, 50, 250, 1_000]
/** Of a job with a notice nobody looks for long: a transaction that takes its time is told of once more. */
const NOTICES_MS = [...HINTS_MS, 5_000, 20_000]

/** Tells of jobs that were enqueued in a transaction of the user's. */
export class LaterHints {
  readonly #notifier: Notifier
  readonly #runtime: Runtime
  /** Hints that are still to be sent. */
  readonly #pending = new Set<() => void>()

  constructor(notifier: Notifier, runtime: Runtime) {
    this.#notifier = notifier
    this.#runtime = runtime
  }

  /** Tells of the jobs of one insert, which are all of one queue. */
  tellOf(jobs: readonly NewJob[], results: readonly InsertResult[]): void {
    const [first] = jobs
    if (first === undefined) return
    if (this.#notifier.notices !== undefined) {
      this.tell(namingHints(toldJobs(jobs, results)))
      return
    }
    const due = results.reduce(
      (earliest, result) => (result.status === 'ok' ? Math.min(earliest, result.dueAt) : earliest),
      Infinity,
    )
    const dueAt = Number.isFinite(due) ? due : this.#runtime.now()
    // No job of them ranks before this.
    const priority = jobs.reduce((highest, job) => Math.max(highest, job.priority), first.priority)
    this.#send([workHint({ ...first, dueAt, priority })])
  }

  /** Tells of whatever an insert made: jobs of several queues, and what groups that were over at once have enqueued. */
  tell(hints: readonly Hint[]): void {
    if (hints.length > 0) this.#send(hints)
  }

  /** Sends at once what is still to be sent. */
  flush(): void {
    for (const send of this.#pending) send()
  }

  #send(hints: readonly Hint[]): void {
    const isNaming = this.#notifier.notices !== undefined
    for (const ms of isNaming ? NOTICES_MS : HINTS_MS) {
      const send = (): void => {
        this.#pending.delete(send)
        stop()
        this.#notifier.publish(hints)
      }
      const stop = this.#runtime.timer(ms, send, { background: true })
      this.#pending.add(send)
    }
  }
}
