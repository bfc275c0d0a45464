import { SkepError } from '../core/errors.ts'
import type { Store, StoreInTransaction } from '../store.ts'

/** The store's operations inside the user's transaction, or a clear refusal. */
export function transactionOf(store: Store, tx: unknown): StoreInTransaction {
  if (!store.capabilities.transactions || !store.within) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'This store has no transactions to take part in. Use the SQLite or Postgres store for `tx`.',
    )
  }
  if (tx === undefined || tx === null) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'tx is missing: pass the transaction (client, handle or ORM) you began.',
    )
  }
  return store.within(tx)
}
