import { Cluster, Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { redisStore } from '../../src/redis.ts'
import { caller, FakeReceiver, hubOf } from '../receivers/support/scene.ts'
import { type RedisCluster, type RedisServer, startCluster } from '../servers/index.ts'

const mail = queue<number, number>('mail')
const patience = { timeout: 90_000, interval: 50 }

async function startNodes(t: TestContext): Promise<RedisCluster> {
  const { cluster, reason } = await startCluster({ replicas: true })
  if (!cluster) return t.skip(reason)
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
    store: redisStore({ client, prefix, onLoss, callTimeoutMs: 3_000 }),
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
  await vi.waitFor(() => cluster.ownerOf(`{${prefix}}:meta`), patience)
}

/** Waits until the replica of this master has all that was written. */
async function replicated(master: RedisServer): Promise<void> {
  await vi.waitFor(async () => {
    const info = await master.cli('INFO', 'replication')
    const written = /master_repl_offset:(\d+)/.exec(info)?.[1]
    expect(/slave0:.*state=online,offset=(\d+)/.exec(info)?.[1]).toBe(written)
  }, patience)
}

/** From now on nothing reaches the replica, and clients that are connected notice nothing of it. */
async function cutReplica(master: RedisServer): Promise<void> {
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
}

describe('a master of a cluster that is killed under load', { timeout: 240_000 }, () => {
  it('loses nothing and repeats nothing that its replica had', async (t) => {
    const cluster = await startNodes(t)
    const losses: string[] = []
    const onLoss = (message: string): void => void losses.push(message)
    const [producer, consumer] = [openSkep(cluster, 'load', onLoss), openSkep(cluster, 'load', onLoss)]
    await producer.ready()
    const handled = new Map<number, number>()
    const acknowledged = new Set<string>()
    const failures: unknown[] = []
    let next = 0
    let isOver = false
    const callers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        try {
          acknowledged.add((await producer.enqueue(mail, next++)).id)
        } catch (error) {
          failures.push(error)
        }
      }
    })
    consumer.worker(
      [
        mail.handle(({ payload }) => {
          handled.set(payload, (handled.get(payload) ?? 0) + 1)
          return payload
        }),
      ],
      { concurrency: 10, lease: '60s' },
    )
    await vi.waitFor(() => expect(handled.size).toBeGreaterThan(200), patience)

    // A cluster replicates after it has answered. From here on it answers nothing, so its replica gets all that was acknowledged.
    const master = await cluster.ownerOf('{load}:meta')
    await master.cli('CLIENT', 'PAUSE', '60000', 'WRITE')
    await replicated(master)
    await failover(cluster, master, 'load')
    const before = acknowledged.size

    await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before + 200), patience)
    isOver = true
    await Promise.all(callers)
    await vi.waitFor(async () => {
      const [counts] = await producer.counts([mail])
      expect(counts).toMatchObject({ ready: 0, running: 0, delayed: 0 })
    }, patience)
    expect(failures).toEqual([])
    expect(losses).toEqual([])
    const states = await Promise.all([...acknowledged].map(async (id) => (await producer.get(id))?.state))
    expect(states.filter((state) => state !== 'done')).toEqual([])
    expect([...handled].filter(([, times]) => times !== 1)).toEqual([])
    expect(handled.size).toBe(acknowledged.size)
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
      Promise.all(jobs.map(async ({ id }) => (await skep.get(id))?.payload))
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
    const [first] = await skep.enqueueMany(mail, numbers)
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(100), patience)

    const master = await cluster.ownerOf('{acks}:meta')
    await master.kill()
    const { saved, results } = await fake.ack(fake.jobs, { done: 1 })

    expect([saved, new Set(results.map(({ status }) => status))]).toEqual([0, new Set(['unknown'])])
    await vi.waitFor(async () => {
      const [counts] = await skep.counts([mail])
      expect(counts).toMatchObject({ done: 100, running: 0, ready: 0 })
    }, patience)
    expect(fake.jobs).toHaveLength(100)
    expect(await skep.get(first?.id as string)).toMatchObject({ starts: 1, lost: 0, result: 1 })
  })
})
