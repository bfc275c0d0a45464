import { Redis as IoRedis5 } from 'ioredis-5'
import { createClient, createCluster, createSentinel } from 'redis'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type NodeRedisLike, redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { describeStore } from '../../src/testing.ts'
import {
  codeOf,
  countOf,
  createCrew,
  createWorld,
  eventually,
  finish,
  ioredis,
  newJob,
  newJobs,
  openStore,
  pause,
  range,
  sharedUrl,
  take,
  uuid,
} from './world.ts'

const UNSAFE = { lateFsync: true }

/** A client of node-redis, which nobody connects: the store makes its own from it. */
function nodeRedis(url: string, options: object = {}): NodeRedisLike {
  return createClient({ url, ...options }) as unknown as NodeRedisLike
}

/** A client of the oldest ioredis in the range of peers, ended when the test ends. */
function ioredis5(url: string): NodeRedisLike {
  const client = new IoRedis5(url)
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client as unknown as NodeRedisLike
}

const prefix = `clients-${uuid()}`
let opened = 0
async function open(number = ++opened): Promise<Store> {
  const store = redisStore({ client: nodeRedis(sharedUrl), prefix: `${prefix}-${number}`, unsafe: UNSAFE })
  await store.ready()
  return store
}

// What passes through a client is the same for all operations, so a choice is enough.
const CHOICE = /store$|^(life|content|insert|settle$|claim$|workers|notes|the life of notes|two handles$)/
const choose = (name: string, body: () => void): void => {
  if (CHOICE.test(name)) describe(name, body)
}
describeStore('node-redis store', open, { describe: choose as never, it }, { reopen: () => open(opened) })

const opened5 = new Map<Store, { readonly client: IoRedis5; readonly name: string }>()
async function open5(name = `${prefix}-5-${++opened}`): Promise<Store> {
  const client = new IoRedis5(sharedUrl)
  const store = redisStore({ client: client as never, prefix: name, unsafe: UNSAFE })
  await store.ready()
  opened5.set(store, { client, name })
  return store
}
afterAll(() => {
  for (const { client } of opened5.values()) client.disconnect()
})
describeStore(
  'ioredis 5 store',
  open5,
  { describe: choose as never, it },
  { reopen: (store) => open5(opened5.get(store)?.name) },
)

it.each([
  ['ioredis, RESP2', () => ioredis(sharedUrl, { protocol: 2 } as object)],
  ['ioredis 5', () => ioredis5(sharedUrl)],
  ['ioredis, RESP3', () => ioredis(sharedUrl, { protocol: 3, replyMapping: 'resp3' } as object)],
  ['node-redis, RESP2', () => nodeRedis(sharedUrl, { RESP: 2 })],
  ['node-redis, RESP3', () => nodeRedis(sharedUrl, { RESP: 3 })],
])('says how durable it is, runs jobs and knows who is there, with %s', async (_, connect) => {
  const store = await openStore({
    client: connect() as NodeRedisLike,
    prefix: `clients-${uuid()}`,
    unsafe: UNSAFE,
  })
  const crew = createCrew(store)
  await crew.done(await crew.enqueue(range(0, 10)))

  expect((await store.ready()).detail).toMatch(
    /^(Redis|Valkey) \d+\.\d+\.\d+, appendonly yes, appendfsync everysec/,
  )
  const { workers } = await store.workers({})
  expect(workers.map(({ life }) => life)).toEqual(['here'])
})

describe.each([
  ['ioredis', (url: string) => ioredis(url) as unknown as NodeRedisLike],
  ['ioredis 5', ioredis5],
  ['node-redis', (url: string) => nodeRedis(url)],
])('with a client of %s', (_, connect) => {
  it('tells apart what was sent and what was not, comes back, and waits for nothing for ever', async (t) => {
    const world = await createWorld(t)
    const client = connect(world.url)
    const store = await world.open({ client, callTimeoutMs: 1_000 })
    const [first, second, third] = newJobs(3).map((job) => [job] as const)

    // Taken by the server and not answered, because its connection is cut.
    world.pause()
    const cut = codeOf(store.insert({ jobs: first ?? [], fresh: true }))
    expect(await codeOf(world.open({ client, callTimeoutMs: 300 }))).toBe('STORE_UNAVAILABLE')
    await world.kill()
    expect(await cut).toBe('STORE_UNKNOWN')
    expect(await codeOf(store.insert({ jobs: second ?? [] }))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(world.open({ client }))).toBe('STORE_UNAVAILABLE')
    await world.restart()
    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')

    // Not answered in time, and a connection that is thrown away for it.
    world.pause()
    expect(await codeOf(store.insert({ jobs: third ?? [] }))).toBe('STORE_UNKNOWN')
    world.resume()
    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')
    await store.insert({ jobs: third ?? [], again: true })
    const jobs = await take(store)
    expect(jobs.map(({ id }) => id)).toContain(third?.[0].id)
    expect(jobs.map(({ id }) => id)).not.toContain(second?.[0].id)
    await finish(store, jobs)
    expect(await countOf(store)).toMatchObject({ ready: 0, running: 0, done: jobs.length })
  })

  it('runs jobs while its connections are killed', async (t) => {
    const world = await createWorld(t)
    const crew = createCrew(await world.open({ client: connect(world.url) }))
    const enqueuing = crew.enqueue(range(0, 60))
    for (let kills = 0; kills < 5; kills++) {
      await world.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await pause(60)
    }

    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(60)
    await crew.done(acknowledged)
  })
})

describe('a client', () => {
  it('keeps no call longer than the store wants, whatever its own options say', async (t) => {
    const world = await createWorld(t)
    const client = nodeRedis(world.url, { commandOptions: { timeout: 100 } })
    const store = await world.open({ client })
    await world.cli('CLIENT', 'PAUSE', '400', 'ALL')

    expect(await codeOf(store.insert({ jobs: [newJob()] }))).toBe('ok')
  })

  it('changes neither keys nor replies, whatever its own options say', async () => {
    const name = `clients-${uuid()}`
    const options = { keyPrefix: 'app:', stringNumbers: true, commandTimeout: 1, readOnly: true }
    const store = await openStore({ client: ioredis(sharedUrl, options), prefix: name, unsafe: UNSAFE })
    const other = await openStore({ url: sharedUrl, prefix: name, unsafe: UNSAFE })

    await store.insert({ jobs: newJobs(3) })

    expect(await countOf(other)).toMatchObject({ ready: 3 })
    expect(await take(store)).toHaveLength(3)
  })

  it('that stops to connect is made to go on', async (t) => {
    const world = await createWorld(t)
    const store = await world.open({ client: ioredis(world.url, { retryStrategy: () => null }) })
    const other = await world.open({ client: nodeRedis(world.url, { socket: { reconnectStrategy: false } }) })

    await world.kill()
    await pause(200)
    await world.restart()

    for (const one of [store, other]) {
      await eventually('the store to be back', async () => (await codeOf(countOf(one))) === 'ok')
    }
  })

  it.each([
    ['createCluster', () => createCluster({ rootNodes: [{ url: sharedUrl }] })],
    [
      'createSentinel',
      () => createSentinel({ name: 'skep', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
    ],
  ])('of node-redis made by %s is refused, with what to use instead', (name, create) => {
    expect(() => redisStore({ client: create() as never })).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        message: expect.stringMatching(new RegExp(`${name} .* give it a client of ioredis`)),
      }),
    )
  })

  it('that is none is refused', () => {
    expect(() => redisStore({ client: {} as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})
