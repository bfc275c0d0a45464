import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createSkep, type Skep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { type MortalPostgres, startMortalPostgres } from '../crash/mortal-postgres.ts'
import { deliverJobs } from '../receivers/support/public.ts'
import { caller, FakeReceiver, hubOf } from '../receivers/support/scene.ts'
import { mail, startLoad } from '../support/load.ts'
import { measureRecovery } from '../support/recovery.ts'

const patience = { timeout: 90_000, interval: 50 }
/** A call that the dead primary never answers is repeated when this has passed. */
const CALL_TIMEOUT_MS = 3_000

interface Pair {
  readonly primary: MortalPostgres
  readonly standby: MortalPostgres
  /** Names both hosts. */
  readonly url: string
}

/** A primary with a streaming standby. */
async function startPair(isSynchronous: boolean): Promise<Pair> {
  const primary = await startMortalPostgres()
  onTestFinished(() => primary.remove())
  const standby = await startMortalPostgres({ standbyOf: primary })
  onTestFinished(() => standby.remove())
  if (isSynchronous) {
    await ask(primary, `alter system set synchronous_standby_names = '*'`)
    await ask(primary, 'select pg_reload_conf()')
  }
  await vi.waitFor(async () => {
    const [row] = await ask(primary, 'select state, sync_state from pg_stat_replication')
    expect(row).toEqual({ state: 'streaming', sync_state: isSynchronous ? 'sync' : 'async' })
  }, patience)
  const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
  return { primary, standby, url }
}

async function ask(server: MortalPostgres, sql: string): Promise<Record<string, any>[]> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

function openSkep(url: string): Skep {
  const skep = createSkep({
    store: postgresStore({ url, migrate: true, callTimeoutMs: CALL_TIMEOUT_MS }),
    enqueueTimeout: '60s',
    logger: silentLogger,
  })
  onTestFinished(() => skep.close())
  return skep
}

/** A receiver of 100 jobs. */
async function startReceiver(url: string, { credits, lease }: { credits: number; lease: '10s' | '60s' }) {
  const skep = openSkep(url)
  const hub = hubOf(skep, { ackGrace: '1s', worker: { lease } })
  onTestFinished(() => hub.close({ drain: 0 }))
  const fake = new FakeReceiver()
  fake.receiver = await hub.connect({
    caller: caller(),
    queues: ['mail'],
    credits,
    protocol: 'http',
    ...fake.options,
  })
  await skep.enqueueMany(
    mail,
    Array.from({ length: 100 }, (_, n) => n),
  )
  return { skep, fake }
}

async function done(server: MortalPostgres): Promise<Set<string>> {
  const rows = await ask(server, 'select id from skep.archive where state = 3')
  return new Set(rows.map(({ id }) => id as string))
}

