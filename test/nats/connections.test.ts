import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { NOTICE_IDS } from '../../src/notifier/notices.ts'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import { type NatsServer, startNats } from '../servers/index.ts'
import { ask, eventually, gets, openConnection, openNotifier, openServer, workerOf } from './world.ts'

let nats: NatsServer
beforeAll(async () => {
  const started = await startNats()
  if (!started.nats) throw new Error(`There is no NATS for the tests: ${started.reason}`)
  nats = started.nats
}, 300_000)
afterAll(() => nats?.stop())

let opened = 0
const newPrefix = (): string => `connections-${++opened}`

const codeOf = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => 'no error',
    (error: { code?: unknown }) => error.code,
  )

describe("a connection of the user's", () => {
  it('carries hints and notices, and stays open', async () => {
    const connection = await openConnection(nats)
    const prefix = newPrefix()
    const notifier = openNotifier({ connection, prefix })
    const ear = new Ear(notifier)
    await ear.ready()
    const worker = workerOf(notifier)
    const ids = jobIds(60)
    notifier.publish([named(ids), work('report')])
    await Promise.all([gets(worker, ids), ear.hears('report')])

    await notifier.close()
    const { inMsgs } = connection.stats()
    const other = openNotifier({ servers: nats.urls, prefix })
    other.publish([work('report')])
    await other.close()
    await connection.flush()

    expect(connection.isClosed()).toBe(false)
    expect(connection.stats().inMsgs).toBe(inMsgs)
  })

  it('can be asked for dead notices before anything else', async () => {
    const connection = await openConnection(nats)
    const notifier = openNotifier({ connection, prefix: newPrefix() })

    expect(await notifier.notices.dead({ limit: 5 })).toEqual({ notices: [], cursor: null })
  })

  it('is told to be down when they close it', async () => {
    const connection = await openConnection(nats)
    const notifier = openNotifier({ connection, prefix: newPrefix() })
    await new Ear(notifier).ready()

    await connection.close()

    await eventually('the news', () => notifier.health().status === 'down')
    expect(notifier.health().detail).toContain('closed')
  })
})

describe('notices', () => {
  it('are buried when they cannot be read', async () => {
    const prefix = newPrefix()
    const notifier = openNotifier({ servers: nats.urls, prefix })
    const worker = workerOf(notifier)
    const good = jobIds(1)
    notifier.publish([named(good)])
    await gets(worker, good)
    const connection = await openConnection(nats)
    const tooMany = JSON.stringify([0, ...jobIds(NOTICE_IDS + 1)])

    for (const text of ['', 'hello', '[]', '[1]', '["now","x"]', '[0,"../x"]', tooMany]) {
      connection.publish(`${prefix}.notices.acme.mail`, text)
    }

    await eventually(
      'seven dead ones',
      async () => (await notifier.notices.dead({ limit: 10 })).notices.length === 7,
    )
    const { notices } = await notifier.notices.dead({ limit: 10 })
    expect(notices[1]).toMatchObject({ space: 'acme', queue: 'mail', ids: [], reason: 'Not a notice: hello' })
    expect(worker.ids).toEqual(good)
    await eventually('an empty stream', async () => {
      const info = await ask<{ state: { messages: number } }>(connection, `STREAM.INFO.${prefix}-notices`)
      return info.state.messages === 0
    })
  })

  it('that are dead are read past those that somebody removed', async () => {
    const prefix = newPrefix()
    const notifier = openNotifier({ servers: nats.urls, prefix })
    await notifier.notices.dead({ limit: 1 })
    const worker = workerOf(notifier)
    const ids = jobIds(1)
    notifier.publish([named(ids)])
    await gets(worker, ids)
    const connection = await openConnection(nats)
    for (let n = 1; n <= 9; n++)
      await connection.request(`${prefix}.dead`, JSON.stringify({ reason: `${n}` }))
    for (const seq of [1, 3, 4, 5, 6, 7])
      await ask(connection, `STREAM.MSG.DELETE.${prefix}-dead-notices`, { seq })

    const first = await notifier.notices.dead({ limit: 2 })
    const second = await notifier.notices.dead({ limit: 2, cursor: first.cursor })

    expect(first.notices.map(({ reason }) => reason)).toEqual(['2', '8'])
    expect(second.notices.map(({ reason }) => reason)).toEqual(['9'])
    expect(second.cursor).toBe(null)
  })

  it('refuse a limit or a cursor that is none', async () => {
    const { notices } = openNotifier({ servers: nats.urls, prefix: newPrefix() })

    expect(await codeOf(notices.dead({ limit: 0 }))).toBe('OPTION_INVALID')
    expect(await codeOf(notices.dead({ limit: 5, cursor: 'x' }))).toBe('OPTION_INVALID')
  })

  it('are said not to flow where there is no JetStream, while hints do', async () => {
    const plain = await openServer({ jetstream: false })
    const notifier = openNotifier({ servers: plain.urls })
    const other = openNotifier({ servers: plain.urls })
    const ear = new Ear(other)
    await ear.ready()
    expect(other.health().status).toBe('up')

    workerOf(other)
    notifier.publish([work('report')])

    await ear.hears('report')
    await eventually('the news', () => other.health().status === 'down')
    expect(other.health().detail).toContain('notices are not')
    await expect(other.notices.dead({ limit: 1 })).rejects.toThrow()
  })

  it('say when their stream is another than the options ask for, or none of ours', async () => {
    const connection = await openConnection(nats)
    const [file, taken] = [newPrefix(), newPrefix()]
    await ask(connection, `STREAM.CREATE.${taken}-notices`, {
      name: `${taken}-notices`,
      subjects: ['other.>'],
    })
    const first = openNotifier({ servers: nats.urls, prefix: file })
    const ids = jobIds(1)
    first.publish([named(ids)])
    await gets(workerOf(first), ids)

    const memory = openNotifier({ servers: nats.urls, prefix: file, storage: 'memory' })
    const others = openNotifier({ servers: nats.urls, prefix: taken })
    workerOf(memory)
    workerOf(others)

    await eventually('a remark', () => memory.health().detail.includes('in file, not 1 in memory'))
    await eventually('a complaint', () => others.health().detail.includes('is not a work queue'))
    expect([memory.health().status, others.health().status]).toEqual(['up', 'down'])
  })
})

