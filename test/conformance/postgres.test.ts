import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { grantSql, postgresStore } from '../../src/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import { describeStore, type UserTransaction } from '../../src/testing.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'
import { describeOracle } from './describe-oracle.ts'

let database: FreshDatabase
let owner: pg.Pool
/** The suite runs as a role that has no more than `grantSql` gives. */
let pool: pg.Pool
let url: string
let role: string
let emptyTables: string

beforeAll(async () => {
  database = await freshDatabase()
  owner = new pg.Pool({ connectionString: database.url, max: 1 })
  await postgresStore({ pool: owner, migrate: true, listen: false }).ready()
  role = `app_${database.url.replace(/\W/g, '').slice(-20).toLowerCase()}`
  await owner.query(`create role ${role} login nosuperuser nocreatedb nocreaterole`)
  await owner.query(grantSql({ role }))
  const address = new URL(database.url)
  address.username = role
  url = address.href
  pool = new pg.Pool({ connectionString: url, max: 4 })
  const { rows } = await owner.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'skep' and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'migrations'`,
  )
  // With the search_path of Skep's functions, from which alone its tables take this.
  const statements = ['set search_path = skep, pg_temp', ...rows.map(({ name }) => `delete from ${name}`)]
  emptyTables = statements.join(';')
})

afterAll(async () => {
  await pool.end()
  await owner.query(`drop owned by ${role}; drop role ${role}`)
  await owner.end()
  await database.drop()
})

/** A store over the user's own pool. Deleting rows is a hundred times faster than migrating for each test. */
async function open(): Promise<Store> {
  await owner.query(emptyTables)
  const store = postgresStore({ pool })
  await store.ready()
  return store
}

/** A second one, with connections of its own. */
async function reopen(): Promise<Store> {
  const store = postgresStore({ url })
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
