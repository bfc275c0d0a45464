/**
 * The calls that create jobs, groups and runs. `close()` waits for those made before it, also while the store is being opened; those
 * made after it are refused.
 */
export class CallsUnderWay {
  #refusal: { readonly error: unknown } | null = null
  #isOver = false
  #count = 0
  #idle: (() => void)[] = []
  /** Rejects what is awaited before anything is written. */
  readonly #abandon = new Set<(error: unknown) => void>()

  /** Counts a call until {@link end}. Throws if calls are refused. */
  begin(): void {
    if (this.#refusal) throw this.#refusal.error
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async run<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    this.begin()
    try {
      return await call()
    } finally {
      this.end()
    }
  }

  /**
   * The same, but rejects as soon as the client does not wait any longer. Only for what comes before a write: of a write that was
   * sent it is not known whether it has happened.
   */
  unlessClosed<Reply>(work: Promise<Reply>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) reject(this.#refusal?.error)
      else this.#abandon.add(reject)
      const done = (): boolean => this.#abandon.delete(reject)
      work.finally(done).then(resolve, reject)
    })
  }

  /** Refuses calls from now on. */
  refuse(error: unknown): void {
    this.#refusal = { error }
  }

  /** Resolves when no call is under way. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Rejects the calls that have not written anything yet. */
  abandon(error: unknown): void {
    this.#refusal = { error }
    this.#isOver = true
    for (const reject of this.#abandon) reject(error)
    this.#abandon.clear()
  }
}