describe('the way in', () => {
  const hears = async (notifier: Notifier): Promise<void> => new Ear(notifier).ready()

  it('takes a name and password, or a token, in the URL or beside it', async () => {
    const [byName, byToken] = await Promise.all([
      openServer({ settings: 'authorization { user: "bee", password: "h@ney" }' }),
      openServer({ settings: 'authorization { token: "s/cret" }' }),
    ])
    const [named1, token] = [byName.urls[0] as string, byToken.urls[0] as string]

    await hears(openNotifier({ servers: named1.replace('://', '://bee:h%40ney@') }))
    await hears(openNotifier({ servers: named1, client: { user: 'bee', pass: 'h@ney' } }))
    await hears(openNotifier({ servers: [token.replace('://', '://s%2Fcret@')] }))

    const stranger = openNotifier({ servers: named1.replace('://', '://bee:wrong@') })
    new Ear(stranger)
    await eventually('a refusal', () => /authorization/i.test(stranger.health().detail))
    expect(stranger.health().status).toBe('down')
  })

  it('lets a user in that may use the own subjects only', async () => {
    const allowed = '["skep.>", "_INBOX.>", "$JS.API.>", "$JS.ACK.skep-notices.>"]'
    const strict = await openServer({
      settings: `authorization { users: [{ user: bee, password: bee, permissions: { publish: ${allowed}, subscribe: ["skep.hints", "_INBOX.>"] } }] }`,
    })
    const notifier = openNotifier({ servers: strict.urls, client: { user: 'bee', pass: 'bee' } })
    const worker = workerOf(notifier)
    const ids = jobIds(2)

    notifier.publish([named(ids)])

    await Promise.all([gets(worker, ids), hears(notifier)])
  })

  it('says so when it may not listen', async () => {
    const strict = await openServer({
      settings:
        'authorization { users: [{ user: bee, password: bee, permissions: { subscribe: ["_INBOX.>"] } }] }',
    })
    const notifier = openNotifier({ servers: strict.urls, client: { user: 'bee', pass: 'bee' } })
    new Ear(notifier)

    await eventually('the news', () => notifier.health().detail.includes('Receives no hints'))

    expect(notifier.health().status).toBe('down')
  })

  it('refuses options that cannot be meant', () => {
    const servers = 'nats://127.0.0.1:1'
    const refused = [
      {},
      { servers: [] },
      { servers: '' },
      { servers: 'http//x y' },
      { servers: 'http://127.0.0.1:4222' },
      { servers, prefix: 'a.b' },
      { servers, prefix: '' },
      { servers, replicas: 0 },
      { servers, replicas: 1.5 },
      { servers, storage: 'tape' as 'file' },
      { servers, domain: 'a.b' },
      { servers, maxAge: 10 },
      { servers, held: 1 },
    ]

    for (const options of refused) {
      expect(() => openNotifier(options), JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    }
  })
})

describe('without the package', () => {
  afterEach(() => vi.doUnmock('@nats-io/transport-node'))

  it('names it in its health, and goes on without', async () => {
    vi.doMock('@nats-io/transport-node', () => {
      throw new Error("Cannot find package '@nats-io/transport-node'")
    })
    const notifier = openNotifier({ servers: nats.urls, prefix: newPrefix() })

    notifier.publish([work('mail')])

    expect(await codeOf(notifier.notices.dead({ limit: 1 }))).toBe('CLIENT_MISSING')
    expect(notifier.health()).toEqual({
      status: 'down',
      detail: expect.stringContaining('The package "@nats-io/transport-node" could not be loaded'),
    })
  })
})
