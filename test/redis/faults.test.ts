import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRuntime } from '../../src/runtime/runtime.ts'
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
  pause,
  range,
  take,
} from './world.ts'

describe('a worker on Redis', () => {
  it('is never deaf, however often all connections are killed', async (t) => {
    const world = await createWorld(t)
    const crew = createCrew(await world.open())
    const enqueuing = crew.enqueue(range(0, 200))
    for (let kills = 0; kills < 10; kills++) {
      await world.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await pause(60)
    }

    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(200)
    await crew.done(acknowledged)
    const more = await crew.enqueue(range(200, 210))
    await crew.done(more, 3_000)
  })

  it('does not mind that the server forgets the script', async (t) => {
    const world = await createWorld(t)
    const crew = createCrew(await world.open())
    const enqueuing = crew.enqueue(range(0, 100))
    for (let flushes = 0; flushes < 10; flushes++) await world.cli('SCRIPT', 'FLUSH')

    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(100)
    await crew.done(acknowledged)
    expect([...crew.handled.values()].every((times) => times === 1)).toBe(true)
  })

  it('waits for a server that stands still, and nothing is lost or doubled', async (t) => {
    const world = await createWorld(t)
    const crew = createCrew(await world.open({ callTimeoutMs: 500 }))
    await crew.done(await crew.enqueue(range(0, 20)))

    world.pause()
    const enqueuing = crew.enqueue(range(20, 40))
    await pause(1_500)
    world.resume()

    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(20)
    await crew.done(acknowledged)
    await pause(300)
    expect([...crew.handled.entries()].filter(([, times]) => times > 1)).toEqual([])
    expect(crew.handled.size).toBe(40)
  })
})

describe('a call to Redis', () => {
  it('is unknown when the server took it and does not answer, and can be repeated', async (t) => {
    const world = await createWorld(t)
    const store = await world.open({ callTimeoutMs: 300 })
    const job = newJob()

    world.pause()
    const code = await codeOf(store.insert({ jobs: [job], fresh: true }))
    const next = await codeOf(store.insert({ jobs: [newJob()] }))
    world.resume()

    expect(code).toBe('STORE_UNKNOWN')
    // By then the connection was thrown away, so nothing of it was sent.
    expect(next).toBe('STORE_UNAVAILABLE')
    await eventually('a new connection', async () => (await codeOf(countOf(store))) === 'ok')
    await store.insert({ jobs: [job], again: true })
    expect(await countOf(store)).toMatchObject({ ready: 1 })
  })

  it('that is one of many without an answer throws the connection away once', async (t) => {
    const world = await createWorld(t)
    const store = await world.open({ callTimeoutMs: 300 })
    const warnings: string[] = []
    const listen = (warning: Error): void => void warnings.push(warning.name)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))

    world.pause()
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(countOf(store))))
    world.resume()

    expect(new Set(codes)).toEqual(new Set(['STORE_UNKNOWN']))
    await eventually('a new connection', async () => (await codeOf(countOf(store))) === 'ok')
    // Of a leak: whatever is told of the end of the connection would be told once for each call.
    expect(warnings).toEqual([])
  })

  it('is unknown when clients are paused by an operator', async (t) => {
    const world = await createWorld(t)
    const store = await world.open({ callTimeoutMs: 200 })

    await world.cli('CLIENT', 'PAUSE', '600', 'ALL')

    expect(await codeOf(store.insert({ jobs: newJobs(1) }))).toBe('STORE_UNKNOWN')
    await eventually('the pause to end', async () => (await codeOf(countOf(store))) === 'ok')
  })

  it('is unavailable while the server is busy with a script of somebody else', async (t) => {
    const world = await createWorld(t, { 'lua-time-limit': '50' })
    const store = await world.open()
    const other = ioredis(world.url)
    const endless = codeOf(other.eval('while true do end', 0))

    await eventually(
      'the server to be busy',
      async () => (await codeOf(countOf(store))) === 'STORE_UNAVAILABLE',
    )
    const code = await codeOf(store.insert({ jobs: newJobs(1) }))
    await world.cli('SCRIPT', 'KILL')
    await endless

    expect(code).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(store.insert({ jobs: newJobs(1) }))).toBe('ok')
    expect(await countOf(store)).toMatchObject({ ready: 1 })
  })

  it('that adds jobs is refused when memory is full, and what ends them goes on', async (t) => {
    const world = await createWorld(t)
    const store = await world.open()
    await store.insert({ jobs: newJobs(30, { payload: JSON.stringify('x'.repeat(1_000)) }) })
    const running = await take(store, 10)
    await world.cli('CONFIG', 'SET', 'maxmemory', '1mb')

    await expect(store.insert({ jobs: newJobs(1) })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('The memory of Redis is full'),
    })
    expect(await countOf(store)).toMatchObject({ ready: 20, running: 10 })

    await store.extend({
      leases: running.map(({ space, id, token }) => ({ space, id, token })),
      leaseMs: 60_000,
    })
    await finish(store, running)
    await finish(store, await take(store, 20))
    const { results } = await store.change({
      action: 'remove',
      space: 'acme',
      target: { queue: 'mail', state: 'done', limit: 30 },
      failure: null,
      keepMs: 0,
    })

    expect(results).toHaveLength(30)
    expect(await countOf(store)).toMatchObject({ ready: 0, running: 0, done: 0 })
    await world.cli('CONFIG', 'SET', 'maxmemory', '100mb')
    expect(await codeOf(store.insert({ jobs: newJobs(1) }))).toBe('ok')
  })

  it('does not wait for ever for a server that is away, or stands still, or is reached by a lazy client', async (t) => {
    const world = await createWorld(t)
    const lazy = ioredis(world.url, { lazyConnect: true })
    await world.open({ client: lazy })
    expect(lazy.status).toBe('wait')

    world.pause()
    expect(await codeOf(world.open({ callTimeoutMs: 300 }))).toBe('STORE_UNAVAILABLE')
    world.resume()
    await world.kill()
    expect(await codeOf(world.open())).toBe('STORE_UNAVAILABLE')
  })
})

describe('the settings of Redis', () => {
  it('are looked at again now and then, and with every new connection', async (t) => {
    const world = await createWorld(t)
    const said: string[] = []
    const system = systemRuntime()
    let ahead = 0
    const store = await world.open({
      onUnsafe: (message) => said.push(message),
      runtime: { ...system, mono: () => system.mono() + ahead },
    })
    const worker = {
      id: 'a',
      space: 'acme',
      host: 'here',
      pid: 1,
      queues: ['mail'],
      concurrency: 1,
      running: 0,
      startedAt: 1,
      vitals: '{}',
    }
    await store.attend({ worker })

    await world.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    await store.attend({ worker })
    await store.counts({ space: 'acme' })
    expect(said).toEqual([])
    ahead = 61_000
    await store.attend({ worker })
    await eventually('the news', () => said.length === 1)
    expect(said[0]).toContain('maxmemory-policy allkeys-lru')

    await world.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await world.cli('CONFIG', 'SET', 'appendfsync', 'no')
    await world.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually('more news', () => said.length === 2)
    expect(said[1]).toContain('appendfsync no')
  })
})
