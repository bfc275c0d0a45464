import type { Policy } from '../../core/policies/policy.ts'
import type { Duty } from '../../maintenance/background-task.ts'
import type { Store } from '../../store/store.ts'
import { getCard, policyOfCard } from '../queues/declarations.ts'

/** How often it asks again how queues are declared: their workers may have been deployed anew. */
const AGAIN_MS = 60_000
/** Queues of which it keeps in mind what it learned. */
const MOST_KNOWN = 10_000

/**
 * What each outcome leads to in queues whose code is elsewhere: what the caller says, else what the queue's own workers told the
 * store, else the default.
 */
export class RelayPolicies implements Duty {
  readonly name = 'policies'
  readonly #store: Store
  readonly #space: string
  readonly #given: (queue: string) => Policy | null
  readonly #served: () => Iterable<string>
  readonly #known = new Map<string, Policy>()

  constructor(options: {
    readonly store: Store
    readonly space: string
    readonly given: ((queue: string) => Policy | null) | undefined
    /** The queues that are served now. */
    readonly served: () => Iterable<string>
  }) {
    this.#store = options.store
    this.#space = options.space
    this.#given = options.given ?? (() => null)
    this.#served = options.served
  }

  /** Learns of a queue, before a job of it is judged. */
  async load(queue: string): Promise<void> {
    const policy = this.#given(queue) ?? policyOfCard(await getCard(this.#store, this.#space, queue))
    this.#known.delete(queue)
    this.#known.set(queue, policy)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest)
  }

  of(queue: string): Policy {
    return this.#known.get(queue) ?? policyOfCard(null)
  }

  async turn(): Promise<number> {
    for (const queue of new Set(this.#served())) await this.load(queue)
    return AGAIN_MS
  }

  concerns(): boolean {
    return false
  }
}
