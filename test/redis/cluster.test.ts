import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RedisStoreOptions, redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { type RedisCluster, startCluster } from '../servers/index.ts'
import {
  codeOf,
  countOf,
  createCrew,
  eventually,
  finish,
  newJob,
  newJobs,
  openStore,
  range,
  take,
} from './world.ts'

let cluster: RedisCluster

beforeAll(async () => {
  const started = await startCluster()
  if (!started.cluster) throw new Error(started.reason)
  cluster = started.cluster
}, 60_000)
afterAll(() => cluster.stop())

function connect(): Cluster {
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, { lazyConnect: true })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}

function open(options: Partial<RedisStoreOptions> = {}): Promise<Store> {
  return openStore({ client: connect(), ...options } as RedisStoreOptions)
}

describe('a cluster of Redis', () => {
  it('has everything of a store in one slot, and stores on all nodes', async () => {
    const owners = new Set<number>()
    for (const prefix of ['one', 'two', 'three', 'four', 'five', 'six']) {
      const store = await open({ prefix })
      await store.insert({ jobs: newJobs(3) })
      await finish(store, await take(store))
      expect(await countOf(store)).toMatchObject({ done: 3 })
      owners.add((await cluster.ownerOf(`{${prefix}}:meta`)).port)
    }

    expect(owners.size).toBeGreaterThan(1)
  })

  it('goes on while a slot moves: calls fail as unavailable until it has moved, and nothing is lost or doubled', async () => {
    const store = await open({ prefix: 'moving' })
    const crew = createCrew(store)
    await crew.done(await crew.enqueue(range(0, 20)))
    const enqueuing = crew.enqueue(range(20, 120))
    const before = await cluster.ownerOf('{moving}:meta')

    const move = await cluster.startMove('{moving}:meta')
    await move.some(3)
    const code = await codeOf(store.insert({ jobs: [newJob()] }))
    await move.finish()

    expect(code).toBe('STORE_UNAVAILABLE')
    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(100)
    await crew.done(acknowledged)
    expect([...crew.handled.values()].every((times) => times === 1)).toBe(true)
    expect((await cluster.ownerOf('{moving}:meta')).port).not.toBe(before.port)
  }, 60_000)

  it('loses no call that a node answered before it was killed, and never calls one unsent that was sent', async () => {
    const store = await open({ prefix: 'killed', callTimeoutMs: 2_000 })
    await store.insert({ jobs: [newJob()] })
    const owner = await cluster.ownerOf('{killed}:meta')
    const jobs = newJobs(100)
    const calls = jobs.map((job) => codeOf(store.insert({ jobs: [job], fresh: true })))
    await calls[0]

    await owner.kill()
    const codes = await Promise.all(calls)
    await owner.restart()

    await eventually('the node to be back', async () => (await codeOf(countOf(store))) === 'ok', 20_000)
    for (const node of cluster.nodes) {
      await eventually('the cluster', async () => (await node.cli('CLUSTER', 'INFO')).includes('state:ok'))
    }
    const { jobs: found } = await store.get({ space: 'acme', ids: jobs.map(({ id }) => id) })
    const fates = codes.map((code, index) => `${code}: ${found[index] ? 'there' : 'not there'}`)
    expect(fates).toContain('ok: there')
    expect(fates).not.toContain('ok: not there')
    expect(fates).not.toContain('STORE_UNAVAILABLE: there')
  }, 60_000)

  it('can neither be asked for replicas nor for the life of workers, and says so', async () => {
    const client = connect()

    expect(() => redisStore({ client, wait: { replicas: 1 } })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
    expect((await open()).capabilities.liveness).toBe(false)
  })

  it('is not used through a client for one server, which is told what to use', async () => {
    const owner = await cluster.ownerOf('{skep}:meta')
    const other = cluster.nodes.find((node) => node !== owner)

    await expect(openStore({ url: other?.url as string })).rejects.toMatchObject({
      code: 'STORE_REJECTED',
      message: expect.stringContaining('Give the store a Cluster of ioredis'),
    })
  })

  it('is unsafe when one of its nodes is', async () => {
    const node = cluster.nodes[2]
    await node?.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    onTestFinished(async () => {
      await node?.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    })

    expect(await codeOf(open())).toBe('STORE_UNSAFE')
  })
})
