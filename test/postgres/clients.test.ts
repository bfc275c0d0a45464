import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Notifier } from '../../src/notifier/notifier.ts'
import type { PostgresStoreOptions } from '../../src/postgres.ts'
import { createWorld, eventually, finish, newJob, newJobs, take } from './world.ts'

/** The ways to hand a database to the store. The user's own things are ended by the user. */
const ways: Record<string, (url: string) => Partial<PostgresStoreOptions>> = {
  'an address': (url) => ({ url }),
  'a pool of pg': (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 3 })
    onTestFinished(() => pool.end())
    return { pool }
  },
  'a pool of pg whose types are parsed differently': (url) => {
    const types = { getTypeParser: () => () => 'not what it was' }
    const pool = new pg.Pool({ connectionString: url, max: 3, types: types as never })
    onTestFinished(() => pool.end())
    return { pool }
  },
  'an instance of postgres.js': (url) => {
    const sql = postgres(url, { max: 3 })
    onTestFinished(() => sql.end())
    return { sql }
  },
  'an instance of postgres.js without named statements': (url) => {
    const sql = postgres(url, { max: 3, prepare: false, fetch_types: false })
    onTestFinished(() => sql.end())
    return { sql }
  },
}

describe.each(Object.entries(ways))('a store over %s', (_name, way) => {
  it('carries jobs through their lives, exactly as they are', async () => {
    const { open, url } = await createWorld()
    const store = await open({ ...way(url), migrate: true, listen: false })
    const payload = JSON.stringify({
      text: `"quoted" \\ 'single' {braces},\n é 🐝 \u001e \u001f`,
      n: [1.5, null, true],
    })
    const headers = '{"trace":"a\\\\b"}'
    const unique = { key: 'ke"y \\ ,{}', scope: 'window', windowMs: 60_000, onConflict: 'replace' } as const
    const jobs = [
      newJob({ payload, headers, priority: -3, overrides: '{"timeoutMs":5}' }),
      newJob({ payload: '\u001e', unique }),
      newJob({ payload: '1', unique, delayMs: 86_400_000 }),
      newJob({ runAt: 4_102_444_800_000 }),
    ]

    const { results } = await store.insert({ jobs })
    const claimed = await take(store, 9)
    await finish(store, claimed, { to: 'dead', result: payload, failure: headers })

    expect(results.map(({ status }) => status)).toEqual(['ok', 'ok', 'duplicate', 'ok'])
    expect(claimed).toHaveLength(1)
    expect(claimed[0]).toMatchObject({
      id: jobs[0]?.id,
      payload,
      headers,
      priority: -3,
      overrides: '{"timeoutMs":5}',
    })
    const found = await store.get({ space: 'acme', ids: jobs.map(({ id }) => id) })
    expect(found.jobs[0]).toMatchObject({
      state: 'dead',
      payload,
      result: payload,
      failure: headers,
      starts: 1,
    })
    expect(found.jobs[1]).toMatchObject({
      state: 'delayed',
      payload: '1',
      uniqueKey: unique.key,
      uniqueScope: 'window',
    })
    expect(found.jobs[2]).toBeNull()
    expect(found.jobs[3]).toMatchObject({ state: 'delayed', dueAt: 4_102_444_800_000 })
  })

  it('inserts the same jobs once, however often and in whatever company they are sent', async () => {
    const { open, url } = await createWorld()
    const store = await open({ ...way(url), migrate: true, listen: false })
    const [first, second, third] = newJobs(3) as [
      ReturnType<typeof newJob>,
      ReturnType<typeof newJob>,
      ReturnType<typeof newJob>,
    ]
    await store.insert({ jobs: [first] })
    await finish(store, await take(store))

    await store.insert({ jobs: [first] })
    await store.insert({ jobs: [second, second] })
    await store.insert({ jobs: [first, second, third] })
    await store.insert({ jobs: [first, third], again: true })

    expect((await take(store, 9)).map(({ id }) => id)).toEqual([second.id, third.id])
  })

  it('hears and is alive', async () => {
    const { open, url, sql } = await createWorld()
    const store = await open({ ...way(url), migrate: true })
    const other = await open()
    const heard: string[] = []
    const notifier = store.notifier?.() as Notifier
    notifier.subscribe(
      (hints) => void heard.push(...hints.map((hint) => ('queue' in hint ? (hint.queue ?? '') : hint.kind))),
    )
    const worker = {
      id: 'w',
      space: 'acme',
      host: 'h',
      pid: 1,
      queues: [],
      concurrency: 1,
      running: 0,
      startedAt: 1,
      vitals: '{}',
    }
    await store.attend({ worker })
    await eventually('the first sync', () => heard.includes('sync'))
    const life = async () => (await other.workers({})).workers[0]?.life

    other.notifier?.().publish([{ kind: 'settled', space: 'acme', queue: 'mail' }])
    await eventually('the hint', () => heard.includes('mail'))
    expect(await life()).toBe('here')

    heard.length = 0
    await sql(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    await eventually('the next sync', () => heard.includes('sync'))
    await eventually('the lock', async () => (await life().catch(() => '')) === 'here')

    await store.close()
    await eventually('the end', async () => (await life()) === 'gone')
  })
})

it('goes on without named statements when the server has forgotten them', async () => {
  const { open, url } = await createWorld()
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  onTestFinished(() => pool.end())
  const store = await open({ pool, migrate: true })
  await store.insert({ jobs: newJobs(2), fresh: true })
  const named = await pool.query('select name from pg_prepared_statements')
  // What a pooler between us and the server amounts to.
  await pool.query('deallocate all')

  await Promise.all([store.insert({ jobs: newJobs(2), fresh: true }), store.insert({ jobs: newJobs(2) })])
  const claimed = await take(store, 10)

  expect(named.rows).toEqual([{ name: expect.stringMatching(/^skep_insert_jobs_/) }])
  expect(claimed).toHaveLength(6)
})

it('names no statement behind a pooler', async () => {
  const { open, url } = await createWorld()
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  onTestFinished(() => pool.end())
  const store = await open({ pool, migrate: true, listen: false })

  await store.insert({ jobs: newJobs(2), fresh: true })

  expect((await pool.query('select name from pg_prepared_statements')).rows).toEqual([])
})
