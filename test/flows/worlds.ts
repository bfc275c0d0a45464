/** Real stores to run flows on, each with a way to write into its tables by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase, redisUrlVariable } from '../servers/index.ts'

export interface FlowWorld {
  /** Another handle on the same store, as another process would have. Whoever opens it closes it. */
  open(): Store
  /** Runs a statement; the names of the tables are those of Postgres. Returns how many rows it changed. */
  sql(text: string): Promise<number>
  /** A statement that gives a group so many outcomes of members that are done. */
  manyOutcomes(group: string, count: number): string
  /** How many rows were read so far by those who have closed their handles, if the store can tell. */
  rowsRead?(): Promise<number>
}

export const WORLDS = { sqlite: sqliteWorld, postgres: postgresWorld }

/** One store that all handles share; nobody closes it. */
export function memoryWorld(): Pick<FlowWorld, 'open' | 'rowsRead'> {
  const store = memoryStore()
  return { open: () => store }
}

let prefixes = 0

/** What is in Redis has no tables to write into by hand. */
export async function redisWorld(): Promise<Pick<FlowWorld, 'open' | 'rowsRead'>> {
  const prefix = `flows-${process.pid}-${++prefixes}`
  const url = process.env[redisUrlVariable] as string
  return { open: () => redisStore({ url, prefix, unsafe: { lateFsync: true } }) }
}

export async function sqliteWorld(): Promise<FlowWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-flows-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'jobs.db')
  return {
    open: () => sqliteStore({ file, synchronous: 'normal' }),
    manyOutcomes: (group, count) =>
      `with recursive c (n) as (select 0 union all select n + 1 from c where n < ${count - 1})
        insert into skep.outcomes (group_id, n, state) select '${group}', n, 3 from c`,
    async sql(text) {
      const handle = new DatabaseSync(file)
      handle.exec('pragma busy_timeout = 5000')
      const named = text.replaceAll(/skep\.(\w+)/g, 'skep_$1')
      const { changes } = handle.prepare(named).run()
      handle.close()
      return Number(changes)
    },
  }
}

export async function postgresWorld(): Promise<FlowWorld> {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return {
    open: () => postgresStore({ url: database.url, migrate: true }),
    sql: async (text) => (await client.query(text)).rowCount ?? 0,
    manyOutcomes: (group, count) =>
      `insert into skep.outcomes (group_id, nth, state)
        select '${group}', n, 3 from generate_series(0, ${count - 1}) as n`,
    async rowsRead() {
      const { rows } = await client.query(
        `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) as n from pg_stat_user_tables`,
      )
      return Number(rows[0]?.n)
    },
  }
}
