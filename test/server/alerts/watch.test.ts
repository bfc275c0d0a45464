/** Servers that watch, a store that they share, and somebody who is told over a real connection. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSkep, queue, type Store, silentLogger, sleepFor } from 'skep'
import { memoryStore } from 'skep/memory'
import { type VirtualRuntime, virtualRuntime } from 'skep/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Attention } from '../../../src/operations/schema/wire-types.ts'
import { type AlertMessage, verifyAlert } from '../../../src/server/alerts/message.ts'
import { type AlertHook, resolveHooks } from '../../../src/server/alerts/options.ts'
import { AlertWatch } from '../../../src/server/alerts/watch.ts'
import { startServer } from '../support.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const dead: Attention = { level: 'warning', kind: 'dead', text: '3 jobs of mail died.', link: '/jobs?q=mail' }

interface Told {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Somebody who is told. `answer` says with which status. */
async function ear(
  answer: () => number | null = () => 200,
): Promise<{ readonly url: string; readonly told: Told[] }> {
  const told: Told[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      told.push({ headers: request.headers, body })
      const status = answer()
      if (status === null) request.socket.destroy()
      else response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, told }
}

interface Scene {
  readonly runtime: VirtualRuntime
  readonly store: Store
  seen: readonly Attention[]
  looks: number
  /** How long a look takes. */
  lookMs: number
  /** Another server on the same store. */
  watch(hook: AlertHook): AlertWatch
  /** Lets time pass; what is sent meanwhile arrives. */
  pass(ms: number): Promise<void>
}

async function scene(): Promise<Scene> {
  const runtime = virtualRuntime({ seed: 1 })
  const store = memoryStore({ runtime })
  await store.ready()
  const watches: AlertWatch[] = []
  onTestFinished(async () => {
    await Promise.all(watches.map((watch) => watch.close()))
    await store.close()
  })
  const made: Scene = {
    runtime,
    store,
    seen: [],
    looks: 0,
    lookMs: 0,
    watch(hook) {
      const watch = new AlertWatch(
        {
          records: store,
          runtime,
          logger: silentLogger,
          environment: 'production',
          look: async () => {
            made.looks += 1
            if (made.lookMs > 0) await sleepFor(runtime, made.lookMs)
            return made.seen
          },
        },
        resolveHooks([hook], 'acme'),
      )
      watches.push(watch)
      return watch
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= 5_000) {
        await runtime.advance(Math.min(left, 5_000))
        // Connections are real and need real time.
        await new Promise((resolve) => setTimeout(resolve, 15))
        await runtime.settle()
      }
    },
  }
  return made
}

function hookOf(url: string, options: Partial<AlertHook> = {}): AlertHook {
  return { url, secret: SECRET, allow: ['127.0.0.1'], ...options }
}

