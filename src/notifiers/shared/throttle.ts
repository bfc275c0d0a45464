import { type Hint, mergeHints } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'

/** Throttles outgoing hints: the first is sent at once; those within `apartMs` are merged into the next. */
export class Outgoing {
  readonly #runtime: Runtime
  readonly #apartMs: number
  readonly #send: (hints: readonly Hint[]) => Promise<void>
  #pending: Hint[] = []
  #isPlanned = false
  #sending: Promise<void> | null = null
  #lastSent = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime, apartMs: number, send: (hints: readonly Hint[]) => Promise<void>) {
    this.#runtime = runtime
    this.#apartMs = apartMs
    this.#send = send
  }

  add(hints: readonly Hint[]): void {
    for (const hint of hints) this.#pending.push(hint)
    // Merged occasionally, so that they do not pile up while a server is unavailable.
    if (this.#pending.length > 1_000) this.#pending = mergeHints(this.#pending)
    this.#plan()
  }

  /**
   * Whether the caller may send hints now instead. Not while some are pending: the caller's call may fail.
   */
  takeTurn(): boolean {
    const now = this.#runtime.mono()
    if (this.#sending || this.#pending.length > 0 || this.#lastSent + this.#apartMs > now) return false
    this.#lastSent = now
    return true
  }

  /** Sends pending hints. Resolves when they are sent, or lost. */
  async flush(): Promise<void> {
    await this.#sending
    this.#sendNow()
    await this.#sending
  }

  #plan(): void {
    if (this.#isPlanned || this.#sending || this.#pending.length === 0) return
    this.#isPlanned = true
    const waitMs = this.#lastSent + this.#apartMs - this.#runtime.mono()
    const send = (): void => {
      this.#isPlanned = false
      this.#sendNow()
    }
    // Deferred even without a delay, so that all hints of one turn are sent together.
    if (waitMs <= 0) this.#runtime.defer(send)
    else this.#runtime.timer(waitMs, send, { background: true })
  }

  #sendNow(): void {
    if (this.#sending || this.#pending.length === 0) return
    const hints = mergeHints(this.#pending)
    this.#pending = []
    this.#lastSent = this.#runtime.mono()
    this.#sending = this.#send(hints)
      // A hint that cannot be sent is lost, as hints may be: polling finds the work.
      .catch(() => {})
      .finally(() => {
        this.#sending = null
        this.#plan()
      })
  }
}
