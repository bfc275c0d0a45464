import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { postgresStore } from '../../src/postgres.ts'
import { createWorld, eventually, newJob, newJobs, take } from './world.ts'

/** Ends every connection but the one that says so. */
const END_ALL = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

const WAITING = `select 1 from pg_locks l join pg_database d on d.oid = l.database
  where not l.granted and d.datname = current_database()`

describe('a Postgres store on a bad day', () => {
  it('says that nothing happened when nobody answers', async () => {
    for (const connection of [
      { url: 'postgres://nobody@127.0.0.1:1/nothing' },
      { sql: postgres('postgres://nobody@127.0.0.1:1/nothing') },
    ]) {
      const store = postgresStore(connection)

      await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        effect: 'none',
        transient: true,
      })
      await store.close()
    }
  })

  it('says that nothing happened when the server takes a connection and falls silent', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const store = postgresStore({ url: `postgres://nobody@127.0.0.1:${port}/nothing`, callTimeoutMs: 200 })

    // Not even the greeting came, so nothing was sent.
    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    void store.close()
  })

  it.each(['pg', 'postgres.js'])(
    'gives up a call that takes too long, and works on afterwards (%s)',
    async (client) => {
      const { open, sql, url } = await createWorld()
      await open({ migrate: true })
      const instance = postgres(url, { max: 2 })
      onTestFinished(() => instance.end({ timeout: 1 }))
      const store = await open({ callTimeoutMs: 300, ...(client === 'pg' ? {} : { sql: instance }) })
      await sql('begin; lock table skep.jobs')

      await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
        code: 'STORE_UNKNOWN',
        effect: 'unknown',
      })

      await sql('rollback')
      await eventually('the store to work again', () =>
        store.insert({ jobs: [newJob()], again: true }).then(
          () => true,
          () => false,
        ),
      )
    },
  )

  it('lives on when its idle connections are ended', async () => {
    const { open, sql, url } = await createWorld()
    const pool = new pg.Pool({ connectionString: url, max: 3 })
    onTestFinished(() => pool.end())
    const store = await open({ migrate: true, pool })
    const again = await open({ pool })
    await Promise.all(Array.from({ length: 5 }, () => store.insert({ jobs: [newJob()] })))
    expect(pool.listenerCount('error')).toBe(1)

    await sql(END_ALL)

    await eventually('a call to succeed', () =>
      again.insert({ jobs: [newJob()] }).then(
        () => true,
        () => false,
      ),
    )
  })

  it('says so when its connection is ended in the middle of a call', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    await sql('begin; lock table skep.jobs')

    const call = store.insert({ jobs: [newJob()] }).catch((error: unknown) => error)
    await eventually('the call to wait', async () => {
      const rows = await sql(WAITING)
      return rows.length === 1
    })
    await sql(END_ALL)

    // The server said that it ended the statement, so it is known that nothing happened.
    expect(await call).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      effect: 'none',
      facts: { sqlState: '57P01' },
    })
    await sql('rollback')
    expect(await take(store)).toEqual([])
  })

  it('does not know what happened when the way to the server breaks in the middle of a call', async () => {
    const { open, sql, url } = await createWorld()
    await open({ migrate: true })
    const target = new URL(url)
    const sockets = new Set<Socket>()
    const proxy = createServer((socket) => {
      const onward = connect(Number(target.port), target.hostname)
      for (const end of [socket, onward]) sockets.add(end.on('error', () => {}))
      socket.pipe(onward).pipe(socket)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await once(proxy, 'listening')
    const through = new URL(url)
    through.port = String((proxy.address() as { port: number }).port)
    const store = await open({ url: through.href })
    await sql('begin; lock table skep.jobs')

    const call = store.insert({ jobs: [newJob()] }).catch((error: unknown) => error)
    await eventually('the call to wait', async () => (await sql(WAITING)).length === 1)
    for (const socket of sockets) socket.destroy()

    expect(await call).toMatchObject({ code: 'STORE_UNKNOWN', effect: 'unknown' })
    await sql('rollback')
    await store.insert({ jobs: [newJob()] })
  })

  it('takes a server that is read-only for one that is away', async () => {
    const { open, sql, url } = await createWorld()
    await open({ migrate: true })
    await sql(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    )
    const store = postgresStore({ url })

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      transient: true,
      facts: { sqlState: '25006' },
    })
    await store.close()
  })

  it('throws a connection away on which it cannot write any more', async () => {
    const { open, url } = await createWorld()
    await open({ migrate: true })
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    onTestFinished(() => pool.end())
    const store = await open({ pool, listen: false })
    await pool.query('set default_transaction_read_only = on')

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })

    expect((await store.insert({ jobs: [newJob()] })).results).toMatchObject([{ status: 'ok' }])
  })

  it('tries again by itself after a deadlock', async () => {
    const { open } = await createWorld()
    const stores = await Promise.all([open({ migrate: true }), open({ migrate: true })])
    const held = newJobs(40).map((job, n) => ({
      ...job,
      unique: { key: `k${n}`, scope: 'active', windowMs: 0, onConflict: 'replace' } as const,
    }))
    await stores[0]!.insert({ jobs: held })
    const again = () => held.map((job) => ({ ...job, id: newJob().id }))

    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        stores[n % 2]!.insert({ jobs: n % 2 === 0 ? again() : again().reverse() }),
      ),
    )

    expect(replies.flatMap(({ results }) => results).every(({ status }) => status === 'duplicate')).toBe(true)
  })

  it('waits for a connection no longer than a call may take, and gets one later', async () => {
    const { open, url } = await createWorld()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    onTestFinished(() => pool.end())
    const store = await open({ migrate: true, pool, callTimeoutMs: 300 })
    const user = await pool.connect()

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      effect: 'none',
    })

    user.release()
    await store.insert({ jobs: [newJob()] })
    expect(await take(store)).toHaveLength(1)
  })

  it('gets along with a pool of one connection', async () => {
    const { open, url } = await createWorld()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    onTestFinished(() => pool.end())
    const store = await open({ migrate: true, pool })
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
    const heard: string[] = []
    store.notifier?.().subscribe((hints) => void heard.push(...hints.map(({ kind }) => kind)))

    await Promise.all([
      store.attend({ worker }),
      ...Array.from({ length: 20 }, () => store.insert({ jobs: newJobs(2) })),
      ...Array.from({ length: 20 }, () => take(store, 1)),
      store.counts({ space: 'acme' }),
      store.prune({ limit: 10 }),
    ])

    await eventually('the notifier', () => heard.includes('sync'))
    expect((await store.workers({})).workers[0]?.life).toBe('here')
  })

  it('refuses calls after its close, and leaves the pool of the user open', async () => {
    const { open, url } = await createWorld()
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    onTestFinished(() => pool.end())
    const store = await open({ migrate: true, pool })

    await Promise.all([store.close(), store.close()])

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({ code: 'CLOSED' })
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  it('wants exactly one way to the database', () => {
    expect(() => postgresStore({})).toThrow(
      expect.objectContaining({ message: expect.stringContaining('one of url') }),
    )
    const both = { url: 'postgres://x', pool: new pg.Pool() }
    expect(() => postgresStore(both)).toThrow('one of url')
  })
})
