import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSkep,
  JOB_STATES,
  type JobState,
  queue,
  type Skep,
  type Store,
  silentLogger,
  systemRuntime,
} from 'skep'
import { memoryStore } from 'skep/memory'
import { postgresStore } from 'skep/postgres'
import { redisStore } from 'skep/redis'
import { sqliteStore } from 'skep/sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Coming, QueueLister } from '../../../src/operations/services.ts'
import type { Quota } from '../../../src/server/quotas/quotas.ts'
import { ReceiverHub } from '../../../src/server/receivers/receiver-registry.ts'
import { caller, FakeReceiver, scene } from '../../receivers/support/scene.ts'
import { freshDatabase, redisUrlVariable } from '../../servers/index.ts'
import { type Running, startServer } from '../support.ts'
import { desk } from './desk.ts'

/** A space with so many jobs, that counts how often it is asked. */
function having(jobs: number, name = 'mail'): QueueLister & { asked: number } {
  const none = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>
  const space: QueueLister & { asked: number } = {
    asked: 0,
    queues: {
      async list() {
        space.asked += 1
        return [{ ...none, queue: name, ready: jobs, oldestMs: null, unhandled: 0, hold: null, holds: [] }]
      },
    },
  }
  return space
}
const EMPTY = having(0)

function jobs(count: number, name = 'mail', payload: unknown = 1): Coming[] {
  return Array.from({ length: count }, () => ({ queue: name, payload }))
}

describe('a quota', () => {
  it.each([
    ['no number', { storedJobs: Number.NaN }],
    ['a text', { storedJobs: '100' as unknown as number }],
    ['less than nothing', { receivers: -1 }],
    ['unknown', { storedjobs: 100 } as Quota],
  ])('that is %s is refused, and does not let everything in', async (_what, quota) => {
    expect(() => desk({ quotas: { acme: quota } })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
    const { access } = desk({ quotas: () => quota })
    await expect(access.quotas.assertEnqueue('acme', jobs(1), EMPTY)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  })
})

describe('what a space may enqueue', () => {
  it('is bounded in each second, for each space by itself', async () => {
    const { access, runtime } = desk({ quotas: { acme: { enqueuePerSecond: 10 }, '*': {} } })

    await access.quotas.assertEnqueue('acme', jobs(20), EMPTY)
    await expect(access.quotas.assertEnqueue('acme', jobs(10), EMPTY)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      facts: { quota: 'jobs per second', limit: 10, retryAfterMs: 1_000 },
    })
    await access.quotas.assertEnqueue('other', jobs(10_000), EMPTY)
    await runtime.advance(1_000)
    await access.quotas.assertEnqueue('acme', jobs(10), EMPTY)
  })

  it('is counted once in two seconds, with what came in since', async () => {
    const { access, runtime } = desk({
      quotas: (space) => (space === 'acme' ? { storedJobs: 100 } : undefined),
    })
    const stored = having(90)

    // However many ask at once, one looks.
    await Promise.all([1, 2, 3, 4, 5].map(() => access.quotas.assertEnqueue('acme', jobs(1), stored)))
    await access.quotas.assertEnqueue('acme', jobs(5), stored)
    await expect(access.quotas.assertEnqueue('acme', jobs(1), stored)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      facts: { quota: 'stored jobs', retryAfterMs: 5_000 },
    })
    expect(stored.asked).toBe(1)
    await runtime.advance(2_000)
    await access.quotas.assertEnqueue('acme', jobs(10), stored)
    expect(stored.asked).toBe(2)
  })

  it('costs the store nothing where there is no such quota', async () => {
    const { access } = desk({ quotas: { '*': { enqueuePerSecond: 1_000, payloadBytes: 10 } } })
    const stored = having(5)

    await access.quotas.assertEnqueue('acme', jobs(5), stored)

    expect(stored.asked).toBe(0)
  })

  it('has no larger payloads than it may, in bytes', async () => {
    const { access } = desk({ quotas: { '*': { payloadBytes: 10 } } })
    const send = (payload: unknown): Promise<void> =>
      access.quotas.assertEnqueue('acme', [{ queue: 'mail', payload }], EMPTY)

    await send('12345678')
    const refusal = await send('ääää€').catch((error) => error)
    expect(refusal).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      facts: { quota: 'bytes of a payload', limit: 10 },
    })
    // Waiting would not help.
    expect(refusal.facts).not.toHaveProperty('retryAfterMs')
  })

  it('is refused without anything being taken, so that a refusal costs nothing', async () => {
    const { access } = desk({ quotas: { '*': { storedJobs: 5, queues: 2, enqueuePerSecond: 3 } } })
    const send = (coming: Coming[]): Promise<string> =>
      access.quotas.assertEnqueue('acme', coming, EMPTY).then(
        () => 'ok',
        (error) => error.facts.quota as string,
      )

    expect(await send([...jobs(1, 'a'), ...jobs(1, 'b'), ...jobs(1, 'c')])).toBe('queues')
    expect(await send(jobs(6, 'a'))).toBe('stored jobs')
    expect(await send([...jobs(2, 'a'), ...jobs(2, 'b')])).toBe('ok')
    expect(await send(jobs(1, 'c'))).toBe('queues')
    expect(await send(jobs(1, 'a'))).toBe('ok')
    expect(await send(jobs(1, 'a'))).toBe('stored jobs')
  })
})

