import { messageOf } from '../core/errors.ts'
import type { Logger } from './logger.ts'

/**
 * Typed events with isolated listeners: one that throws, or returns a promise that rejects, is reported to
 * the logger and has no other effect. Listeners are called after the fact, in order.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => unknown>>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Calls `listener` for every such event. Returns a function that unsubscribes. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, set)
    set.add(listener as (event: never) => unknown)
    return () => void set.delete(listener as (event: never) => unknown)
  }

  /** Whether there is a listener; without one the event need not be created. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const answer = listener(event as never)
        if (answer instanceof Promise) answer.catch((error: unknown) => this.#report(name, error))
      } catch (error) {
        this.#report(name, error)
      }
    }
  }

  #report(name: keyof Events, error: unknown): void {
    this.#logger.error(`A listener of "${String(name)}" failed; the job is not affected: ${messageOf(error)}`)
  }
}
