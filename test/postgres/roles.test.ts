import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { grantSql, postgresStore } from '../../src/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import { reasonToSkip, startPgBouncer } from '../servers/index.ts'
import { membersOf, newGroup, newRun } from './flow-samples.ts'
import { createWorld, eventually, finish, newJob, newJobs, take, uuid, verdict } from './world.ts'

/** Uses everything a store offers, with real effects. */
async function useAll(store: Store): Promise<void> {
  const unique = { key: 'k', scope: 'active', windowMs: 0, onConflict: 'replace' } as const
  const [first, kept] = newJobs(5)
  const { results } = await store.insert({
    jobs: [first!, kept!, ...newJobs(3), newJob({ unique }), newJob({ unique })],
  })
  expect(results.map(({ status }) => status)).toEqual([...Array(6).fill('ok'), 'duplicate'])
  await store.insert({ jobs: [first!], again: true })
  const jobs = await take(store, 6)
  expect(jobs).toHaveLength(6)
  const extended = await store.extend({ leases: jobs, leaseMs: 60_000 })
  expect(extended.results.every(({ status }) => status === 'ok')).toBe(true)
  const line = { n: 1, at: 1, level: 'info', text: 'x', fields: null } as const
  const noted = await store.note({ notes: jobs.map((job) => ({ ...job, progress: null, lines: [line] })) })
  expect(noted.results.every(({ status }) => status === 'ok')).toBe(true)
  expect((await store.notes({ space: 'acme', id: jobs[0]!.id, after: 0, limit: 5 })).lines).toHaveLength(1)
  await finish(store, jobs.slice(0, 1), { keepMs: null })
  await finish(store, jobs.slice(1, 2))
  await finish(store, jobs.slice(2, 3), { to: 'dead', failure: '{"kind":"error","message":"x"}' })
  await finish(store, jobs.slice(3, 4), { to: 'delayed', delayMs: 1, count: 'errors' })
  await store.settle({
    settlements: [{ ...jobs[4]!, verdict: verdict({ to: 'ready' }), enqueue: [newJob({ queue: 'other' })] }],
    claim: {
      sources: [{ space: 'acme', queue: 'other', limit: 1 }],
      limit: 1,
      workerId: 'w',
      token: uuid(),
      leaseMs: 1,
    },
  })
  const change = await store.change({
    action: 'retry',
    space: 'acme',
    target: { queue: 'mail', state: 'dead', limit: 10 },
    failure: null,
    keepMs: 0,
  })
  expect(change.results).toEqual([{ id: jobs[2]!.id, status: 'ok' }])
  await eventually('the lease of a millisecond to end', async () => {
    const sources = [{ space: 'acme', queue: 'other' }]
    return (await store.expired({ sources, workerIds: [], limit: 5 })).leases.length === 1
  })
  expect((await store.get({ space: 'acme', ids: [jobs[1]!.id] })).jobs[0]?.state).toBe('done')
  expect(
    (await store.list({ space: 'acme', queue: 'mail', state: 'done', limit: 5, cursor: null })).jobs,
  ).toHaveLength(1)
  const { queues } = await store.counts({ space: 'acme' })
  expect(queues.find(({ queue }) => queue === 'mail')?.states).toMatchObject({
    running: 1,
    done: 1,
    ready: 3,
  })
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
  const group = newGroup(1)
  const run = newRun({ attributes: ['user:1'] })
  await store.insert({ jobs: membersOf(group, { queue: 'member' }), groups: [group], runs: [run] })
  const source = { space: 'acme', queue: 'member', limit: 1 }
  const lease = { sources: [source], limit: 1, workerId: 'w', token: uuid(), leaseMs: 60_000 }
  const member = (await store.claim(lease)).jobs[0]!
  const move = { id: run.id, space: 'acme', revision: 0, groups: [], runs: [], jobs: [] }
  const { enqueued } = await store.settle({ settlements: [{ ...member, verdict: verdict(), move }] })
  expect(enqueued).toMatchObject([{ queue: 'after' }])
  await store.moveRuns({ moves: [{ ...move, revision: 1, status: 'done' }] })
  await store.tell({ space: 'acme', group: uuid(), n: 0, result: null })
  await store.auditGroups({ limit: 10, cursor: null })
  expect((await store.countRuns({ space: 'acme', limit: 5 })).counts).toHaveLength(1)
  expect((await store.listRuns({ space: 'acme', limit: 1, cursor: null })).runs[0]?.status).toBe('done')
  const record = { id: 'a', body: '{}', revision: '1', expect: null, expiresAt: 1 }
  const place = { scope: 'acme', kind: 'token' }
  await store.putRecords({ ...place, records: [record, { ...record, id: 'b', expiresAt: null }] })
  expect((await store.listRecords({ ...place, limit: 5 })).records).toMatchObject([{ id: 'b' }])
  expect((await store.getRecords({ ...place, ids: ['b'] })).records).toMatchObject([{ revision: '1' }])
  expect(await store.removeRecords({ ...place, ids: ['b'] })).toEqual({ removed: ['b'] })
  await store.attend({ worker })
  expect((await store.workers({})).workers).toHaveLength(1)
  await store.depart({ workerId: 'w' })
  await store.prune({ limit: 10 })
}