/** A hub over one store, for as many spaces as are asked for. */
function manySpaces(): {
  readonly hub: ReceiverHub
  readonly skep: (space: string) => Skep
  readonly connect: (space: string, credits: number) => Promise<FakeReceiver>
  readonly close: () => Promise<void>
} {
  const store = memoryStore()
  const skeps = new Map<string, Skep>()
  const skep = (space: string): Skep => {
    const known = skeps.get(space) ?? createSkep({ store, space, logger: silentLogger })
    skeps.set(space, known)
    return known
  }
  const hub = new ReceiverHub({ skepOf: skep, runtime: systemRuntime(), logger: silentLogger })
  return {
    hub,
    skep,
    async connect(space, credits) {
      const fake = new FakeReceiver()
      const own = { caller: caller({ space }), queues: ['mail'], credits, protocol: 'http' } as const
      fake.receiver = await hub.connect({ ...own, ...fake.options })
      return fake
    },
    async close() {
      await hub.close({ drain: 0, grace: 0 })
      await Promise.all([...skeps.values()].map((one) => one.close()))
    },
  }
}

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'skep-quotas-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return sqliteStore({ file: join(folder, 'jobs.db') })
  },
  async Postgres() {
    const database = await freshDatabase()
    onTestFinished(() => database.drop())
    return postgresStore({ url: database.url, migrate: true })
  },
  async Redis() {
    const url = process.env[redisUrlVariable] as string
    return redisStore({ url, prefix: `quotas-${process.pid}-${Date.now()}`, unsafe: { lateFsync: true } })
  },
}

describe.each(Object.keys(stores))('on %s', (name) => {
  async function begin(quota: Quota): Promise<Running & { readonly mine: Skep }> {
    const store = await (stores[name] as () => Promise<Store>)()
    const running = await startServer({ quotas: { '*': quota } }, { store })
    const mine = createSkep({ store, logger: silentLogger })
    onTestFinished(() => mine.close())
    return { ...running, mine }
  }

  it('jobs, queues and schedules that are there already count, whoever made them', async () => {
    const { call, mine } = await begin({ storedJobs: 4, queues: 2, schedules: 1 })
    const line = queue<number>('made.elsewhere')
    await mine.enqueueMany(line, [1, 2])
    const enqueue = (to: string, count = 1): Promise<unknown> =>
      call('jobs.enqueueMany', { jobs: Array.from({ length: count }, () => ({ queue: to, payload: 1 })) })
    const refusal = { status: 429, code: 'QUOTA_EXCEEDED' }

    await expect(enqueue('mail', 3)).rejects.toMatchObject(refusal)
    await enqueue('mail')
    await expect(enqueue('third')).rejects.toMatchObject(refusal)
    const { id } = (await mine.jobs.list({ queue: 'made.elsewhere' })).jobs[0] as { id: string }
    await call('jobs.copy', { id })
    await expect(call('jobs.copy', { id })).rejects.toMatchObject(refusal)

    const plan = { queue: 'mail', every: '1h' }
    await call('schedules.put', { id: 'one', ...plan })
    await expect(call('schedules.put', { id: 'two', ...plan })).rejects.toMatchObject(refusal)
    // One that is there may be changed; but a job of it now would be one too many.
    await call('schedules.put', { id: 'one', ...plan, every: '2h' })
    await expect(call('schedules.run', { id: 'one' })).rejects.toMatchObject(refusal)
    await call('schedules.remove', { id: 'one' })
    await call('schedules.put', { id: 'two', ...plan })
  }, 60_000)
})

