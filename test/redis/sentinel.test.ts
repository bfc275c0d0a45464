import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest'
import { createSkep, type Skep, silentLogger } from '../../src/index.ts'
import type { RedisStoreOptions } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { deliverJobs } from '../receivers/support/public.ts'
import { caller, FakeReceiver, hubOf } from '../receivers/support/scene.ts'
import {
  DOWN_AFTER_MS,
  MASTER_NAME,
  reasonToSkip,
  type SentinelGroup,
  startSentinels,
} from '../servers/index.ts'
import { mail, startLoad } from '../support/load.ts'
import { measureRecovery } from '../support/recovery.ts'
import { codeOf, countOf, createCrew, eventually, newJobs, openStore, range } from './world.ts'

const patience = { timeout: 90_000, interval: 50 }
/** A call that the dead master never answers is repeated when this has passed. */
const CALL_TIMEOUT_MS = 3_000

interface Scene extends SentinelGroup {
  open(options?: Partial<RedisStoreOptions>): Promise<Store>
  /** Waits until another than the first server is the master. */
  failover(): Promise<void>
}

async function createScene(t: TestContext): Promise<Scene> {
  const { group, reason } = await startSentinels()
  if (!group) return t.skip(reasonToSkip(reason ?? ''))
  onTestFinished(() => group.stop())
  return {
    ...group,
    async open(options = {}) {
      const client = new Redis({
        sentinels: [...group.sentinels],
        name: MASTER_NAME,
        lazyConnect: true,
      })
      onTestFinished(() => client.disconnect())
      return openStore({ client, ...options } as RedisStoreOptions)
    },
    async failover() {
      await eventually('a new master', async () => (await group.master()) !== group.servers[0], 20_000)
    },
  }
}