describe('a role that may only use the queue', () => {
  it('can do everything a store offers', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const url = await world.roleUrl()

    await useAll(await world.open({ url }))
  })

  it('cannot change the tables, nor what was migrated', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const client = new pg.Client({ connectionString: await world.roleUrl() })
    await client.connect()

    for (const sql of [
      'alter table skep.jobs add column x int',
      'drop table skep.archive_rest',
      'create table skep.mine (x int)',
      `insert into skep.migrations (id) values ('x')`,
      'truncate skep.jobs',
    ]) {
      await expect(client.query(sql)).rejects.toMatchObject({ code: '42501' })
    }
    await client.end()
  })

  it.each(['use', 'owner'] as const)('cannot change jobs by hand (%s)', async (role) => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await store.insert({ jobs: newJobs(3) })
    const [job] = await take(store)
    await finish(store, [job!])
    const url = role === 'use' ? await world.roleUrl() : world.url
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    await store.prune({ limit: 10 })
    // Rights on the partitions that exist by now, which only a repeated grant has.
    if (role === 'use') await world.sql(grantSql({ role: new URL(url).username }))
    const days = await world.sql("select relname from pg_class where relname ~ '^archive_[0-9]{8}$'")
    const day = `skep.${days[0]?.['relname']}`
    const before = await world.sql('select id, state, payload from skep.every_job order by id')
    expect(before).toHaveLength(3)

    for (const sql of [
      'update skep.jobs set state = 5',
      `update skep.jobs set payload = '1' where false`,
      `update skep.jobs set queue = 'other'`,
      'delete from skep.jobs',
      'update skep.archive set state = 5',
      'delete from skep.archive',
      'delete from skep.archive_dead',
      `with gone as (delete from skep.jobs returning 1) select count(*) from gone`,
      'truncate skep.archive_rest',
      'update skep.archive_days set state = 4',
      `update ${day} set state = 4`,
      `delete from ${day}`,
      `truncate ${day}`,
      'truncate skep.jobs, skep.archive',
      `insert into skep.jobs select * from skep.jobs on conflict (id, space) do update set state = 5`,
      'do $$ begin delete from skep.jobs; end $$',
    ]) {
      await expect(client.query(sql), sql).rejects.toMatchObject({ code: '42501' })
    }

    expect(await world.sql('select id, state, payload from skep.every_job order by id')).toEqual(before)
    // What comes through Skep works on the same connection.
    await client.query('begin')
    const { results } = await store.within!(client).insert({ jobs: [newJob()] })
    await client.query('commit')
    expect(results).toMatchObject([{ status: 'ok' }])
  })

  it('is told clearly when it may not do something', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const url = await world.roleUrl()
    await world.sql(`revoke insert on skep.jobs from ${new URL(url).username}`)
    const store = await world.open({ url })

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
      code: 'STORE_REJECTED',
      transient: false,
      facts: { sqlState: '42501' },
    })
  })
})

