import { type Runtime, type Skep, sleepFor } from '../../index.ts'

/** The store is asked at most so often, whoever asks: nobody has to say who he is for this. */
const FRESH_MS = 1_000
/** A store that takes longer is not ready. */
const PATIENCE_MS = 2_000

/** Whether the process answers, and whether it can work. */
export class Health {
  readonly #skep: Skep
  readonly #runtime: Runtime
  readonly #closing: AbortSignal
  #checkedAt = -Infinity
  #isReady: Promise<boolean> = Promise.resolve(false)

  constructor(skep: Skep, runtime: Runtime, closing: AbortSignal) {
    this.#skep = skep
    this.#runtime = runtime
    this.#closing = closing
  }

  /** It answers, so it lives. */
  alive(): Response {
    return Response.json({ status: 'ok' }, { headers: { 'cache-control': 'no-store' } })
  }

  /** 200 while the store answers and the server is not closing, else 503. Why not is not told to strangers: the log says it. */
  async ready(): Promise<Response> {
    const isReady = !this.#closing.aborted && (await this.isReady())
    return Response.json(
      { status: isReady ? 'ok' : 'unavailable' },
      { status: isReady ? 200 : 503, headers: { 'cache-control': 'no-store' } },
    )
  }

  isReady(): Promise<boolean> {
    const now = this.#runtime.mono()
    if (now - this.#checkedAt >= FRESH_MS) {
      this.#checkedAt = now
      this.#isReady = this.#ask()
    }
    return this.#isReady
  }

  async #ask(): Promise<boolean> {
    const done = new AbortController()
    // The smallest thing that every store has to be asked for.
    const answers = this.#skep.records
      .getRecords({ scope: this.#skep.space, kind: 'health', ids: ['none'] })
      .then(
        () => true,
        () => false,
      )
    const tooLate = sleepFor(this.#runtime, PATIENCE_MS, done.signal, { background: true }).then(() => false)
    const isReady = await Promise.race([answers, tooLate])
    done.abort()
    return isReady
  }
}
