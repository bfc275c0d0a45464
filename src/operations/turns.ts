/**
 * Responses that read, redact or serialize stored data block the event loop, so they take turns: one at a time, each in an
 * iteration of its own, and together for at most half of the time. Between two turns timers, sockets and health checks are served.
 */
import type { Runtime } from '../index.ts'

/** How long the items of one page are processed before the next turn. */
const TURN_MS = 50
/** A turn shorter than this needs no rest. */
const SHORT_MS = 10

export class Turns {
  readonly #runtime: Pick<Runtime, 'defer' | 'mono' | 'timer'>
  readonly #waiting: (() => void)[] = []
  #isRunning = false

  constructor(runtime: Pick<Runtime, 'defer' | 'mono' | 'timer'>) {
    this.#runtime = runtime
  }

  /** Resolves when it is this response's turn. The turn lasts until the event loop is free again. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isRunning) return
      this.#isRunning = true
      this.#runtime.defer(() => this.#run())
    })
  }

  /** Maps the items of a page, in as many turns as that takes. */
  async map<T, Result>(items: readonly T[], map: (item: T) => Result): Promise<Result[]> {
    const results: Result[] = []
    let from = -Infinity
    for (const item of items) {
      if (this.#runtime.mono() - from >= TURN_MS) {
        await this.next()
        from = this.#runtime.mono()
      }
      results.push(map(item))
    }
    return results
  }

  #run(): void {
    const next = this.#waiting.shift()
    this.#isRunning = next !== undefined
    if (!next) return
    const runtime = this.#runtime
    const from = runtime.mono()
    next()
    runtime.defer(() => {
      const tookMs = runtime.mono() - from
      if (tookMs < SHORT_MS) this.#run()
      else runtime.timer(tookMs, () => this.#run())
    })
  }
}
