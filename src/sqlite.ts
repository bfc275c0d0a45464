import { localNotifier } from './notifiers/local/notifier.ts'
import type { Store } from './store/store.ts'
import type { SqliteStoreOptions } from './stores/sqlite/options.ts'
import { makeSqliteStore } from './stores/sqlite/store.ts'

export type { SqliteClient } from './stores/sqlite/connection/client.ts'
export { type TransactionOptions, withTransaction } from './stores/sqlite/connection/user-transaction.ts'
export type { SqliteStoreOptions } from './stores/sqlite/options.ts'

/** A store in one SQLite file, for the processes of one machine. Migrates itself when it is opened. */
export function sqliteStore(options: SqliteStoreOptions): Store {
  return makeSqliteStore(options, localNotifier)
}