describe('a failover with sentinels', () => {
  it('loses nothing and repeats nothing when the replicas had everything, and a worker goes on', async (t) => {
    const scene = await createScene(t)
    const losses: string[] = []
    const open = async (): Promise<Skep> => {
      const onLoss = (message: string): void => void losses.push(message)
      const store = await scene.open({ onLoss, wait: { replicas: 1 }, callTimeoutMs: CALL_TIMEOUT_MS })
      const skep = createSkep({ store, enqueueTimeout: '60s', logger: silentLogger })
      onTestFinished(() => skep.close())
      return skep
    }
    const producer = await open()
    // A lease is longer than the failover takes, or jobs that are running would rightly run again.
    const load = startLoad(producer, [await open()], '60s')
    await vi.waitFor(() => expect(load.handled.size).toBeGreaterThan(200), patience)

    const timeouts = { 'down-after-milliseconds': DOWN_AFTER_MS, callTimeoutMs: CALL_TIMEOUT_MS }
    await measureRecovery('Redis with sentinels', timeouts, async () => {
      await scene.servers[0].kill()
      await load.runOne()
    })

    const before = load.acknowledged.size
    await vi.waitFor(() => expect(load.acknowledged.size).toBeGreaterThan(before + 200), patience)
    await load.stop()
    await vi.waitFor(async () => {
      const [counts] = await producer.queues.list([mail])
      expect(counts).toMatchObject({ ready: 0, running: 0, delayed: 0 })
    }, patience)
    expect(load.failures).toEqual([])
    expect(losses).toEqual([])
    const ids = [...load.acknowledged.keys()]
    const states = await Promise.all(ids.map(async (id) => (await producer.jobs.get(id))?.state))
    expect(ids.filter((_, index) => states[index] !== 'done')).toEqual([])
    expect([...load.handled].filter(([, times]) => times !== 1)).toEqual([])
    expect(load.handled.size).toBe(load.acknowledged.size)
  }, 240_000)

  it('is told as a loss when the replica that was promoted was behind', async (t) => {
    const scene = await createScene(t)
    const losses: string[] = []
    const store = await scene.open({ onLoss: (message) => void losses.push(message) })
    await store.insert({ jobs: newJobs(1) })
    const [master, ...replicas] = scene.servers
    for (const replica of replicas) {
      await eventually('the replica', async () => (await replica.cli('EXISTS', '{skep}:jobs')) === '1')
    }

    // What is written from now on is acknowledged and reaches no replica.
    for (const replica of replicas) replica.pause()
    await master.cli('CLIENT', 'KILL', 'TYPE', 'replica')
    await store.insert({ jobs: newJobs(1) })
    await store.insert({ jobs: newJobs(1) })
    await master.kill()
    for (const replica of replicas) replica.resume()
    await scene.failover()

    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok', 20_000)
    expect(losses).toEqual([expect.stringContaining('lost the last 2 changes')])
    expect(await countOf(store)).toMatchObject({ ready: 1 })
  }, 60_000)

  it('is waited for by a call that wants replicas, which says unknown while they are away', async (t) => {
    const scene = await createScene(t)
    const store = await scene.open({ wait: { replicas: 1, timeoutMs: 200 } })
    const [job, other] = newJobs(2)

    expect(await codeOf(store.insert({ jobs: [job as never] }))).toBe('ok')
    for (const replica of scene.servers.slice(1)) replica.pause()
    const code = await codeOf(store.insert({ jobs: [other as never] }))
    for (const replica of scene.servers) replica.resume()

    expect(code).toBe('STORE_UNKNOWN')
    expect(await codeOf(store.insert({ jobs: [other as never], again: true }))).toBe('ok')
    expect(await countOf(store)).toMatchObject({ ready: 2 })
  }, 60_000)

  it('leaves a store that is still connected to the old master, which is a replica now, for a moment only', async (t) => {
    const scene = await createScene(t)
    const crew = createCrew(await scene.open())
    await crew.done(await crew.enqueue(range(0, 5)))
    const [master] = scene.servers

    const { host, port } = scene.sentinels[0] as { host: string; port: number }
    const sentinel = new Redis({ host, port })
    onTestFinished(() => sentinel.disconnect())
    await sentinel.call('SENTINEL', 'FAILOVER', MASTER_NAME)
    await scene.failover()
    // It learns from the sentinels that it is a replica now, which takes them a while; a person can be faster.
    const { port: successor } = await scene.master()
    await master.cli('REPLICAOF', '127.0.0.1', String(successor))

    const acknowledged = await crew.enqueue(range(5, 25))
    expect(acknowledged).toHaveLength(20)
    await crew.done(acknowledged)
    expect([...crew.handled.values()]).toEqual(range(0, 25).map(() => 1))
  }, 60_000)

  it('is outlived by acknowledgements of receivers that were sent while there was no master', async (t) => {
    const scene = await createScene(t)
    const store = await scene.open({ wait: { replicas: 1 }, callTimeoutMs: CALL_TIMEOUT_MS })
    const skep = createSkep({ store, enqueueTimeout: '60s', logger: silentLogger })
    onTestFinished(() => skep.close())
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
    await skep.enqueueMany(mail, range(0, 100))
    await vi.waitFor(() => expect(fake.jobs).toHaveLength(100), patience)
    const given = [...fake.jobs]

    await scene.servers[0].kill()
    const { saved, results } = await fake.ackWithTokens(given)
    expect([saved, new Set(results.map(({ status }) => status))]).toEqual([0, new Set(['unknown'])])

    const answers = await fake.ackUntilKnown(given)
    expect(new Set(answers.values())).toEqual(new Set(['saved']))
    for (const { id, token } of given) {
      expect(await skep.jobs.get(id)).toMatchObject({ state: 'done', result: token, starts: 1, lost: 0 })
    }
    expect(fake.jobs).toHaveLength(100)
  }, 240_000)

  it('is outlived by acknowledgements that reach a server over HTTP while there is no master', async (t) => {
    const scene = await createScene(t)
    const store = await scene.open({ wait: { replicas: 1 }, callTimeoutMs: CALL_TIMEOUT_MS })
    const skep = createSkep({ store, enqueueTimeout: '60s', logger: silentLogger })
    onTestFinished(() => skep.close())
    const receivers = await deliverJobs(skep, { count: 100, protocols: ['http'] })

    await scene.servers[0].kill()
    expect(await receivers.ackOnce()).toEqual(new Set(['unknown']))
    await scene.failover()

    expect(await receivers.ackAll()).toEqual({ lost: 0, doubled: 0, done: 100 })
  }, 240_000)
})
