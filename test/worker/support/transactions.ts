import { SkepError } from '../../../src/core/errors.ts'
import type { InsertResult, SettleResult, Store, StoreInTransaction } from '../../../src/store/store.ts'

/** A transaction of somebody's own: what is done in it takes effect at its commit, and only then. */
export class FakeTransaction {
  state: 'open' | 'committed' | 'rolled back' = 'open'
  readonly #effects: (() => Promise<void>)[] = []

  add(effect: () => Promise<void>): void {
    if (this.state !== 'open') throw new SkepError('TX_UNSUPPORTED', `The transaction is ${this.state}.`)
    this.#effects.push(effect)
  }

  async commit(): Promise<void> {
    this.state = 'committed'
    for (const effect of this.#effects) await effect()
  }

  rollBack(): void {
    this.state = 'rolled back'
  }
}

/** A store that takes part in such transactions. */
export function withTransactions(store: Store): Store {
  function within(tx: unknown): StoreInTransaction {
    if (!(tx instanceof FakeTransaction)) throw new SkepError('TX_UNSUPPORTED', 'That is no transaction.')
    return {
      async insert(call) {
        tx.add(async () => void (await store.insert(call)))
        return { results: call.jobs.map((): InsertResult => ({ status: 'ok', state: 'ready', dueAt: 0 })) }
      },
      async settle(call) {
        const results: SettleResult[] = []
        for (const { id, token, verdict } of call.settlements) {
          const held = await holds(store, id, token)
          results.push(held ? { status: 'ok', state: verdict.to } : { status: 'refused', reason: 'lost' })
        }
        tx.add(async () => void (await store.settle(call)))
        return { results, claimed: null }
      },
      async addMembers(call) {
        tx.add(async () => void (await store.addMembers(call)))
        return { status: 'ok', size: call.jobs.length, enqueued: [] }
      },
    }
  }
  return { ...store, capabilities: { ...store.capabilities, transactions: true }, within }
}

async function holds(store: Store, id: string, token: string): Promise<boolean> {
  const { jobs } = await store.get({ space: 'default', ids: [id] })
  return jobs[0]?.state === 'running' && jobs[0].token === token
}
