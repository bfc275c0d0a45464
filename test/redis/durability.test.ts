import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type RedisStoreOptions, redisStore } from '../../src/redis.ts'
import type { Durability } from '../../src/store/store.ts'
import { type RedisServer, startRedis } from '../servers/index.ts'
import { codeOf, newJobs } from './world.ts'

const SAFE = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
  maxmemory: '200mb',
}
let redis: RedisServer

beforeAll(async () => {
  const started = await startRedis({ appendfsync: 'always' })
  if (!started.redis) throw new Error(started.reason)
  redis = started.redis
}, 60_000)
afterAll(() => redis.stop())
beforeEach(() => set(SAFE))

async function set(settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await redis.cli('CONFIG', 'SET', name, value)
}

async function check(options: Partial<RedisStoreOptions> = {}): Promise<Durability> {
  const store = redisStore({ url: redis.url, ...options } as RedisStoreOptions)
  onTestFinished(() => store.close())
  return store.ready()
}

describe('what an ok of Redis means', () => {
  it('is that it is on the disk, with a log that is synced before every answer', async () => {
    const { level, detail, warnings } = await check()

    expect(level).toBe('disk')
    expect(detail).toMatch(
      /^(Redis|Valkey) \d+\.\d+\.\d+, appendonly yes, appendfsync always, maxmemory-policy noeviction, 0 replicas\. No replica is waited for: a failover may lose the last jobs that were acknowledged\.$/,
    )
    expect(warnings).toEqual([])
  })

  it('is that replicas have it, too, when they are waited for', async () => {
    expect((await check({ wait: { replicas: 1 } })).detail).toMatch(
      / Every job that was acknowledged is on 1 replica\.$/,
    )
    expect((await check({ wait: { replicas: 2 } })).detail).toMatch(/ is on 2 replicas\.$/)
  })

  it.each([
    ['appendonly no', 'noAof', 'memory', 'appendonly yes'],
    ['appendfsync everysec', 'lateFsync', 'process', 'appendfsync always'],
    ['appendfsync no', 'lateFsync', 'process', 'appendfsync always'],
    ['maxmemory-policy allkeys-lru', 'eviction', 'disk', 'maxmemory-policy noeviction'],
    ['maxmemory-policy volatile-ttl', 'eviction', 'disk', 'maxmemory-policy noeviction'],
  ])('is too little with %s, unless %s is accepted', async (setting, option, level, cure) => {
    const [name, value] = setting.split(' ') as [string, string]
    await set({ [name]: value })

    await expect(check()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining(`Set "${cure}", or accept the loss with unsafe: { ${option}: true }.`),
      facts: { option },
    })

    expect((await check({ unsafe: { [option]: true } })).level).toBe(level)
  })

  it('needs each loss to be accepted by itself', async () => {
    await set({ appendonly: 'no', 'maxmemory-policy': 'allkeys-lru' })

    expect(await codeOf(check({ unsafe: { noAof: true } }))).toBe('STORE_UNSAFE')
    expect(await codeOf(check({ unsafe: { eviction: true } }))).toBe('STORE_UNSAFE')
    expect(await codeOf(check({ unsafe: { noAof: true, eviction: true } }))).toBe('ok')
  })

  it('comes with a warning where memory has no bound', async () => {
    await set({ maxmemory: '0' })

    const { warnings } = await check()

    expect(warnings).toEqual(['maxmemory is not set: the system may end the server when memory is full.'])
  })

  it('is nothing on a replica, which takes no jobs', async () => {
    await redis.cli('REPLICAOF', '127.0.0.1', '1')
    onTestFinished(async () => {
      await redis.cli('REPLICAOF', 'NO', 'ONE')
    })

    const { warnings } = await check()
    const store = redisStore({ url: redis.url })
    onTestFinished(() => store.close())

    expect(warnings).toEqual(['The server is a replica, so it is read-only until it is promoted.'])
    await expect(store.insert({ jobs: newJobs(1) })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('READONLY'),
    })
  })
})
