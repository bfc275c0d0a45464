import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import type { Hint, Notifier } from '../../src/notifier/notifier.ts'
import { postgresStore } from '../../src/postgres.ts'
import { type AnyRedisClient, redisNotifier, redisStore } from '../../src/redis.ts'
import { type Runtime, systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import { FaultProxy } from '../crash/fault-proxy.ts'
import { freshDatabase } from '../servers/index.ts'
import { freePort, type ServerProcess, serverFolder, serverIdentity, startServer } from '../servers/server.ts'

/** A server of this file's own, on a port that stays the same when it is started again. */
let server: ServerProcess | undefined
let port: number

async function startAgain(): Promise<void> {
  const identity = serverIdentity()
  const folder = serverFolder('redis-hints', identity)
  server = await startServer({
    command: 'redis-server',
    args: [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'yes',
    ],
    identity,
    folder,
    stopSignal: 'SIGTERM',
    ping: async () => void (await ask('PING')),
  })
}

async function stopServer(): Promise<void> {
  await server?.stop()
  server = undefined
}

beforeAll(async () => {
  port = await freePort()
})
beforeEach(async () => {
  if (!server) await startAgain()
})
afterAll(stopServer)

/** A command on a connection of its own. */
async function ask(...words: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.call(...words)
  } finally {
    client.disconnect()
  }
}

const FASTER = 10

/** All waits are a tenth of what they would be. */
function hasty(): Runtime {
  const system = systemRuntime()
  return { ...system, timer: (ms, run, options) => system.timer(ms / FASTER, run, options) }
}

let opened = 0
const newPrefix = (): string => `hints-${++opened}`

type Open = (at: number) => AnyRedisClient

const libraries: readonly { readonly name: string; readonly open: Open }[] = [
  { name: 'ioredis', open: (at) => new Redis(at, '127.0.0.1', { lazyConnect: true }) },
  { name: 'node-redis', open: (at) => createClient({ socket: { host: '127.0.0.1', port: at } }) },
]

function openNotifier(client: AnyRedisClient, prefix: string): Notifier {
  const notifier = redisNotifier({ client, prefix, runtime: hasty() })
  onTestFinished(() => notifier.close())
  return notifier
}

async function eventually(what: string, condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 20_000, interval: 10, message: what }).toBe(true)
}

/** Somebody who listens, and somebody in another process who tells. */
function pair(
  open: Open,
  at: number = port,
): { ear: Ear; notifier: Notifier; other: Notifier; syncs(): number } {
  const prefix = newPrefix()
  const notifier = openNotifier(open(at), prefix)
  const other = openNotifier(libraries[0]?.open(port) as AnyRedisClient, prefix)
  const ear = new Ear(notifier)
  return {
    ear,
    notifier,
    other,
    syncs: () => ear.heard.filter(({ kind }: Hint) => kind === 'sync').length,
  }
}

/** Tells it until it is heard: whoever tells may still have to find the server again. */
async function hearsAgain(ear: Ear, other: Notifier, name: string): Promise<void> {
  await eventually(`a hint about ${name}`, () => {
    other.publish([work(name)])
    return ear.about(name).length > 0
  })
}

