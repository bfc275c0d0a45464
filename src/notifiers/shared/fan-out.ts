import { type Hint, type HintListener, mergeHints, type Subscription } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'

/** Delivers hints to the subscribers of this process: merged, never inside the call that published them. */
export class Bus {
  readonly #runtime: Runtime
  readonly #listeners = new Map<symbol, HintListener>()
  #pending: Hint[] = []

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  tell(hints: readonly Hint[]): void {
    if (hints.length === 0 || !this.isHeard) return
    if (this.#pending.length === 0) this.#runtime.defer(() => this.#deliver())
    for (const hint of hints) this.#pending.push(hint)
  }

  /** Delivers hints from outside at once: no caller is in the middle of a call. */
  hear(hints: readonly Hint[]): void {
    if (hints.length === 0 || !this.isHeard) return
    for (const hint of hints) this.#pending.push(hint)
    this.#deliver()
  }

  /** Adds a listener. `connect` runs before its first call, a `sync`. */
  add(listener: HintListener, connect: () => void): Subscription {
    const key = Symbol('subscription')
    this.#listeners.set(key, listener)
    this.#runtime.defer(() => {
      if (!this.#listeners.has(key)) return
      connect()
      this.#call(key, [{ kind: 'sync' }])
    })
    return { end: () => void this.#listeners.delete(key) }
  }

  close(): void {
    this.#listeners.clear()
    this.#pending = []
  }

  #deliver(): void {
    const hints = mergeHints(this.#pending)
    this.#pending = []
    if (hints.length === 0) return
    // A listener added during delivery gets these hints through its own sync.
    const keys = Array.from(this.#listeners.keys())
    for (const key of keys) this.#call(key, hints)
  }

  #call(key: symbol, hints: readonly Hint[]): void {
    try {
      // A listener called earlier may have removed it.
      this.#listeners.get(key)?.(hints)
    } catch {
      // A listener that throws must not affect the others, and a hint may be lost.
    }
  }
}
