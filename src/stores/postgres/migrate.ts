import { SkepError } from '../../core/errors.ts'
import type { Caller } from './connection/caller.ts'
import { schemaMissing } from './errors.ts'
import { MIGRATIONS } from './sql/migrations.ts'

/** A migration may have to wait for others, and to build an index. */
const TIMEOUT_MS = 600_000

/** Runs the migrations that are missing, all or none, one process at a time. */
export async function migrate(caller: Caller, schema: string): Promise<{ applied: string[] }> {
  return caller.transaction(async (query) => {
    await query('set local statement_timeout = 0', [])
    // Before anything else: "create … if not exists" fails when two do it at the same moment.
    await query(`select pg_advisory_xact_lock(hashtextextended($1::text, 0))`, [`skep:migrate:${schema}`])
    // Whoever has nothing to change needs no right to change anything.
    const [there] = await query('select to_regclass($1::text)::text', [`${schema}.migrations`])
    if (there?.[0] == null) await query(preparation(schema), [])
    const known = (await query(`select id from ${schema}.migrations order by id`, [])).map((row) => row[0])
    assertNotNewer(schema, known as string[])
    const missing = MIGRATIONS.filter((migration) => !known.includes(migration.id))
    for (const { id, sql } of missing) {
      await query(sql(schema), [])
      await query(`insert into ${schema}.migrations (id) values ($1::text)`, [id])
    }
    return { applied: missing.map((migration) => migration.id) }
  }, TIMEOUT_MS)
}

function preparation(schema: string): string {
  return `create schema if not exists ${schema};
create table if not exists ${schema}.migrations (id text primary key, applied_at timestamptz not null default now());`
}

/** Throws unless the schema is exactly what this version expects. */
export async function assertSchema(caller: Caller, schema: string): Promise<void> {
  const rows = await caller.call(
    `select id from ${schema}.migrations where $1::text is not null order by id`,
    [''],
  )
  const known = rows.map((row) => row[0] as string)
  assertNotNewer(schema, known)
  if (known.length === 0) throw schemaMissing(schema)
  const missing = MIGRATIONS.filter((migration) => !known.includes(migration.id)).map(({ id }) => id)
  if (missing.length === 0) return
  throw new SkepError(
    'SCHEMA_OUTDATED',
    `Schema "${schema}" lacks the migrations ${missing.join(', ')}. Run "npx skep migrate", or pass migrate: true to postgresStore.`,
    { facts: { schema, missing } },
  )
}

function assertNotNewer(schema: string, known: readonly string[]): void {
  const unknown = known.filter((id) => !MIGRATIONS.some((migration) => migration.id === id))
  if (unknown.length === 0) return
  throw new SkepError(
    'SCHEMA_TOO_NEW',
    `Schema "${schema}" was migrated by a newer version of Skep (${unknown.join(', ')}). Update this program.`,
    { facts: { schema, unknown } },
  )
}

/** All migrations as SQL to read, review, or run by hand, for example with psql. */
export function migrationText(schema: string): string {
  const steps = MIGRATIONS.map(
    ({ id, sql }) =>
      `-- ${id}\n${sql(schema).trim()}\ninsert into ${schema}.migrations (id) values ('${id}');\n`,
  )
  return `begin;\n${preparation(schema)}\n\n${steps.join('\n')}commit;\n`
}

/** What a role may do with the tables: `use` is to enqueue, to work and to serve; `read` is to look. Neither can change the tables. */
export type RoleAccess = 'use' | 'read'

/**
 * What a role needs, which is reading rows, or reading and writing them, and calling functions; they have the rights of who calls
 * them. Run it after each migration, as the role that migrated. `role` is quoted.
 */
export function grantText(schema: string, role: string, access: RoleAccess): string {
  const name = `"${role.replaceAll('"', '""')}"`
  if (access === 'read') {
    return `grant usage on schema ${schema} to ${name};
grant select on all tables in schema ${schema} to ${name};
grant execute on all functions in schema ${schema} to ${name};
revoke execute on function ${schema}.make_days(bigint), ${schema}.drop_days(bigint, bigint) from ${name};
`
  }
  return `grant usage on schema ${schema} to ${name};
grant select, insert, update, delete on all tables in schema ${schema} to ${name};
grant usage on all sequences in schema ${schema} to ${name};
grant execute on all functions in schema ${schema} to ${name};
revoke insert, update, delete on ${schema}.migrations from ${name};
`
}