describe.each(libraries)('the Redis notifier with $name', ({ open }) => {
  it('hears again after its connection was ended, and says that hints may have been missed', async () => {
    const { ear, notifier, other, syncs } = pair(open)
    await ear.ready()

    for (let time = 1; time <= 3; time++) {
      const before = syncs()
      expect(await ask('CLIENT', 'KILL', 'TYPE', 'pubsub')).toBeGreaterThan(0)
      await eventually('the next sync', () => syncs() > before)

      expect(notifier.health().status).toBe('up')
      await hearsAgain(ear, other, `after-${time}`)
    }
    expect(await ask('PUBSUB', 'NUMSUB', `{hints-${opened}}:hints`)).toEqual([`{hints-${opened}}:hints`, 1])
  })

  it('hears again when the server was started anew', async () => {
    const { ear, notifier, other, syncs } = pair(open)
    await ear.ready()

    await stopServer()
    await eventually('the notifier to be down', () => notifier.health().status === 'down')
    const before = syncs()
    await startAgain()

    await eventually('the next sync', () => syncs() > before)
    expect(notifier.health()).toEqual({ status: 'up', detail: 'Listening.' })
    await hearsAgain(ear, other, 'after')
  })

  it('hears when the server was away at the start', async () => {
    await stopServer()
    const { ear, notifier, other } = pair(open)
    await eventually('a failed attempt', () => notifier.health().detail.includes('ECONNREFUSED'))

    notifier.publish([work('here')])
    await ear.hears('here')
    expect(notifier.health().status).toBe('down')
    await startAgain()

    await ear.ready()
    await hearsAgain(ear, other, 'from-there')
  })

  it('notices that a server has stopped answering, and hears again when it goes on', async () => {
    const { ear, notifier, other, syncs } = pair(open)
    await ear.ready()
    const pid = Number(/process_id:(\d+)/.exec(String(await ask('INFO', 'server')))?.[1])

    process.kill(pid, 'SIGSTOP')
    try {
      await eventually('the notifier to be down', () => notifier.health().status === 'down')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    const before = syncs()

    await eventually('the next sync', () => syncs() > before && notifier.health().status === 'up')
    await hearsAgain(ear, other, 'after')
  })

  it('notices that the other end has vanished without a word', async () => {
    const proxy = await FaultProxy.start({ host: '127.0.0.1', port })
    onTestFinished(() => proxy.close())
    const { ear, notifier, other, syncs } = pair(open, proxy.port)
    await ear.ready()

    proxy.set({ blackHole: 'both' })
    await eventually('the notifier to be down', () => notifier.health().status === 'down')
    const before = syncs()
    proxy.heal()

    await eventually('the next sync', () => syncs() > before && notifier.health().status === 'up')
    await hearsAgain(ear, other, 'after')
  })

  it('leaves no connection when it is closed while it connects', async () => {
    const connections = async (): Promise<number> =>
      String(await ask('CLIENT', 'LIST'))
        .trim()
        .split('\n').length
    await expect.poll(connections).toBe(1)

    for (let turns = 0; turns < 30; turns++) {
      const notifier = redisNotifier({ client: open(port), prefix: newPrefix() })
      notifier.subscribe(() => {})
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await notifier.close()
    }

    await expect.poll(connections).toBe(1)
  })

  it('notices that it hears nothing though everything else answers', async () => {
    const way = await deafening()
    const { ear, other, syncs } = pair(open, way.port)
    await ear.ready()
    await hearsAgain(ear, other, 'before')

    const before = syncs()
    way.deafen()

    await eventually('the next sync', () => syncs() > before)
    await hearsAgain(ear, other, 'after')
  })
})

/** A way to the server. Connections that subscribe before `deafen` bring nothing after it, and stay open. */
async function deafening(): Promise<{ readonly port: number; deafen(): void }> {
  const sockets: Socket[] = []
  const subscribed = new Set<Socket>()
  const deaf = new Set<Socket>()
  const relay = createServer((client) => {
    const to = connect(port, '127.0.0.1')
    sockets.push(client, to)
    client.on('data', (bytes) => {
      if (bytes.toString('latin1').toLowerCase().includes('subscribe')) subscribed.add(client)
      to.write(bytes)
    })
    to.on('data', (bytes) => !deaf.has(client) && client.write(bytes))
    for (const [one, other] of [
      [client, to],
      [to, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  return {
    port: (relay.address() as { port: number }).port,
    deafen: () => {
      for (const socket of subscribed) deaf.add(socket)
    },
  }
}

describe('the Redis notifier', () => {
  it('drops what is not a hint', async () => {
    const { ear } = pair(libraries[0]?.open as Open)
    await ear.ready()

    const channel = `{hints-${opened}}:hints`
    for (const junk of ['', 'hello', '[]', '[1]', '[null,["sync"]]', '["x",["work","acme"],["explode"]]']) {
      await ask('PUBLISH', channel, junk)
    }
    await ask('PUBLISH', channel, '["x",["settled","acme","last"]]')

    await ear.hears('last')
    expect(ear.heard).toEqual([{ kind: 'sync' }, { kind: 'settled', space: 'acme', queue: 'last' }])
  })

  it('keeps prefixes apart', async () => {
    const open = libraries[0]?.open as Open
    const [one, another] = [pair(open), pair(open)]
    await Promise.all([one.ear.ready(), another.ear.ready()])

    one.other.publish([work('one')])
    await one.ear.hears('one')
    another.other.publish([work('another')])
    await another.ear.hears('another')

    expect(another.ear.about('one')).toEqual([])
  })

  it('leaves no connection after its close', async () => {
    const notifier = redisNotifier({ url: `redis://127.0.0.1:${port}`, prefix: newPrefix() })
    await new Ear(notifier).ready()
    const named = async (): Promise<number> =>
      String(await ask('CLIENT', 'LIST')).split('name=skep').length - 1
    expect(await named()).toBe(2)

    await notifier.close()

    await expect.poll(named).toBe(0)
  })

  it('closes while the server does not answer', async () => {
    const proxy = await FaultProxy.start({ host: '127.0.0.1', port })
    onTestFinished(() => proxy.close())
    const { ear, notifier } = pair(libraries[0]?.open as Open, proxy.port)
    await ear.ready()
    proxy.set({ blackHole: 'both' })
    notifier.publish([work('mail')])

    await notifier.close()

    expect(notifier.health().status).toBe('down')
  })
})

describe('a worker with hints of Redis', () => {
  const mail = queue<{ n: number }>('mail')

  async function runsAtOnce(open: () => { store: Store; notifier?: Notifier }): Promise<void> {
    const [here, there] = [open(), open()]
    const producer = createSkep({ ...here, logger: silentLogger })
    const consumer = createSkep({ ...there, logger: silentLogger })
    onTestFinished(async () => {
      await Promise.all([producer.close(), consumer.close()])
      await Promise.all([here.notifier?.close(), there.notifier?.close()])
    })
    const ran: number[] = []
    // Nothing but a hint finds a job before the test is over.
    consumer.worker([mail.handle(({ payload }) => void ran.push(payload.n))], { poll: '10m' })
    await consumer.ready()

    for (let n = 0; n < 3; n++) {
      await producer.enqueue(mail, { n })
      await eventually(`job ${n}`, () => ran.includes(n))
    }

    expect(ran).toEqual([0, 1, 2])
  }

  it('runs a job of another process at once', async () => {
    const prefix = newPrefix()
    const url = `redis://127.0.0.1:${port}`

    await runsAtOnce(() => ({ store: redisStore({ url, prefix, unsafe: { lateFsync: true } }) }))
  })

  it('runs a job at once that is in another store', async () => {
    const database = await freshDatabase()
    onTestFinished(() => database.drop())
    const prefix = newPrefix()

    await runsAtOnce(() => ({
      store: postgresStore({ url: database.url, listen: false, migrate: true }),
      notifier: redisNotifier({ url: `redis://127.0.0.1:${port}`, prefix }),
    }))
  })
})