describe('a role that may only look', () => {
  it('sees all that a dashboard shows, and changes nothing', async () => {
    const world = await createWorld()
    const owner = await world.open({ migrate: true })
    await owner.insert({ jobs: newJobs(3) })
    const store = await world.open({ url: await world.roleUrl('', 'read') })
    const space = 'acme'

    const { jobs } = await store.list({ space, queue: 'mail', state: 'ready', limit: 5, cursor: null })
    expect(jobs).toHaveLength(3)
    expect((await store.counts({ space })).queues).toHaveLength(1)
    expect((await store.get({ space, ids: [jobs[0]!.id] })).jobs[0]?.state).toBe('ready')
    await store.notes({ space, id: jobs[0]!.id, after: 0, limit: 5 })
    await store.listRecords({ scope: space, kind: 'view', limit: 5 })
    await store.workers({})
    await store.listRuns({ space, limit: 1, cursor: null })
    await store.getGroups({ space, ids: [uuid()] })

    const denied = { code: 'STORE_REJECTED', facts: { sqlState: '42501' } }
    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject(denied)
    const target = { ids: [jobs[0]!.id] }
    const change = { action: 'cancel', space, target, failure: null, keepMs: 0 } as const
    await expect(store.change(change)).rejects.toMatchObject(denied)
    const record = { id: 'a', body: '{}', revision: '1', expect: null, expiresAt: null }
    await expect(store.putRecords({ scope: space, kind: 'token', records: [record] })).rejects.toMatchObject(
      denied,
    )
    await expect(take(store, 1)).rejects.toMatchObject(denied)
  })

  it('cannot have its upkeep done with the rights of the owner', async () => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const client = new pg.Client({ connectionString: await world.roleUrl('', 'read') })
    await client.connect()

    for (const sql of ['select skep.drop_days(9000000000000000, 0)', 'select skep.make_days(0)']) {
      await expect(client.query(sql)).rejects.toMatchObject({ code: '42501' })
    }
    await client.end()
  })
})

