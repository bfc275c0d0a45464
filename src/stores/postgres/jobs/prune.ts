import type { Runtime } from '../../../runtime/runtime.ts'
import { FORGET_WORKER_MS, REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import type { Query } from '../connection/driver.ts'

/** Sends one prune, see `migrations/upkeep-functions.ts`. */
export async function prune(
  query: Query,
  schema: string,
  call: { readonly limit: number; readonly now?: number },
): Promise<{ pruned: number }> {
  const rows = await query(`select ${schema}.prune_jobs($1::bigint, $2::bigint, $3::bigint, $4::bigint)`, [
    String(call.limit),
    String(REMEMBER_DISCARDED_MS),
    String(FORGET_WORKER_MS),
    call.now === undefined ? null : String(call.now),
  ])
  return { pruned: Number(rows[0]?.[0]) }
}

const EVERY_MS = 1_000
const AFTER_DELTAS = 1_000

/** Folds deltas into tallies now and then, beside everything else: nobody waits for it and nothing fails with it. */
export class Folding {
  readonly #query: Query
  readonly #schema: string
  readonly #runtime: Pick<Runtime, 'mono'>
  #written = 0
  #lastAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(query: Query, schema: string, runtime: Pick<Runtime, 'mono'>) {
    this.#query = query
    this.#schema = schema
    this.#runtime = runtime
  }

  /** A call wrote deltas: one, or a few. */
  wrote(): void {
    if (++this.#written >= AFTER_DELTAS) this.#fold()
  }

  /** Somebody counted, so counting is of interest and should stay cheap. */
  counted(): void {
    this.#fold()
  }

  async stop(): Promise<void> {
    this.#lastAt = Number.POSITIVE_INFINITY
    await this.#running
  }

  #fold(): void {
    if (this.#running || this.#runtime.mono() - this.#lastAt < EVERY_MS) return
    this.#written = 0
    this.#lastAt = this.#runtime.mono()
    this.#running = this.#query(`select ${this.#schema}.fold_deltas() where $1::text is not null`, [''])
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        this.#running = undefined
      })
  }
}
