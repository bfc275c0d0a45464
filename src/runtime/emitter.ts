import { messageOf } from '../core/errors.ts'
import type { Logger } from './logger.ts'

/**
 * Typed events whose listeners can harm nobody: one that throws, or returns a promise that rejects, is
 * reported to the logger and has no other effect. Listeners are called after the fact, in order.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => unknown>>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Calls `listener` for every such event from now on. Returns a function that ends it. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, set)
    set.add(listener as (event: never) => unknown)
    return () => void set.delete(listener as (event: never) => unknown)
  }

  /** True when somebody listens, so that an event nobody wants need not be made. */
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
