/**
 * Whether a server is open to its own machine: only as long as there is no token. A token may be made by another process at any time,
 * so the store is asked again every few seconds. Once there was one the server stays closed: revoking the last token must give
 * nobody more than they had.
 */
import type { Runtime } from '../../index.ts'

/** How old an answer may be. */
const FRESH_MS = 2_000
/** How old it may be while the store cannot be asked. */
const STALE_MS = 60_000

export class OpenDoor {
  readonly #runtime: Runtime
  readonly #isConfigured: () => Promise<boolean>
  #isClosed = false
  /** When the store last said that there is none. */
  #openAt = -Infinity
  #asking: Promise<boolean> | null = null

  constructor(runtime: Runtime, isConfigured: () => Promise<boolean>) {
    this.#runtime = runtime
    this.#isConfigured = isConfigured
  }

  /** Rejects while it is not known. Then nobody gets in without a token. */
  async isOpen(): Promise<boolean> {
    if (this.#isClosed) return false
    if (this.#runtime.mono() - this.#openAt < FRESH_MS) return true
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  /** The first token has been made through this very server. Whoever made it gets a moment to log in with it. */
  linger(): void {
    if (this.#openAt !== -Infinity) this.#openAt = this.#runtime.mono()
  }

  async #ask(): Promise<boolean> {
    const from = this.#runtime.mono()
    try {
      if (await this.#isConfigured()) this.#isClosed = true
      else this.#openAt = from
    } catch (error) {
      if (this.#runtime.mono() - this.#openAt >= STALE_MS) throw error
    }
    return !this.#isClosed
  }
}
