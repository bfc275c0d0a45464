import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StoreFinding } from '../../src/store/store.ts'
import { examineTables } from '../../src/stores/postgres/health.ts'
import { createWorld, newJobs, type World } from './world.ts'

async function examined(world: World, url?: string): Promise<readonly StoreFinding[]> {
  const store = await world.open(url === undefined ? {} : { url })
  return (await store.examine?.()) ?? []
}

describe('what a Postgres store says of its database', () => {
  it('is what its tables take, and nothing more where all is well', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await store.insert({ jobs: newJobs(100) })

    const findings = await examined(world)

    expect(findings.map(({ name, status, fix }) => [name, status, fix])).toEqual([
      ['storage', 'ok', null],
      ['vacuum', 'ok', null],
    ])
    expect(findings[0]?.text).toMatch(/^[\d.]+ [KM]B in \d+ tables with their indexes: \w+ [\d.]+ [KM]B, /)
  })

  it('is told to the role of the application, and to one that only looks', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })

    for (const access of ['use', 'read'] as const) {
      const findings = await examined(world, await world.roleUrl('', access))
      expect(findings.map(({ name }) => name)).toEqual(['storage', 'vacuum'])
    }
  })

  it('names an index that is broken, with what makes it whole', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    await world.sql('create table skep.twice (n integer)')
    await world.sql('insert into skep.twice values (1), (1)')
    // As a build that was cut short leaves it behind.
    await expect(world.sql('create unique index concurrently twice_n on skep.twice (n)')).rejects.toThrow()

    const broken = (await examined(world)).filter(({ name }) => name === 'indexes')

    expect(broken).toMatchObject([
      { status: 'warn', fix: 'Make it anew: REINDEX INDEX CONCURRENTLY skep.twice_n;' },
    ])
    await world.sql('delete from skep.twice')
    await world.sql('REINDEX INDEX CONCURRENTLY skep.twice_n')
    expect((await examined(world)).filter(({ name }) => name === 'indexes')).toEqual([])
  })

  it('does not take a transaction for forgotten that is open for a moment', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const other = new pg.Client({ connectionString: world.url })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('begin isolation level repeatable read')
    await other.query('select 1')

    expect((await examined(world)).filter(({ status }) => status === 'warn')).toEqual([])
  })

  it('names a transaction that was forgotten, with what ends it', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const other = new pg.Client({ connectionString: world.url, application_name: 'a script' })
    other.on('error', () => {})
    await other.connect()
    onTestFinished(() => other.end().catch(() => {}))
    await other.query('begin isolation level repeatable read')
    await other.query('select 1')
    const client = new pg.Client({ connectionString: world.url })
    await client.connect()
    onTestFinished(() => client.end())
    const query = async (text: string, values: readonly unknown[]) =>
      (await client.query({ text, values: [...values], rowMode: 'array' })).rows as unknown[][]
    const open = async () => (await examineTables(query, 'skep', 0)).filter(({ status }) => status === 'warn')

    const [found] = await open()
    const fix = found?.fix?.replace('If it is forgotten, end it: ', '') ?? ''
    await client.query(fix)

    expect(found?.text).toMatch(/^a transaction of a script is open for .* \(idle in transaction\)/)
    expect(fix).toMatch(/^SELECT pg_terminate_backend\(\d+\);$/)
    await expect.poll(open).toEqual([])
  })
})
