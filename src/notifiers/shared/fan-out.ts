import { type Hint, type HintListener, mergeHints, type Subscription } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'

/** Brings hints to the subscribers of this process: never inside the call that told them, and merged. */
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

  /** Brings hints that came from outside, where nobody is in the middle of a call, at once. */
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
    // Whoever subscribes while others are called hears of these hints by its own sync.
    const keys = Array.from(this.#listeners.keys())
    for (const key of keys) this.#call(key, hints)
  }

  #call(key: symbol, hints: readonly Hint[]): void {
    try {
      // One that was called before may have ended it.
      this.#listeners.get(key)?.(hints)
    } catch {
      // A listener that throws must not keep the others from their hints, and a hint may be lost.
    }
  }
}
