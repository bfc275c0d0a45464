import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { startMortalPostgres } from '../crash/mortal-postgres.ts'
import { caller, FakeReceiver, hubOf } from './support/scene.ts'

const mail = queue<{ n: number }>('mail')
const patience = { timeout: 60_000, interval: 50 }

describe('acks while the store is away', { timeout: 150_000 }, () => {
  const closers: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })

  /** A receiver that holds 200 jobs of a Postgres of its own. */
  const begin = async (): Promise<{
    postgres: Awaited<ReturnType<typeof startMortalPostgres>>
    skep: Skep
    fake: FakeReceiver
    ids: string[]
  }> => {
    const postgres = await startMortalPostgres()
    closers.push(() => postgres.remove())
    const skep = createSkep({
      store: postgresStore({ url: postgres.url, migrate: true }),
      logger: silentLogger,
    })
    closers.push(() => skep.close())
    const hub = hubOf(skep, { ackGrace: '1s', worker: { lease: '60s' } })
    closers.push(() => hub.close({ drain: 0, grace: 0 }))
    const fake = new FakeReceiver()
    fake.receiver = await hub.connect({
      caller: caller(),
      queues: ['mail'],
      credits: 200,
      protocol: 'http',
      ...fake.options,
    })
    const handles = await skep.enqueueMany(
      mail,
      Array.from({ length: 200 }, (_, n) => ({ n })),
    )
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(200), patience)
    return { postgres, skep, fake, ids: handles.map(({ id }) => id) }
  }

  it('are kept and saved when it is back, on Postgres that crashed', async () => {
    const { postgres, skep, fake, ids } = await begin()

    await postgres.stop('crash')
    const { saved, results } = await fake.ack(fake.jobs, { done: 'saved' })
    expect([saved, results.length]).toEqual([0, 200])
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['unknown']))
    const again = fake.ack(fake.jobs.slice(0, 100), { done: 'saved' })
    await postgres.start()

    await vi.waitFor(async () => {
      const [counts] = await skep.queues.list([mail])
      expect(counts).toMatchObject({ done: 200, running: 0, ready: 0 })
    }, patience)
    await again
    expect(await fake.ack(fake.jobs, { done: 'saved' })).toEqual({ saved: 200, results: [] })
    // Nothing ran twice: the receiver had each of them once, and none was given to anybody else.
    expect(fake.jobs.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect(await skep.jobs.get(ids[0] as string)).toMatchObject({ starts: 1, lost: 0, result: 'saved' })
    // And the stream goes on.
    const after = await skep.enqueue(mail, { n: 1_000 })
    await vi.waitFor(() => expect(fake.jobs.at(-1)?.id).toBe(after.id), patience)
  })

  it('are kept and saved when it takes writes again, on Postgres that is a replica for a while', async () => {
    const { postgres, skep, fake, ids } = await begin()
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    closers.push(() => client.end())
    // What is connected stays as it was, so all others are to connect again.
    const turn = async (isReadOnly: boolean): Promise<void> => {
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter system set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
      await client.query('select pg_reload_conf()')
      await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null',
      )
    }

    await turn(true)
    const { saved, results } = await fake.ack(fake.jobs, { done: 'saved' })
    expect([saved, new Set(results.map(({ status }) => status))]).toEqual([0, new Set(['unknown'])])
    expect(await skep.jobs.get(ids[0] as string)).toMatchObject({ state: 'running' })
    await turn(false)

    await vi.waitFor(async () => {
      const [counts] = await skep.queues.list([mail])
      expect(counts).toMatchObject({ done: 200, running: 0, ready: 0 })
    }, patience)
    expect(await skep.jobs.get(ids[0] as string)).toMatchObject({ starts: 1, lost: 0, result: 'saved' })
  })
})
