import { SkepError } from '../../core/errors.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Durability } from '../../store/store.ts'

/** The settings of a server are looked at again so often, at most. */
const EVERY_MS = 60_000

/** Looks now and then whether the server is still as safe as it was, because anybody can change that while it runs. */
export class Watch {
  readonly #check: () => Promise<Durability>
  readonly #runtime: Runtime
  readonly #onUnsafe: (message: string) => void
  #lookedAt: number | null = null
  #said = ''

  constructor(
    check: () => Promise<Durability>,
    options: { readonly runtime: Runtime; readonly onUnsafe: (message: string) => void },
  ) {
    this.#check = check
    this.#runtime = options.runtime
    this.#onUnsafe = options.onUnsafe
  }

  /** Called often; looks seldom. A new connection may be one to another server, so then it looks at once. */
  look(isNewConnection = false): void {
    const now = this.#runtime.mono()
    this.#lookedAt ??= now
    if (!isNewConnection && now - this.#lookedAt < EVERY_MS) return
    this.#lookedAt = now
    this.#check().then(
      () => {
        this.#said = ''
      },
      (error: unknown) => {
        // Whatever else is wrong with the server, calls tell.
        if (!(error instanceof SkepError) || error.code !== 'STORE_UNSAFE' || error.message === this.#said)
          return
        this.#said = error.message
        this.#onUnsafe(error.message)
      },
    )
  }
}
