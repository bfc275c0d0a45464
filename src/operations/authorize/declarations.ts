import type { QueueCard, Runtime, Skep } from '../../index.ts'

/** Cards change with deploys alone, so an answer counts for so long. */
const FRESH_MS = 5_000

/** How queues were declared, without asking the store each time. */
export class Cards {
  readonly #runtime: Runtime
  readonly #known = new WeakMap<
    Skep,
    { readonly at: number; readonly cards: Promise<Map<string, QueueCard>> }
  >()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** The card of a queue; null if no worker has told. */
  async of(skep: Skep, queue: string): Promise<QueueCard | null> {
    return (await this.all(skep)).get(queue) ?? null
  }

  all(skep: Skep): Promise<ReadonlyMap<string, QueueCard>> {
    const now = this.#runtime.mono()
    const known = this.#known.get(skep)
    if (known !== undefined && now - known.at < FRESH_MS) return known.cards
    const cards = skep.queues.declarations().then((all) => new Map(all.map((card) => [card.queue, card])))
    this.#known.set(skep, { at: now, cards })
    // What failed is asked for again.
    cards.catch(() => this.#known.delete(skep))
    return cards
  }
}
