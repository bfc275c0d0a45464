import { createRequire } from 'node:module'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { type SqliteClient, sqliteStore, withTransaction } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { describeStore } from '../../src/testing.ts'
import { betterSqlite3Compiled, foundOrReason, Unavailable } from './better-sqlite3.ts'
import { freshFile, newJob, openHandle, openStore, readyCount } from './support.ts'

type OpenClient = (file: string) => SqliteClient

const clients: readonly (readonly [name: string, find: () => OpenClient | Promise<OpenClient>])[] = [
  ['@photostructure/sqlite', () => (file) => new DatabaseSync(file)],
  ['node:sqlite', builtIn],
  ['better-sqlite3 13', betterSqlite3],
  ['better-sqlite3 12', betterSqlite3Compiled],
]

for (const [name, find] of clients) {
  const client = await foundOrReason(find)
  if (typeof client === 'string') {
    describe(`sqlite through ${name}`, () => it.skip(`is not here: ${client}`, () => {}))
    continue
  }
  const open = (): Store => sqliteStore({ client: client(':memory:'), tablePrefix: 'queue_' })
  describeStore(`sqlite through ${name}, with a prefix`, open, { describe, it })

  describe(`withTransaction through ${name}`, () => {
    it('commits with jobs, and nothing can be written through its handle after its time', async () => {
      const handle = client(':memory:')
      const store = openStore({ client: handle })
      await store.ready()
      handle.exec('create table ledger (n integer primary key)')
      const late: string[] = []
      const write = (sql: SqliteStatement): void => {
        try {
          sql.run()
        } catch (error) {
          late.push((error as { code: string }).code)
        }
      }

      let goOn = (): void => {}
      const over = new Promise<void>((resolve) => {
        goOn = resolve
      })
      let zombie: unknown
      const overdue = withTransaction(
        handle,
        (tx) => {
          const statement = tx.prepare('insert into ledger values (1)') as ChainedStatement
          const chained = statement.safeIntegers?.(false) ?? statement
          zombie = over.then(() => {
            write(chained)
            write(statement)
          })
          return zombie
        },
        { maxDuration: '20ms' },
      )
      await expect(overdue).rejects.toMatchObject({ code: 'TX_TIMEOUT' })
      await withTransaction(handle, async (tx) => {
        goOn()
        await zombie
        tx.prepare('insert into ledger values (2)').run()
        expect(tx.prepare('select n from ledger').all()).toMatchObject([{ n: 2 }])
        await store.within?.(tx).insert({ jobs: [newJob()] })
      })

      expect(late).toEqual(['TX_TIMEOUT', 'TX_TIMEOUT'])
      expect(handle.prepare('select n from ledger').all()).toMatchObject([{ n: 2 }])
      expect(await readyCount(store)).toBe(1)
    })
  })
}

type SqliteStatement = ReturnType<SqliteClient['prepare']>
/** Some methods of better-sqlite3 return the statement itself. */
type ChainedStatement = SqliteStatement & { safeIntegers?(on: boolean): SqliteStatement }

describe('A handle of the user', () => {
  it('stays open when the store is closed', async () => {
    const client = openHandle(freshFile())
    const store = openStore({ client })
    await store.insert({ jobs: [newJob()] })

    await store.close()

    expect(client.isOpen).toBe(true)
    expect(client.prepare('select count(*) as jobs from skep_jobs').get()).toMatchObject({ jobs: 1 })
  })

  it('may have tables of its own, and several stores by their prefixes', async () => {
    const client = openHandle(freshFile())
    client.exec('create table jobs (id text); create table skep (id text)')
    const [one, two] = [openStore({ client }), openStore({ client, tablePrefix: 'other_' })]

    await one.insert({ jobs: [newJob()] })

    expect([await readyCount(one), await readyCount(two)]).toEqual([1, 0])
  })

  it('gives numbers although it was opened to give BigInts', async () => {
    const client = new DatabaseSync(':memory:', { readBigInts: true })
    const store = openStore({ client })

    await store.insert({ jobs: [newJob()] })

    expect(await readyCount(store)).toBe(1)
  })
})

function builtIn(): OpenClient {
  const sqlite = process.getBuiltinModule?.('node:sqlite' as 'node:fs') as unknown
  if (!sqlite) throw new Unavailable(`Node ${process.versions.node} has no SQLite`)
  const { DatabaseSync: Database } = sqlite as { DatabaseSync: new (file: string) => SqliteClient }
  return (file) => new Database(file)
}

function betterSqlite3(): OpenClient {
  // It brings its programs along, for the Node-API of these versions. An older one ends with a segmentation fault.
  if (Number.parseInt(process.versions.node, 10) < 22)
    throw new Unavailable('better-sqlite3 13 needs Node 22')
  const Database = createRequire(import.meta.url)('better-sqlite3') as new (file: string) => SqliteClient
  return (file) => new Database(file)
}
