import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { migrationSql, postgresStore } from '../../src/postgres.ts'
import { createWorld, newJob, take } from './world.ts'

describe('migrating a PostgreSQL schema', () => {
  it('is done once by ten processes that start together', async () => {
    const { url, sql } = await createWorld()
    const stores = Array.from({ length: 10 }, () => postgresStore({ url, connections: 1, listen: false }))

    const replies = await Promise.all(stores.map((store) => store.migrate()))

    expect(replies.filter(({ applied }) => applied.length > 0)).toEqual([{ applied: ['0001-jobs'] }])
    expect(await sql('select id from skep.migrations')).toEqual([{ id: '0001-jobs' }])
    await Promise.all(stores.map((store) => store.close()))
  })

  it('keeps the jobs when it is repeated', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true })
    await store.insert({ jobs: [newJob()] })

    const { applied } = await store.migrate()

    expect(applied).toEqual([])
    expect(await take(store)).toHaveLength(1)
  })

  it('is asked for when the tables are missing', async () => {
    const { url } = await createWorld()
    const store = postgresStore({ url })

    const notReady = store.ready()

    await expect(notReady).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining('skep migrate'),
    })
    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
    await store.migrate()
    await store.ready()
    await store.close()
  })

  it('leaves a newer schema alone', async () => {
    const { url, sql, open } = await createWorld()
    await open({ migrate: true })
    await sql(`insert into skep.migrations (id) values ('9999-from-the-future')`)
    const store = postgresStore({ url, migrate: true })

    await expect(store.ready()).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      facts: { unknown: ['9999-from-the-future'] },
    })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' })
    await store.close()
  })

  it('leaves nothing behind when it fails', async () => {
    const { url, sql } = await createWorld()
    await sql('create schema skep')
    await sql('create table skep.tallies (something int)')
    const store = postgresStore({ url })

    await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_REJECTED' })

    const tables = await sql(`select relname from pg_class where relnamespace = 'skep'::regnamespace`)
    expect(tables).toEqual([{ relname: 'tallies' }])
    await store.close()
  })

  it('can be printed and run by hand, with the same outcome', async () => {
    const { url, sql, open } = await createWorld()
    await open({ migrate: true, schema: 'by_machine' })
    const client = new pg.Client({ connectionString: url })
    await client.connect()

    await client.query(migrationSql({ schema: 'by_hand' }))
    await client.end()

    const catalog = (schema: string) =>
      sql(
        `select replace(what, $1::text, 'X') as what from (
          select format('%s %s %s', c.relkind, c.relname, c.reloptions) as what from pg_class c
            where c.relnamespace = $1::text::regnamespace and c.relname !~ '20[0-9]{6}'
          union all
          select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = $1::text::regnamespace
        ) x order by 1`,
        [schema],
      )
    const byHand = await catalog('by_hand')
    expect(byHand.length).toBeGreaterThan(30)
    expect(byHand).toEqual(await catalog('by_machine'))
    const store = await open({ schema: 'by_hand' })
    await store.insert({ jobs: [newJob()] })
    expect(await take(store)).toHaveLength(1)
  })

  it('takes no schema name that could be more than a name', () => {
    for (const schema of ['', 'Skep', 'a"b', 'a; drop table x', 'x'.repeat(49)]) {
      expect(() => postgresStore({ url: 'postgres://x', schema })).toThrow('cannot be used in SQL')
      expect(() => migrationSql({ schema })).toThrow('cannot be used in SQL')
    }
  })

  it('keeps schemas in one database apart', async () => {
    const { open } = await createWorld()
    const [one, two] = [
      await open({ migrate: true, schema: 'one' }),
      await open({ migrate: true, schema: 'two' }),
    ]
    await one.insert({ jobs: [newJob()] })

    expect(await take(two)).toEqual([])
    expect(await take(one)).toHaveLength(1)
  })
})
