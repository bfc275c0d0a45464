import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { fixed, type JobEvent, queue, type RelayedJob, retry, type Store, settled } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import type { Ack } from '../../src/server/receivers/ack.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase, redisUrlVariable } from '../servers/index.ts'
import { caller, type FakeReceiver, hubOf, type Scene, scene } from './support/scene.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

let opened = 0
const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'skep-receivers-'))
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    return sqliteStore({ file: join(folder, 'jobs.db') })
  },
  async Postgres() {
    const database = await freshDatabase()
    closers.push(() => database.drop())
    return postgresStore({ url: database.url, migrate: true })
  },
  async Redis() {
    const url = process.env[redisUrlVariable] as string
    return redisStore({ url, prefix: `receivers-${process.pid}-${++opened}`, unsafe: { lateFsync: true } })
  },
}

const mail = queue<{ n: number }, unknown>('mail', { onError: retry(3, fixed('50ms')) })
const numbers = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }))
const patience = { timeout: 15_000, interval: 20 }

describe.each(Object.keys(stores))('receivers on %s', { timeout: 60_000 }, (name) => {
  async function begin(): Promise<Scene> {
    const made = scene({ store: await (stores[name] as () => Promise<Store>)() })
    closers.push(() => made.close())
    await made.skep.ready()
    return made
  }

  const has = (receiver: FakeReceiver, count: number): Promise<void> =>
    vi.waitFor(() => expect(receiver.jobs.length).toBeGreaterThanOrEqual(count), patience)

  it('run every job of several queues once, in batches', async () => {
    const { skep, connect } = await begin()
    const other = queue<{ n: number }>('other.one')
    const ids = [
      ...(await skep.enqueueMany(mail, numbers(500))),
      ...(await skep.enqueueMany(other, numbers(500))),
    ].map(({ id }) => id)
    const receivers = [
      await connect({ queues: ['mail'], credits: 50 }),
      await connect({ queues: ['other.*'], credits: 50 }),
      await connect({ queues: ['*'], credits: 100 }),
    ]
    let saved = 0
    for (const receiver of receivers) {
      receiver.onJobs = (jobs) =>
        void receiver.ack(jobs).then((answer) => {
          saved += answer.saved
        })
      receiver.onJobs(receiver.jobs.slice())
    }
    await vi.waitFor(async () => {
      const counts = await skep.queues.list()
      expect(counts.reduce((sum, { done }) => sum + done, 0)).toBe(1_000)
    }, patience)
    const seen = receivers.flatMap(({ jobs }) => jobs.map(({ id }) => id))
    expect(seen.toSorted()).toEqual(ids.toSorted())
    expect(receivers[0]?.jobs.every((job) => job.queue === 'mail')).toBe(true)
    expect(receivers[1]?.jobs.every((job) => job.queue === 'other.one')).toBe(true)
    await vi.waitFor(() => expect(saved).toBe(1_000), patience)
  })

  it('get what the jobs gave that theirs follow: in a chain of any length, and after a group', async () => {
    const { skep, connect } = await begin()
    const step = queue<{ n: number }, unknown>('step')
    const sum = queue<string>('sum')
    const length = 23
    await skep.groups.chain(numbers(length).map((one) => step.job(one)))
    const steps = await connect({ queues: ['step'] })
    const given: unknown[] = []
    for (let n = 0; n < length; n++) {
      await has(steps, n + 1)
      const job = steps.jobs[n] as FakeReceiver['jobs'][number]
      given.push(job.results)
      await steps.ack([job], { done: { gave: n } })
    }
    const before = (n: number): unknown => [{ ok: true, result: `{"gave":${n}}` }]
    expect(given).toEqual(numbers(length).map(({ n }) => (n === 0 ? [] : before(n - 1))))

    await skep.groups.group([mail.job({ n: 1 }), mail.job({ n: 2 })], { join: settled, next: sum.job('all') })
    const members = await connect({ queues: ['mail'] })
    await has(members, 2)
    const [one, two] = members.jobs.toSorted((a, b) => (a.payload < b.payload ? -1 : 1))
    await members.ack([two as RelayedJob], { bury: 'no' })
    await members.ack([one as RelayedJob], { done: 'yes' })
    const last = await connect({ queues: ['sum'] })
    await has(last, 1)
    expect(last.jobs[0]?.results).toEqual([
      { ok: true, result: '"yes"' },
      { ok: false, state: 'dead', message: 'no' },
    ])
  })

  it('say how jobs ended: failed, again in a while, snoozed, buried, cancelled, handed back', async () => {
    const { skep, connect } = await begin()
    const ids = (await skep.enqueueMany(mail, numbers(6))).map(({ id }) => id)
    const receiver = await connect()
    await has(receiver, 6)
    const byNumber = ids.map(
      (id) => receiver.jobs.find((job) => job.id === id) as FakeReceiver['jobs'][number],
    )
    const hows = [
      { failed: { message: 'no', name: 'Refused', stack: 'at x' } },
      { failed: { message: 'later', retryInMs: 3_600_000 } },
      { snooze: { delayMs: 3_600_000, reason: 'too early' } },
      { bury: 'hopeless' },
      { cancel: 'not wanted' },
      { handBack: true },
    ]
    const acks = hows.map((how, index) => {
      const { id, token } = byNumber[index] as FakeReceiver['jobs'][number]
      return { id, token, ...how }
    })
    expect(await receiver.receiver?.ack(acks)).toEqual({ saved: 6, results: [] })
    const views = await Promise.all(ids.map((id) => skep.jobs.get(id)))
    expect(views[1]).toMatchObject({ state: 'delayed', errors: 1, failure: { message: 'later' } })
    expect(views[2]).toMatchObject({ state: 'delayed', errors: 0, snoozes: 1 })
    expect(views[3]).toMatchObject({ state: 'dead', failure: { message: 'hopeless' } })
    expect(views[4]).toMatchObject({ state: 'cancelled' })
    // The first is tried again by the policy, the last at once, and its first start does not count.
    await has(receiver, 8)
    const again = receiver.jobs.slice(6)
    expect(again.map(({ id }) => id).toSorted()).toEqual([ids[0] as string, ids[5] as string].toSorted())
    expect(again.find(({ id }) => id === ids[0])?.attempt).toBe(2)
    expect(again.find(({ id }) => id === ids[5])?.attempt).toBe(1)
  })

  it('hear of jobs that shall stop, and what they tell meanwhile is seen', async () => {
    const { skep, connect } = await begin()
    const job = await skep.enqueue(mail, { n: 1 })
    const receiver = await connect()
    await has(receiver, 1)
    const events: JobEvent[] = []
    const watching = (async () => {
      for await (const event of skep.jobs.watch(job.id)) events.push(event)
    })()
    const [{ id, token }] = receiver.jobs as [FakeReceiver['jobs'][number]]
    receiver.receiver?.note([
      {
        id,
        token,
        progress: 40,
        progressNote: 'nearly',
        lines: [{ level: 'warn', message: 'slow', fields: { a: 1 } }],
      },
      { id, token: 'wrong', progress: 99 },
    ])
    await vi.waitFor(() => expect(JSON.stringify(events)).toContain('nearly'), patience)
    expect(JSON.stringify(events)).toContain('slow')
    await skep.jobs.cancel(job.id, { reason: 'changed my mind' })
    await vi.waitFor(() => expect(receiver.stops).toHaveLength(1), patience)
    expect(receiver.stops[0]).toMatchObject({ id: job.id, reason: 'cancelled', detail: 'changed my mind' })
    await receiver.ack(receiver.jobs, { failed: { message: 'stopped' } })
    expect((await skep.jobs.get(job.id))?.state).toBe('cancelled')
    await watching
    expect(events.flatMap((event) => (event.kind === 'progress' ? [event.value] : []))).toEqual([40])
  })

  it('that vanish free their jobs at once, and a job that does so for ever is buried', async () => {
    const { skep, connect } = await begin()
    const job = await skep.enqueue(queue<number>('poison'), 1)
    for (let n = 1; n <= 6; n++) {
      const receiver = await connect({ queues: ['poison'] })
      await has(receiver, 1)
      expect(receiver.jobs[0]?.attempt).toBe(n)
      receiver.receiver?.close('gone')
    }
    await vi.waitFor(async () => expect((await skep.jobs.get(job.id))?.state).toBe('dead'), patience)
    expect(await skep.jobs.get(job.id)).toMatchObject({ lost: 6, failure: { kind: 'lost' } })
  })

  it('take only the lanes of their range of keys, and all of them together take everything', async () => {
    const { skep, connect } = await begin()
    const lanes = queue<{ lane: string }>('lanes', { lane: ({ payload }) => payload.lane })
    const low = await connect({ queues: ['lanes'], keys: '-80', credits: 50 })
    const high = await connect({ queues: ['lan*'], keys: '80-c0,c0-', credits: 50 })
    const payloads = Array.from({ length: 80 }, (_, n) => ({ lane: `tenant-${n % 20}` }))
    await skep.enqueueMany(lanes, payloads)
    await vi.waitFor(() => expect(low.jobs.length + high.jobs.length).toBe(80), patience)
    const lanesOf = ({ jobs }: FakeReceiver): Set<string | null> => new Set(jobs.map(({ lane }) => lane))
    expect(lanesOf(low).size + lanesOf(high).size).toBe(20)
    expect(lanesOf(low).size).toBeGreaterThan(0)
    expect(lanesOf(high).size).toBeGreaterThan(0)
    await expect(connect({ keys: '81-' })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  it('may end what another server handed out, with the token that came with it', async () => {
    const { skep, connect } = await begin()
    const job = await skep.enqueue(mail, { n: 1 })
    const receiver = await connect()
    await has(receiver, 1)
    const stranger = scene()
    closers.push(() => stranger.close())
    const foreign = hubOf(skep)
    closers.push(() => foreign.close({ drain: 0, grace: 0 }))
    const [{ id, token }] = receiver.jobs as [FakeReceiver['jobs'][number]]
    const refused = (status: string): object => ({ saved: 0, results: [{ id, status }] })
    expect(await stranger.hub.settle(caller(), [{ id, token }])).toEqual(refused('gone'))
    expect(await foreign.settle(caller(), [{ id, token: 'guessed' }])).toEqual(refused('lost'))
    expect((await foreign.extend(caller(), [{ id, token }], 1_000))[0]?.status).toBe('unknown')
    const saved = await foreign.settle(caller(), [{ id, token, done: 'by another way' }])
    expect(saved).toEqual({ saved: 1, results: [] })
    expect(await job.result()).toBe('by another way')
    expect(await receiver.ack(receiver.jobs, { done: 'late' })).toEqual(refused('gone'))
    expect((await skep.jobs.get(id))?.result).toBe('by another way')
  })

  it('are told the same again wherever they repeat an ack', async () => {
    const { skep, hub, connect } = await begin()
    const other = hubOf(skep)
    closers.push(() => other.close({ drain: 0 }))
    const slow = queue<{ n: number }>('slow', { onError: retry(3, fixed('1h')) })
    const ends: readonly Omit<Ack, 'id' | 'token'>[] = [
      {},
      { done: { ok: true } },
      { failed: { message: 'again later' } },
      { snooze: { delayMs: 3_600_000 } },
      { bury: 'no use' },
      { cancel: 'not wanted' },
    ]
    await skep.enqueueMany(slow, numbers(ends.length))
    // The policy of a queue comes from whoever declares it.
    const receiver = await connect({ queues: ['slow'], credits: ends.length })
    await has(receiver, ends.length)
    const acks = receiver.jobs.map(({ id, token }, n) => ({ id, token, ...ends[n] }))

    // The first half is told to the server that handed the jobs out, the second to another one.
    const half = ends.length / 2
    const parts = [acks.slice(0, half), acks.slice(half)] as const
    const first = await Promise.all([hub.settle(caller(), parts[0]), other.settle(caller(), parts[1])])
    const again = { here: await hub.settle(caller(), acks), there: await other.settle(caller(), acks) }
    // Another end than the one that was saved is none that was.
    const done = acks.slice(4).map(({ id, token }) => ({ id, token, done: 'after all' }))
    const otherwise = await other.settle(caller(), done)

    const saved = { saved: ends.length, results: [] }
    expect(first.map((answer) => answer.saved)).toEqual([half, half])
    expect(again).toEqual({ here: saved, there: saved })
    expect(otherwise.results.map(({ status }) => status)).toEqual(['gone', 'gone'])
  })
})