describe('PgBouncer in transaction mode', () => {
  it('lets everything through when the store does not listen', async (t) => {
    const world = await createWorld()
    const { bouncer, reason } = await startPgBouncer(world.url)
    if (!bouncer) return t.skip(reasonToSkip(reason))
    try {
      const url = bouncer.urlFor(world.url)
      const store = await world.open({ url, migrate: true, listen: false })

      await useAll(store)

      // Enough calls at once that every server connection serves many clients.
      await Promise.all(
        Array.from({ length: 60 }, () => store.insert({ jobs: newJobs(3, { queue: 'many' }) })),
      )
      const { queues } = await store.counts({ space: 'acme', queues: ['many'] })
      expect(queues[0]?.states.ready).toBe(180)
      expect(store.capabilities.liveness).toBe(false)
      await store.close()
    } finally {
      await bouncer.stop()
    }
  }, 300_000)

  it('carries hints to those who listen at the server itself', async (t) => {
    const world = await createWorld()
    const { bouncer, reason } = await startPgBouncer(world.url)
    if (!bouncer) return t.skip(reasonToSkip(reason))
    try {
      const listening = (await world.open({ migrate: true })).notifier?.()
      const heard: string[] = []
      listening?.subscribe((hints) => void heard.push(...hints.map(({ kind }) => kind)))
      await eventually('the connection', () => heard.includes('sync'))
      const behind = await world.open({ url: bouncer.urlFor(world.url), listen: false })

      behind.notifier?.().publish([{ kind: 'settled', space: 'acme', queue: 'mail' }])

      await eventually('the hint', () => heard.includes('settled'))
      expect(behind.notifier?.().health().status).toBe('off')
      await behind.close()
    } finally {
      await bouncer.stop()
    }
  }, 300_000)

  it('refuses the settings of a store that listens, which is reported at once with what to change', async (t) => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const { bouncer, reason } = await startPgBouncer(world.url, { ignored: '' })
    if (!bouncer) return t.skip(reasonToSkip(reason))
    try {
      const url = bouncer.urlFor(world.url)
      const refusal = {
        code: 'STORE_REJECTED',
        message: expect.stringMatching(/startup parameter.*Pass listen: false to postgresStore/),
        facts: { sqlState: '08P01' },
      }
      const skep = createSkep({ store: postgresStore({ url }), logger: silentLogger })
      onTestFinished(() => skep.close())

      const worker = skep.worker([queue('mail').handle(() => 1)])
      await expect(worker.ready).rejects.toMatchObject(refusal)
      await expect(skep.enqueue(queue('mail'), 1)).rejects.toMatchObject({ code: 'STORE_REJECTED' })

      const store = await world.open({ url, listen: false })
      await useAll(store)
      await store.close()
    } finally {
      await bouncer.stop()
    }
  }, 300_000)

  it.for(['url', 'pool', 'sql'] as const)(
    'is found out by a store that listens (%s): no lock is taken, jobs run, and the worker warns',
    { timeout: 300_000 },
    async (way, t) => {
      const world = await createWorld()
      await world.open({ migrate: true })
      const { bouncer, reason } = await startPgBouncer(world.url)
      if (!bouncer) return t.skip(reasonToSkip(reason))
      const url = bouncer.urlFor(world.url)
      const pool = new pg.Pool({ connectionString: url })
      const sql = postgres(url)
      const warnings: string[] = []
      const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
      const skep = createSkep({
        store: postgresStore(way === 'url' ? { url } : way === 'pool' ? { pool } : { sql }),
        logger,
      })
      try {
        const mail = queue<number, number>('mail')
        const worker = skep.worker([mail.handle(({ payload }) => payload + 1)])
        await worker.ready
        const results = await Promise.all(
          Array.from({ length: 20 }, async (_, i) =>
            (await skep.enqueue(mail, i)).result({ timeout: '20s' }),
          ),
        )
        const advice = /pooler in transaction mode.*Pass listen: false to postgresStore/
        await eventually('the warning', () => warnings.some((one) => advice.test(one)), 30_000)
        const locks = await world.sql(
          "select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
        )

        expect(results).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
        expect(worker.health().notifier).toMatchObject({
          status: 'down',
          detail: expect.stringMatching(/^Not listening: .*Pass listen: false/),
        })
        expect((await skep.workers.list()).map(({ life }) => life)).toEqual(['unsure'])
        expect(locks).toEqual([])
        expect(warnings).toHaveLength(1)
      } finally {
        await skep.close()
        await pool.end()
        await sql.end({ timeout: 1 })
        await bouncer.stop()
      }
    },
  )

  it('is found out later when it lent another connection at first', async (t) => {
    const world = await createWorld()
    await world.open({ migrate: true })
    const { bouncer, reason } = await startPgBouncer(world.url)
    if (!bouncer) return t.skip(reasonToSkip(reason))
    const pool = new pg.Pool({ connectionString: bouncer.urlFor(world.url), max: 1 })
    const store = postgresStore({ pool })
    const other = new pg.Client({ connectionString: bouncer.urlFor(world.url) })
    try {
      await store.ready()
      // The pool has no connection to compare with, so the store starts to listen.
      const taken = await pool.connect()
      const notifier = store.notifier?.()
      notifier?.subscribe(() => {})
      await eventually('the connection', () => notifier?.health().status === 'up')
      taken.release()

      // A transaction of another client has the server's side that the listener had.
      await other.connect()
      await other.query('begin')
      await eventually('the finding', () => /pooler/.test(notifier?.health().detail ?? ''), 20_000)
      await other.query('rollback')
    } finally {
      await store.close()
      await other.end()
      await pool.end()
      await bouncer.stop()
    }
  }, 300_000)
})

describe('PgBouncer in session mode', () => {
  it.for(['pool', 'sql'] as const)(
    'carries hints and the locks of workers (%s)',
    { timeout: 300_000 },
    async (way, t) => {
      const world = await createWorld()
      await world.open({ migrate: true })
      const { bouncer, reason } = await startPgBouncer(world.url, { mode: 'session' })
      if (!bouncer) return t.skip(reasonToSkip(reason))
      const url = bouncer.urlFor(world.url)
      const pool = new pg.Pool({ connectionString: url })
      const sql = postgres(url)
      const store = postgresStore(way === 'pool' ? { pool } : { sql })
      const skep = createSkep({ store, logger: silentLogger })
      try {
        const worker = skep.worker([queue('mail').handle(() => 1)])
        await worker.ready

        await eventually('the connection', () => worker.health().notifier.status === 'up')
        await eventually('the lock', async () => (await skep.workers.list())[0]?.life === 'here')
      } finally {
        await skep.close()
        await pool.end()
        await sql.end({ timeout: 1 })
        await bouncer.stop()
      }
    },
  )
})
