import type { Hint, HintListener, Notifier } from '../../../src/notifier/notifier.ts'
import { localNotifier } from '../../../src/notifiers/local/notifier.ts'
import type { Runtime } from '../../../src/runtime/runtime.ts'

/** A bus inside the process whose hints can be lost, and that can fail in ways a notifier must not. */
export class TestNotifier implements Notifier {
  /** All hints that anyone published. */
  readonly published: Hint[] = []
  /** Swallows every hint and still says that it is up. */
  blackHole = false
  /** Throws at every call. */
  broken = false
  /** What it says of itself. */
  status: 'up' | 'down' = 'up'
  subscribers = 0
  closed = 0
  readonly #bus: Notifier
  readonly #listeners = new Set<HintListener>()

  constructor(runtime: Runtime) {
    this.#bus = localNotifier({ runtime })
  }

  publish(hints: readonly Hint[]): void {
    this.#check()
    this.published.push(...hints)
    if (!this.blackHole) this.#bus.publish(hints)
  }

  subscribe(listener: HintListener): { end(): void } {
    this.#check()
    this.subscribers++
    this.#listeners.add(listener)
    const subscription = this.#bus.subscribe(listener)
    return {
      end: () => {
        if (this.#listeners.delete(listener)) this.subscribers--
        subscription.end()
      },
    }
  }

  health(): { status: 'up' | 'down'; detail: string } {
    this.#check()
    return { status: this.status, detail: 'a test' }
  }

  async close(): Promise<void> {
    this.closed++
    this.#check()
    await this.#bus.close()
  }

  /** Tells all subscribers, whatever else is wrong. */
  tell(...hints: Hint[]): void {
    for (const listener of this.#listeners) listener(hints)
  }

  #check(): void {
    if (this.broken) throw new Error('The notifier is broken.')
  }
}