describe('what no quota counts', () => {
  it('cannot be made through a server: runs of flows', async () => {
    const { call, skep } = await startServer()
    const start = { queue: 'flow:order', payload: { start: { flow: 'order', version: 1, state: {} } } }
    const refusal = { status: 400, code: 'NAME_INVALID' }

    await expect(call('jobs.enqueue', start)).rejects.toMatchObject(refusal)
    const batch = {
      jobs: [
        { queue: 'mail', payload: 1 },
        { ...start, queue: 'flow.2:order' },
      ],
    }
    await expect(call('jobs.enqueueMany', batch)).rejects.toMatchObject(refusal)
    await expect(call('schedules.put', { id: 'one', every: '1h', ...start })).rejects.toMatchObject(refusal)
    expect(await skep.queues.list()).toEqual([])
  })

  it('is bounded as well: the payloads of schedules', async () => {
    const { call } = await startServer({ quotas: { '*': { payloadBytes: 10 } } })
    const put = (payload: string): Promise<unknown> =>
      call('schedules.put', { id: 'one', queue: 'mail', every: '1h', payload })

    await put('12345678')
    await expect(put('123456789')).rejects.toMatchObject({ status: 429, code: 'QUOTA_EXCEEDED' })
  })
})

describe('the receivers of a space', () => {
  it('are bounded for each space by itself', async () => {
    const { url } = await startServer({ quotas: { default: { receivers: 1 }, '*': {} } })
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const receive = (space: string): Promise<Response> =>
      fetch(`${url}/api/v1/receive`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'skep-space': space },
        body: JSON.stringify({ queues: ['mail'], credits: 1 }),
        signal: stop.signal,
      })

    expect((await receive('default')).status).toBe(200)
    const refused = await receive('default')
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'QUOTA_EXCEEDED' } }])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await receive('other')).status).toBe(200)
  })
})

describe('what one space does', () => {
  it('keeps no job from the receivers of another', async () => {
    const { connect, hub, skep, close } = manySpaces()
    onTestFinished(close)
    const mail = queue<number>('mail')
    const numbers = Array.from({ length: 5_000 }, (_, n) => n)
    await skep('noisy').enqueueMany(mail, numbers)
    // It takes what it may and acks nothing.
    const noisy = await connect('noisy', 100)
    await vi.waitFor(() => expect(noisy.held).toBe(100), { timeout: 10_000 })

    const quiet = await connect('quiet', 10)
    for (const n of [1, 2, 3]) {
      await skep('quiet').enqueue(mail, n)
      await vi.waitFor(() => expect(quiet.jobs).toHaveLength(n), { timeout: 10_000 })
    }

    expect((await hub.list('noisy'))[0]?.unacked).toBe(100)
    expect((await skep('noisy').queues.list())[0]?.ready).toBeGreaterThan(4_000)
  }, 60_000)
})

describe('what the receivers of a space may hold', () => {
  it('is bounded for all of them together, over all queues, and all jobs come in the end', async () => {
    const inFlight = 5
    const { skep, hub, connect, close } = scene({}, { inFlight: () => inFlight })
    onTestFinished(close)
    const [a, b] = [queue<number>('a'), queue<number>('b')]
    const numbers = Array.from({ length: 30 }, (_, n) => n)
    await skep.enqueueMany(a, numbers)
    await skep.enqueueMany(b, numbers)
    const first = await connect({ queues: ['a'], credits: 100 })
    const second = await connect({ queues: ['b'], credits: 100 })
    const third = await connect({ queues: ['a', 'b'], credits: 100 })
    const receivers: FakeReceiver[] = [first, second, third]
    const held = (): number => receivers.reduce((sum, one) => sum + one.held, 0)
    let most = 0
    const done = new Set<string>()

    await vi.waitFor(() => expect(held()).toBe(inFlight), { timeout: 10_000 })
    while (done.size < 60) {
      most = Math.max(most, held())
      for (const one of receivers) {
        const taken = one.jobs.splice(0)
        for (const job of taken) done.add(job.id)
        if (taken.length > 0) await one.ack(taken)
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }

    expect(most).toBe(inFlight)
    expect((await hub.list('default')).every(({ unacked }) => unacked === 0)).toBe(true)
  }, 60_000)
})
