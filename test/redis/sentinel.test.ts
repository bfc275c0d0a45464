import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import type { RedisStoreOptions } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { MASTER_NAME, type SentinelGroup, startSentinels } from '../servers/index.ts'
import { codeOf, countOf, createCrew, eventually, newJobs, openStore, range } from './world.ts'

interface Scene extends SentinelGroup {
  open(options?: Partial<RedisStoreOptions>): Promise<Store>
  /** Waits until another than the first server is the master. */
  failover(): Promise<void>
}

async function createScene(t: TestContext): Promise<Scene> {
  const { group, reason } = await startSentinels()
  if (!group) return t.skip(reason)
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
  it('loses nothing when the replicas had everything, and a worker goes on', async (t) => {
    const scene = await createScene(t)
    const losses: string[] = []
    const onLoss = (message: string): void => void losses.push(message)
    const crew = createCrew(await scene.open({ onLoss, wait: { replicas: 1 } }))
    await crew.done(await crew.enqueue(range(0, 20)))
    const enqueuing = crew.enqueue(range(20, 120))

    await eventually('some to be enqueued', () => crew.handled.size > 30)
    await scene.servers[0].kill()
    await scene.failover()

    const acknowledged = await enqueuing
    await crew.done(acknowledged)
    const more = await crew.enqueue(range(120, 130))
    expect(more).toHaveLength(10)
    await crew.done(more)
    expect(losses).toEqual([])
  }, 60_000)

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
  }, 60_000)
})