describe('a standby that is promoted under load', { timeout: 240_000 }, () => {
  it('loses nothing and repeats nothing when it is synchronous', async () => {
    const { primary, standby, url } = await startPair(true)
    const skep = openSkep(url)
    await skep.ready()
    // Longer than the failover takes, or jobs that are running would rightly run again.
    const load = startLoad(skep, [openSkep(url), openSkep(url)], '60s')
    await vi.waitFor(() => expect(load.handled.size).toBeGreaterThan(200), patience)

    let before = 0
    await measureRecovery('A synchronous standby', { callTimeoutMs: CALL_TIMEOUT_MS }, async () => {
      await primary.stop('crash')
      before = load.acknowledged.size
      await ask(standby, 'select pg_promote()')
      // There is no standby any more for which a commit could wait.
      await ask(standby, `alter system set synchronous_standby_names = ''`)
      await ask(standby, 'select pg_reload_conf()')
      await load.runOne()
    })

    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(before + 200), patience)
    await load.stop()
    await vi.waitFor(async () => {
      const [counts] = await skep.queues.list([mail])
      expect(counts).toMatchObject({ ready: 0, running: 0, delayed: 0 })
    }, patience)
    const saved = await done(standby)
    expect(load.failures).toEqual([])
    expect([...load.acknowledged.keys()].filter((id) => !saved.has(id))).toEqual([])
    expect(saved.size).toBe(load.acknowledged.size)
    expect([...load.handled].filter(([, times]) => times !== 1)).toEqual([])
  })

  it('loses only what had not been replicated when it is asynchronous, and repeats nothing that had', async () => {
    const { primary, standby, url } = await startPair(false)
    const skep = openSkep(url)
    await skep.ready()
    // Jobs whose success is lost are running on the standby, for no worker, until their lease ends.
    const load = startLoad(skep, [openSkep(url), openSkep(url)], '10s')
    await vi.waitFor(() => expect(load.handled.size).toBeGreaterThan(200), patience)

    // What is acknowledged from now on never reaches the standby.
    await ask(standby, `alter system set primary_conninfo = 'host=127.0.0.1 port=1'`)
    await ask(standby, 'select pg_reload_conf()')
    await vi.waitFor(async () => {
      expect(await ask(primary, 'select 1 from pg_stat_replication')).toEqual([])
    }, patience)
    const late = load.acknowledged.size + 100
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(late), patience)
    await primary.stop('crash')
    const replicated = await ask(
      standby,
      'select id, state from skep.jobs union all select id, state from skep.archive',
    )
    const acknowledged = new Map(load.acknowledged)
    await measureRecovery('An asynchronous standby', { callTimeoutMs: CALL_TIMEOUT_MS }, async () => {
      await ask(standby, 'select pg_promote()')
      await load.runOne()
    })

    const resumed = load.acknowledged.size + 200
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(resumed), patience)
    await load.stop()
    await vi.waitFor(async () => {
      const [counts] = await skep.queues.list([mail])
      expect(counts).toMatchObject({ ready: 0, running: 0, delayed: 0 })
    }, patience)
    const saved = await done(standby)
    const there = new Set(replicated.map(({ id }) => id as string))
    const lost = [...load.acknowledged.keys()].filter((id) => !saved.has(id))
    expect(load.failures).toEqual([])
    // Nothing that was replicated, and nothing that was acknowledged after the failover.
    expect(lost.filter((id) => there.has(id) || !acknowledged.has(id))).toEqual([])
    expect(lost.length).toBeGreaterThan(0)
    // A job whose success was replicated is not run again.
    const finished = replicated.filter(({ state }) => state === 3).map(({ id }) => load.acknowledged.get(id))
    expect(finished.filter((n) => n !== undefined && load.handled.get(n) !== 1)).toEqual([])
  })

  it('saves acknowledgements of receivers that were sent while there was no primary', async () => {
    const { primary, standby, url } = await startPair(true)
    const { skep, fake } = await startReceiver(url, { credits: 100, lease: '60s' })
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(100), patience)
    const given = [...fake.jobs]

    await primary.stop('crash')
    const { saved, results } = await fake.ackWithTokens(given)
    await ask(standby, 'select pg_promote()')
    await ask(standby, `alter system set synchronous_standby_names = ''`)
    await ask(standby, 'select pg_reload_conf()')

    expect([saved, new Set(results.map(({ status }) => status))]).toEqual([0, new Set(['unknown'])])
    const answers = await fake.ackUntilKnown(given)
    expect(new Set(answers.values())).toEqual(new Set(['saved']))
    for (const { id, token } of given) {
      expect(await skep.jobs.get(id)).toMatchObject({ state: 'done', result: token, starts: 1, lost: 0 })
    }
    // Nothing ran again.
    expect(fake.jobs).toHaveLength(100)
  })

  it('saves acknowledgements that reach a server over HTTP and gRPC while there is no primary', async () => {
    const { primary, standby, url } = await startPair(true)
    const skep = openSkep(url)
    await skep.ready()
    const receivers = await deliverJobs(skep, { count: 50, protocols: ['http', 'grpc'] })

    await primary.stop('crash')
    expect(await receivers.ackOnce()).toEqual(new Set(['unknown']))
    await ask(standby, 'select pg_promote()')
    await ask(standby, `alter system set synchronous_standby_names = ''`)
    await ask(standby, 'select pg_reload_conf()')

    expect(await receivers.ackAll()).toEqual({ lost: 0, doubled: 0, done: 100 })
  })

  it('answers acknowledgements with what the new primary has: lost, when it did not know of the claim', async () => {
    const { primary, standby, url } = await startPair(false)
    const { skep, fake } = await startReceiver(url, { credits: 50, lease: '10s' })
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(50), patience)
    const [{ lsn }] = (await ask(primary, 'select pg_current_wal_flush_lsn() as lsn')) as [{ lsn: string }]
    await vi.waitFor(async () => {
      const replayed = await ask(standby, `select pg_last_wal_replay_lsn() >= '${lsn}' as is_there`)
      expect(replayed).toEqual([{ is_there: true }])
    }, patience)
    await ask(standby, `alter system set primary_conninfo = 'host=127.0.0.1 port=1'`)
    await ask(standby, 'select pg_reload_conf()')
    await vi.waitFor(async () => {
      expect(await ask(primary, 'select 1 from pg_stat_replication')).toEqual([])
    }, patience)
    // Room for 25 more, of which only the old primary knows who has them.
    expect(await fake.ackWithTokens(fake.jobs.slice(0, 25))).toMatchObject({ saved: 25 })
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(75), patience)
    const open = fake.jobs.slice(25, 75)

    await primary.stop('crash')
    const { saved, results } = await fake.ackWithTokens(open)
    expect([saved, results.length]).toEqual([0, 50])
    fake.onJobs = (jobs) => void fake.ackUntilKnown(jobs)
    await ask(standby, 'select pg_promote()')

    const answers = await fake.ackUntilKnown(open)
    await vi.waitFor(async () => {
      const [counts] = await skep.queues.list([mail])
      expect(counts).toMatchObject({ done: 100, running: 0, ready: 0 })
    }, patience)
    const replicated = open.slice(0, 25).map(({ id }) => id)
    for (const { id, token } of open) {
      const job = await skep.jobs.get(id)
      expect(job).toMatchObject({ state: 'done' })
      // What was answered is what the store has: the result of this attempt, or that of a later one.
      expect([answers.get(id), job?.result === token]).toEqual(
        replicated.includes(id) ? ['saved', true] : ['lost', false],
      )
    }
  })
})

it('A URL with several hosts finds the primary, wherever it stands', { timeout: 90_000 }, async () => {
  const { primary, standby, url } = await startPair(false)
  const turned = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?target_session_attrs=read-write`
  for (const address of [url, turned]) {
    const skep = openSkep(address)
    await skep.enqueue(mail, 1)
  }

  expect(await ask(primary, 'select 1 from skep.jobs')).toHaveLength(2)
})