describe('alerts', () => {
  it('tell what needs attention, once, and that it is over', async () => {
    const world = await scene()
    const { url, told } = await ear()
    world.watch(hookOf(url))
    world.seen = [dead]
    await world.pass(180_000)
    world.seen = []
    await world.pass(180_000)

    const messages = told.map(({ headers, body }) =>
      verifyAlert(SECRET, { headers, body, now: world.runtime.now() }),
    )
    expect(messages.map(({ type, text }) => `${type} ${text}`)).toEqual([
      'alert.opened [production, acme] 3 jobs of mail died.',
      'alert.resolved [production, acme] Resolved: 3 jobs of mail died.',
    ])
    expect(messages[0]?.data).toMatchObject({ ...dead, space: 'acme', environment: 'production' })
  })

  it('are told by one of several servers, and by another when that one is gone', async () => {
    const world = await scene()
    const { url, told } = await ear()
    const first = world.watch(hookOf(url))
    await world.pass(1_000)
    world.watch(hookOf(url))
    world.watch(hookOf(url))
    world.seen = [dead]
    await world.pass(150_000)
    expect(told).toHaveLength(1)
    // One looks, not three.
    expect(world.looks).toBeLessThan(15)

    await first.close()
    world.seen = []
    await world.pass(240_000)
    expect(told.map(({ body }) => (JSON.parse(body) as AlertMessage).type)).toEqual([
      'alert.opened',
      'alert.resolved',
    ])
  })

  it('are told once by servers that look in the same moment', async () => {
    const world = await scene()
    const { url, told } = await ear()
    world.seen = [dead]
    // Nobody is on duty yet, and all of them read before one writes.
    world.lookMs = 1_000
    for (let n = 0; n < 5; n++) world.watch(hookOf(url, { after: 0 }))
    await world.pass(120_000)

    expect(told).toHaveLength(1)
  })

  it('are sent again with the same id until somebody takes them', async () => {
    const world = await scene()
    const answers: (number | null)[] = [500, null, 302, 404]
    const { url, told } = await ear(() => (answers.length === 0 ? 204 : (answers.shift() as number | null)))
    const watch = world.watch(hookOf(url))
    world.seen = [dead]
    await world.pass(90_000)
    expect(await watch.checks('acme')).toMatchObject([
      { status: 'failed', text: expect.stringMatching(/1 pending/) },
    ])
    await world.pass(600_000)

    expect(told).toHaveLength(5)
    expect(new Set(told.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(await watch.checks('acme')).toMatchObject([{ status: 'ok' }])
    expect(await watch.checks('other')).toEqual([])
  })

  it('outlive the server that found them', async () => {
    const world = await scene()
    let isUp = false
    const { url, told } = await ear(() => (isUp ? 200 : null))
    const first = world.watch(hookOf(url))
    world.seen = [dead]
    await world.pass(90_000)
    await first.close()
    isUp = true
    const before = told.length
    world.watch(hookOf(url))
    await world.pass(600_000)

    expect(before).toBeGreaterThan(0)
    expect(told.length).toBe(before + 1)
    expect(told.at(-1)?.headers['webhook-id']).toBe(told[0]?.headers['webhook-id'])
  })

  it('go on when the store was away for a while', async () => {
    const world = await scene()
    const { url, told } = await ear()
    let isAway = true
    const getRecords = world.store.getRecords.bind(world.store)
    Object.assign(world.store, {
      getRecords: (call: Parameters<typeof getRecords>[0]) =>
        isAway ? Promise.reject(new Error('away')) : getRecords(call),
    })
    world.watch(hookOf(url))
    world.seen = [dead]
    await world.pass(60_000)
    isAway = false
    await world.pass(120_000)

    expect(told).toHaveLength(1)
  })
})

describe('a server with alerts', () => {
  it('tells of a queue that nobody serves, and says on the page of the system how that went', async () => {
    const { url, told } = await ear()
    const store = memoryStore()
    const producer = createSkep({ store, logger: silentLogger })
    onTestFinished(() => producer.close())
    await producer.enqueue(queue<number>('mail'), 1)
    const { call } = await startServer(
      { alerts: [hookOf(url, { after: 0 })], environment: 'test' },
      { store },
    )

    await expect.poll(() => told.length, { timeout: 40_000, interval: 100 }).toBe(1)
    const [{ headers, body }] = told as [Told]
    const { data } = verifyAlert(SECRET, { headers, body })
    expect(data).toMatchObject({ kind: 'no-worker', level: 'critical', environment: 'test' })
    const { checks } = await call('system.get', {})
    const host = new URL(url).host
    await expect
      .poll(async () => (await call('system.get', {})).checks.find(({ name }) => name.includes(host))?.text)
      .toMatch(/delivered/)
    expect(checks.length).toBeGreaterThan(1)
  }, 60_000)

  it.each([
    ['no address', { url: 'hooks' }],
    ['http', { url: 'http://hooks.example.com/' }],
    ['this machine', { url: 'https://127.0.0.1/', allow: [] }],
    ['no secret', { secret: [] }],
    ['a weak secret', { secret: 'whsec_abc' }],
    ['too often', { every: '1s' }],
    ['a kind that is none', { kinds: ['died'] }],
    ['no kinds', { kinds: [] }],
    ['a level that is none', { level: 'severe' }],
    ['no space', { spaces: [] }],
    ['a wrong network', { allow: ['10.0.0.0/99'] }],
  ] as const)('does not start with %s', async (_what, change) => {
    const hook = { ...hookOf('https://hooks.example.com/'), ...change } as AlertHook
    await expect(startServer({ alerts: [hook] })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  it('does not start with two hooks of one address', async () => {
    const hook = hookOf('https://hooks.example.com/')
    await expect(startServer({ alerts: [hook, hook] })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})
