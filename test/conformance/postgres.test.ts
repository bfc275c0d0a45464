import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore } from '../../src/postgres.ts'
import type { Store } from '../../src/store.ts'
import { describeStore, type UserTransaction } from '../../src/testing.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'
import { describeOracle } from './describe-oracle.ts'

let database: FreshDatabase
let pool: pg.Pool
let emptyTables: string

beforeAll(async () => {
  database = await freshDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  await postgresStore({ pool, migrate: true }).ready()
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'skep' and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'migrations'`,
  )
  emptyTables = rows.map(({ name }) => `delete from ${name}`).join(';')
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** A store over the user's own pool. Deleting rows is a hundred times faster than migrating for each test. */
async function open(): Promise<Store> {
  await pool.query(emptyTables)
  const store = postgresStore({ pool })
  await store.ready()
  return store
}

/** A second one, with connections of its own. */
async function reopen(): Promise<Store> {
  const store = postgresStore({ url: database.url })
  await store.ready()
  return store
}

async function begin(): Promise<UserTransaction> {
  const client = await pool.connect()
  await client.query('begin')
  const end = (sql: string) => async (): Promise<void> => {
    await client.query(sql)
    client.release()
  }
  return { tx: client, commit: end('commit'), rollback: end('rollback') }
}

describeStore('postgres', open, { describe, it }, { reopen, begin })
describeOracle('postgres', open, { seeds: 10, reopen, shrinkRuns: 100 })
