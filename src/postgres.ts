/** `skep/postgres`: jobs in a PostgreSQL database, for many processes on many machines. */
import { assertIdentifier } from './core/names.ts'
import { assertOptions, optionKeys } from './core/options.ts'
import type { Notifier } from './notifier/notifier.ts'
import type { Store } from './store/store.ts'
import { grantText, migrationText, type RoleAccess } from './stores/postgres/migrate.ts'
import { createPostgresNotifier, openChannel } from './stores/postgres/notify.ts'
import type { PostgresStoreOptions } from './stores/postgres/options.ts'
import { createPostgresStore } from './stores/postgres/store.ts'

export type { RunInTransaction } from './stores/postgres/connection/transaction.ts'
export type { UnsafeOptions } from './stores/postgres/durability.ts'
export type { PostgresConnection, PostgresStoreOptions } from './stores/postgres/options.ts'

/** Jobs in a PostgreSQL database (13 or newer). Its notifier uses LISTEN and NOTIFY. */
export function postgresStore(options: PostgresStoreOptions): Store {
  return createPostgresStore(options, (channel) => createPostgresNotifier(channel, channel.runtime))
}

export type PostgresNotifierOptions = Omit<PostgresStoreOptions, 'migrate' | 'unsafe'>

/**
 * Hints over LISTEN and NOTIFY alone, for jobs that are in another store. Processes with the same `schema` hear each
 * other; that schema need not exist. The Postgres store brings its own.
 */
export function postgresNotifier(options: PostgresNotifierOptions): Notifier {
  const channel = openChannel(options)
  const notifier = createPostgresNotifier(channel, channel.runtime)
  return {
    ...notifier,
    async close() {
      await notifier.close()
      await channel.close()
    },
  }
}

const MIGRATION_KEYS = optionKeys<{ schema?: string }>('migrationSql()', { schema: true })
const GRANT_KEYS = optionKeys<Parameters<typeof grantSql>[0]>('grantSql()', {
  schema: true,
  role: true,
  access: true,
})

/** The SQL of all migrations, to read it, review it or run it by hand. */
export function migrationSql(options: { readonly schema?: string } = {}): string {
  assertOptions(MIGRATION_KEYS, options)
  const { schema = 'skep' } = options
  assertIdentifier('schema', schema)
  return migrationText(schema)
}

/** The SQL that lets a role use the queue, or only look at it, without the right to change its tables. Run it after each migration. */
export function grantSql(options: {
  readonly schema?: string
  readonly role: string
  /** `use`: to enqueue, to work and to serve. `read`: to look, for a dashboard that is read-only and for reports. @default 'use' */
  readonly access?: RoleAccess
}): string {
  assertOptions(GRANT_KEYS, options ?? null)
  const { schema = 'skep', role, access = 'use' } = options
  assertIdentifier('schema', schema)
  return grantText(schema, role, access)
}
