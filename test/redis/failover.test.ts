import { Cluster, Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest'
import { createSkep, type Skep, silentLogger } from '../../src/index.ts'
import { redisStore } from '../../src/redis.ts'
import { deliverJobs } from '../receivers/support/public.ts'
import { caller, FakeReceiver, hubOf } from '../receivers/support/scene.ts'
import {
  CLUSTER_NODE_TIMEOUT_MS,
  type RedisCluster,
  type RedisServer,
  reasonToSkip,
  startCluster,
} from '../servers/index.ts'
import { type Load, mail, startLoad } from '../support/load.ts'
import { measureRecovery } from '../support/recovery.ts'

const patience = { timeout: 90_000, interval: 50 }
/** A call that the dead master never answers is repeated when this has passed. */
const CALL_TIMEOUT_MS = 3_000
/** What a recovery waits for. */
const timeouts = { 'cluster-node-timeout': CLUSTER_NODE_TIMEOUT_MS, callTimeoutMs: CALL_TIMEOUT_MS }

async function startNodes(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisCluster> {
  const { cluster, reason } = await startCluster({ replicas: true, settings })
  if (!cluster) return t.skip(reasonToSkip(reason ?? ''))
  onTestFinished(() => cluster.stop())
  return cluster
}

function openSkep(cluster: RedisCluster, prefix: string, onLoss: (message: string) => void = () => {}): Skep {
  const client = new Cluster(
    cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    { lazyConnect: true },
  )
  client.on('error', () => {})
  const skep = createSkep({
    store: redisStore({ client, prefix, onLoss, callTimeoutMs: CALL_TIMEOUT_MS }),
    enqueueTimeout: '60s',
    logger: silentLogger,
  })
  onTestFinished(async () => {
    await skep.close()
    client.disconnect()
  })
  return skep
}

/** Kills the master that has the jobs, and waits until another node has them. A killed node answers nothing. */
async function failover(cluster: RedisCluster, master: RedisServer, prefix: string): Promise<void> {
  await master.kill()
  await promoted(cluster, prefix)
}

async function promoted(cluster: RedisCluster, prefix: string): Promise<void> {
  await vi.waitFor(() => cluster.ownerOf(`{${prefix}}:meta`), patience)
}

/** Waits until the replica of this master has all that has been written so far. */
async function replicated(master: RedisServer): Promise<void> {
  const info = async (): Promise<string> => master.cli('INFO', 'replication')
  const written = Number(/master_repl_offset:(\d+)/.exec(await info())?.[1])
  await vi.waitFor(async () => {
    const sent = /slave0:.*state=online,offset=(\d+)/.exec(await info())?.[1]
    expect(Number(sent)).toBeGreaterThanOrEqual(written)
  }, patience)
}

/** From now on nothing reaches the replica, and clients that are connected notice nothing of it. Returns such a client. */
async function cutReplica(master: RedisServer): Promise<Redis> {
  const admin = new Redis(master.port, '127.0.0.1')
  admin.on('error', () => {})
  onTestFinished(() => admin.disconnect())
  // Only new connections are asked for the password.
  await admin.config('SET', 'requirepass', 'unknown to the replica')
  await admin.call('CLIENT', 'KILL', 'TYPE', 'replica')
  await vi.waitFor(
    async () => expect(await admin.info('replication')).toContain('connected_slaves:0'),
    patience,
  )
  return admin
}

/** Waits until all that is in the store has been handled. */
async function drained(skep: Skep): Promise<void> {
  await vi.waitFor(async () => {
    const [counts] = await skep.queues.list([mail])
    expect(counts).toMatchObject({ ready: 0, running: 0, delayed: 0 })
  }, patience)
}

/** The ids of acknowledged jobs that are not done. */
async function lostOf(skep: Skep, load: Load): Promise<string[]> {
  const ids = [...load.acknowledged.keys()]
  const lost: string[] = []
  // In portions: a fast machine enqueues so many that all reads at once would exceed the timeout of a call.
  for (let from = 0; from < ids.length; from += 500) {
    const part = ids.slice(from, from + 500)
    const states = await Promise.all(part.map(async (id) => (await skep.jobs.get(id))?.state))
    lost.push(...part.filter((_, index) => states[index] !== 'done'))
  }
  return lost
}

describe('a master of a cluster that is killed under load', { timeout: 240_000 }, () => {
  it('loses nothing and repeats nothing that its replica had', async (t) => {
    const cluster = await startNodes(t)
    const losses: string[] = []
    const onLoss = (message: string): void => void losses.push(message)
    const [producer, consumer] = [openSkep(cluster, 'load', onLoss), openSkep(cluster, 'load', onLoss)]
    await producer.ready()
    const load = startLoad(producer, [consumer], '60s')
    await vi.waitFor(() => expect(load.handled.size).toBeGreaterThan(200), patience)

    // A cluster replicates after it has answered. From here on it answers nothing, so its replica gets all that was acknowledged.
    const master = await cluster.ownerOf('{load}:meta')
    await master.cli('CLIENT', 'PAUSE', '60000', 'WRITE')
    await replicated(master)
    await measureRecovery('A Redis Cluster with all replicated', timeouts, async () => {
      await failover(cluster, master, 'load')
      await load.runOne()
    })

    const before = load.acknowledged.size
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(before + 200), patience)
    await load.stop()
    await drained(producer)
    expect(load.failures).toEqual([])
    expect(losses).toEqual([])
    expect(await lostOf(producer, load)).toEqual([])
    expect([...load.handled].filter(([, times]) => times !== 1)).toEqual([])
    expect(load.handled.size).toBe(load.acknowledged.size)
  })

  it('loses what its replica lacked when nothing was prepared for it, reports it, and goes on', async (t) => {
    const cluster = await startNodes(t)
    const losses: string[] = []
    const onLoss = (message: string): void => void losses.push(message)
    const [producer, consumer] = [openSkep(cluster, 'bare', onLoss), openSkep(cluster, 'bare', onLoss)]
    await producer.ready()
    // Jobs whose success is lost are running on the replica, for no worker, until their lease ends.
    const load = startLoad(producer, [consumer], '10s')
    await vi.waitFor(() => expect(load.handled.size).toBeGreaterThan(200), patience)

    const master = await cluster.ownerOf('{bare}:meta')
    const safe = new Map(load.acknowledged)
    const unfinished = new Set(await lostOf(producer, load))
    await replicated(master)
    await cutReplica(master)
    const late = load.acknowledged.size + 100
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(late), patience)
    let before: ReadonlySet<string> = new Set()
    await measureRecovery('A Redis Cluster with its replica cut off', timeouts, async () => {
      await master.kill()
      before = new Set(load.acknowledged.keys())
      await promoted(cluster, 'bare')
      await load.runOne()
    })

    const resumed = load.acknowledged.size + 200
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(resumed), patience)
    await load.stop()
    await drained(producer)
    const lost = await lostOf(producer, load)
    expect(load.failures).toEqual([])
    // Nothing that was replicated, and nothing that was acknowledged after the failover.
    expect(lost.filter((id) => safe.has(id) || !before.has(id))).toEqual([])
    expect(lost.length).toBeGreaterThan(100)
    console.info(`Lost ${lost.length} of ${load.acknowledged.size} acknowledged enqueues.`)
    expect(losses).toContainEqual(expect.stringMatching(/^Redis has lost the last \d+ changes of "bare"/))
    // A job whose success was replicated is not run again.
    const finished = [...safe].filter(([id]) => !unfinished.has(id))
    expect(finished.filter(([, n]) => load.handled.get(n) !== 1)).toEqual([])
  })

  it('loses nothing when it may not acknowledge alone; then its successor needs a replica, too', async (t) => {
    const cluster = await startNodes(t, { 'min-replicas-to-write': '1' })
    const losses: string[] = []
    const skep = openSkep(cluster, 'strict', (message) => void losses.push(message))
    await skep.ready()
    const before = await skep.enqueueMany(mail, [0, 1, 2])
    const master = await cluster.ownerOf('{strict}:meta')
    await replicated(master)
    const admin = await cutReplica(master)
    let isAcknowledged = false
    const enqueued = skep.enqueueMany(mail, [3, 4, 5]).then((jobs) => {
      isAcknowledged = true
      return jobs
    })
    expect(await admin.set('{strict}:own', '1').catch(String)).toContain('NOREPLICAS')

    await failover(cluster, master, 'strict')
    const successor = await cluster.ownerOf('{strict}:meta')
    expect(await successor.cli('SET', '{strict}:own', '1')).toContain('NOREPLICAS')
    expect(isAcknowledged).toBe(false)
    await master.restart()

    const after = await enqueued
    const handled: unknown[] = []
    skep.worker([
      mail.handle(({ payload }) => {
        handled.push(payload)
        return payload
      }),
    ])
    expect(await Promise.all([...before, ...after].map((job) => job.result()))).toEqual([0, 1, 2, 3, 4, 5])
    expect(handled).toHaveLength(6)
    expect(losses).toEqual([])
  })

  it('reports what its replica lacked, and has all that was acknowledged before and after', async (t) => {
    const cluster = await startNodes(t)
    const losses: string[] = []
    const skep = openSkep(cluster, 'late', (message) => void losses.push(message))
    await skep.ready()
    const numbers = (from: number): number[] => Array.from({ length: 20 }, (_, n) => from + n)
    const before = await skep.enqueueMany(mail, numbers(0))
    const master = await cluster.ownerOf('{late}:meta')
    await replicated(master)
    await cutReplica(master)
    const lost = await skep.enqueueMany(mail, numbers(100))
    expect(losses).toEqual([])

    await failover(cluster, master, 'late')
    const after = await skep.enqueueMany(mail, numbers(200))

    expect(losses).toEqual([expect.stringMatching(/^Redis has lost the last \d+ changes of "late"/)])
    const there = async (jobs: readonly { readonly id: string }[]): Promise<unknown[]> =>
      Promise.all(jobs.map(async ({ id }) => (await skep.jobs.get(id))?.payload))
    expect(await there(before)).toEqual(numbers(0))
    expect(await there(lost)).toEqual(lost.map(() => undefined))
    expect(await there(after)).toEqual(numbers(200))
    const handled: number[] = []
    const worker = skep.worker([
      mail.handle(({ payload }) => {
        handled.push(payload)
        return payload
      }),
    ])
    expect(await Promise.all([...before, ...after].map((job) => job.result()))).toEqual([
      ...numbers(0),
      ...numbers(200),
    ])
    expect(handled).toHaveLength(40)
    await worker.stop()
    expect(losses).toHaveLength(1)
  })

  it('has the acknowledgements of receivers afterwards that were sent meanwhile', async (t) => {
    const cluster = await startNodes(t)
    const skep = openSkep(cluster, 'acks')
    const hub = hubOf(skep, { ackGrace: '1s', worker: { lease: '60s' } })
    onTestFinished(() => hub.close({ drain: 0 }))
    const fake = new FakeReceiver()
    fake.receiver = await hub.connect({
      caller: caller(),
      queues: ['mail'],
      credits: 100,
      protocol: 'http',
      ...fake.options,
    })
    const numbers = Array.from({ length: 100 }, (_, n) => n)
    await skep.enqueueMany(mail, numbers)
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(100), patience)

    const master = await cluster.ownerOf('{acks}:meta')
    await master.kill()
    const given = [...fake.jobs]
    const { saved, results } = await fake.ackWithTokens(given)

    expect([saved, new Set(results.map(({ status }) => status))]).toEqual([0, new Set(['unknown'])])
    const answers = await fake.ackUntilKnown(given)
    expect(new Set(answers.values())).toEqual(new Set(['saved']))
    for (const { id, token } of given) {
      expect(await skep.jobs.get(id)).toMatchObject({ state: 'done', result: token, starts: 1, lost: 0 })
    }
    // Nothing ran again.
    expect(fake.jobs).toHaveLength(100)
  })

  it('has the acknowledgements that reached a server over HTTP meanwhile', async (t) => {
    const cluster = await startNodes(t)
    const skep = openSkep(cluster, 'http')
    await skep.ready()
    const receivers = await deliverJobs(skep, { count: 100, protocols: ['http'] })
    const master = await cluster.ownerOf('{http}:meta')
    await replicated(master)

    await master.kill()
    expect(await receivers.ackOnce()).toEqual(new Set(['unknown']))
    await promoted(cluster, 'http')

    expect(await receivers.ackAll()).toEqual({ lost: 0, doubled: 0, done: 100 })
  })
})
