/** `skep/postgres`: jobs in a PostgreSQL database, for many processes on many machines. */
import { assertIdentifier } from './core/names.ts'
import { createPostgresNotifier } from './notifiers/postgres/notifier.ts'
import { systemRuntime } from './runtime.ts'
import type { Store } from './store.ts'
import { grantText, migrationText } from './stores/postgres/migrate.ts'
import type { PostgresStoreOptions } from './stores/postgres/options.ts'
import { createPostgresStore } from './stores/postgres/store.ts'

export type { UnsafeOptions } from './stores/postgres/durability.ts'
export type { PostgresConnection, PostgresStoreOptions } from './stores/postgres/options.ts'

/** Jobs in a PostgreSQL database (13 or newer). */
export function postgresStore(options: PostgresStoreOptions): Store {
  const runtime = options.runtime ?? systemRuntime()
  return createPostgresStore({ ...options, runtime }, (channel) => createPostgresNotifier(channel, runtime))
}

/** The SQL of all migrations, to read it, review it or run it by hand. */
export function migrationSql({ schema = 'skep' }: { readonly schema?: string } = {}): string {
  assertIdentifier('schema', schema)
  return migrationText(schema)
}

/** The SQL that lets a role use the queue, without the right to change its tables. */
export function grantSql({
  schema = 'skep',
  role,
}: {
  readonly schema?: string
  readonly role: string
}): string {
  assertIdentifier('schema', schema)
  return grantText(schema, role)
}
