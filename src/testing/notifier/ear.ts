import type { Hint, Notifier, Subscription } from '../../notifier/notifier.ts'
import { systemRuntime } from '../../runtime/runtime.ts'

const PATIENCE_MS = 10_000

/** A subscriber that remembers what it hears, and can be waited for. */
export class Ear {
  /** Every call of the listener, in order. */
  readonly calls: (readonly Hint[])[] = []
  readonly #subscription: Subscription
  readonly #waiting = new Set<() => void>()

  constructor(notifier: Notifier, onCall: (hints: readonly Hint[]) => void = () => {}) {
    this.#subscription = notifier.subscribe((hints) => {
      this.calls.push(hints)
      for (const check of this.#waiting) check()
      onCall(hints)
    })
  }

  get heard(): Hint[] {
    return this.calls.flat()
  }

  /** Waits until everything heard so far fulfils the condition. */
  until(condition: (heard: readonly Hint[]) => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = systemRuntime().timer(PATIENCE_MS, () => {
        this.#waiting.delete(check)
        const heard = JSON.stringify(this.heard).slice(0, 500)
        reject(new Error(`Waited ${PATIENCE_MS} ms for ${what}. Heard: ${heard}`))
      })
      const check = (): void => {
        if (!condition(this.heard)) return
        giveUp()
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** Waits until it has been told to look at everything once. */
  ready(): Promise<void> {
    return this.until((heard) => heard.some(({ kind }) => kind === 'sync'), 'the sync of a new subscription')
  }

  /** The hints of this queue. */
  about(queue: string): Hint[] {
    return this.heard.filter((hint) => 'queue' in hint && hint.queue === queue)
  }

  hears(queue: string): Promise<void> {
    return this.until(() => this.about(queue).length > 0, `a hint about "${queue}"`)
  }

  end(): void {
    this.#subscription.end()
  }
}

/** A hint of work in the queue. */
export function work(
  queue: string,
  difference: { dueAt?: number; rank?: number; space?: string } = {},
): Hint {
  return {
    kind: 'work',
    space: 'acme',
    queue,
    dueAt: 1_800_000_000_000,
    rank: 1_800_000_000_000,
    ...difference,
  }
}
