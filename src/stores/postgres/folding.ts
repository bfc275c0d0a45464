import type { Runtime } from '../../runtime.ts'
import type { Query } from './driver.ts'

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
