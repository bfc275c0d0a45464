import { describe, expect, it } from 'vitest'
import { type EnqueueOptions, LIMITS, queue, type SkepError } from '../../src/index.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'

const mail = queue<unknown, unknown>('mail')

describe('enqueue', () => {
  it('gives a handle on a job that is in the store', async () => {
    const scene = openScene()

    const job = await scene.skep.enqueue(mail, { to: 'ada' }, { headers: { trace: 'abc' }, priority: 3 })

    expect(job.duplicate).toBe(false)
    expect(await job.get()).toMatchObject({
      id: job.id,
      queue: 'mail',
      space: 'default',
      state: 'ready',
      payload: { to: 'ada' },
      headers: { trace: 'abc' },
      priority: 3,
      starts: 0,
      result: undefined,
      failure: null,
    })
  })

  it('gives a handler the payload, the headers and the place of its job', async () => {
    const scene = openScene({ space: 'acme' })
    const job = await scene.skep.enqueue(mail, [1, null, 'ü'], { headers: { tenant: 'x' } })
    let seen: unknown
    scene.skep.worker([
      mail.handle(({ id, space, queue: name, payload, headers, attempt, enqueuedAt, counters }) => {
        seen = { id, space, name, payload, headers, attempt, enqueuedAt, counters }
      }),
    ])

    await scene.through(job.result())

    expect(seen).toEqual({
      id: job.id,
      space: 'acme',
      name: 'mail',
      payload: [1, null, 'ü'],
      headers: { tenant: 'x' },
      attempt: 1,
      enqueuedAt: (await job.get())?.enqueuedAt,
      counters: { errors: 0, timeouts: 0, lost: 0, snoozes: 0 },
    })
  })

  it('with the id of a job that exists does nothing', async () => {
    const scene = openScene()
    const first = await scene.skep.enqueue(mail, 1)

    const second = await scene.skep.enqueue(mail, 2, { id: first.id })

    expect(second.id).toBe(first.id)
    expect((await first.get())?.payload).toBe(1)
    expect(await scene.counts('mail')).toEqual({ ready: 1 })
  })

  it('sees nothing of other spaces', async () => {
    const scene = openScene({ space: 'acme' })
    const job = await scene.skep.enqueue(mail, 1)
    const { jobs } = await scene.truth.get({ space: 'globex', ids: [job.id] })

    expect(jobs).toEqual([null])
    expect(await scene.skep.jobs.get(job.id)).not.toBeNull()
  })
})

describe('when a job starts', () => {
  it('with a delay: at its time, by a timer of its own and not by a tick', async () => {
    const scene = openScene()
    const times: number[] = []
    scene.skep.worker([mail.handle(() => void times.push(scene.runtime.now()))])
    await scene.advance(123)
    const start = scene.runtime.now()

    await scene.skep.enqueue(mail, 1, { delay: '90s' })
    await scene.skep.enqueue(mail, 2, { delay: 1_234 })
    await scene.skep.enqueue(mail, 3, { runAt: new Date(start + 45_678) })
    await scene.until(() => times.length === 3)

    expect(times.map((time) => time - start)).toEqual([1_234, 45_678, 90_000])
  })

  it('with a time in the past: now', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1, { runAt: new Date(0) })

    expect((await job.get())?.state).toBe('ready')
  })

  it('with a delay and a time: at the later of the two', async () => {
    const scene = openScene()
    const runAt = scene.runtime.now() + 60_000

    const job = await scene.skep.enqueue(mail, 1, { runAt, delay: '2m' })
    const other = await scene.skep.enqueue(mail, 1, { runAt, delay: '1s' })

    expect((await job.get())?.dueAt.getTime()).toBe(scene.runtime.now() + 120_000)
    expect((await other.get())?.dueAt.getTime()).toBe(runAt)
  })

  it('years ahead: not before, and not at once because a timer overflowed', async () => {
    const scene = openScene()
    let runs = 0
    scene.skep.worker([mail.handle(() => ++runs)])
    const runAt = new Date(scene.runtime.now() + 3 * 365 * 86_400_000)

    const job = await scene.skep.enqueue(mail, 1, { runAt })
    await scene.advance(60_000)

    expect(runs).toBe(0)
    expect((await job.get())?.dueAt).toEqual(runAt)
  })

  it('that is put forward: at once', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1, { delay: '1d' })
    scene.skep.worker([mail.handle(() => 'early')])
    await scene.advance(100)
    const before = scene.runtime.mono()

    await scene.skep.jobs.promote(job.id)

    expect(await scene.through(job.result())).toBe('early')
    expect(scene.runtime.mono()).toBe(before)
  })

  it('by priority, then by time; a step of priority is worth ten minutes of waiting', async () => {
    const scene = openScene()
    const order: unknown[] = []
    await scene.skep.enqueue(mail, 'old')
    await scene.advance(1_000)
    await scene.skep.enqueue(mail, 'first')
    await scene.skep.enqueue(mail, 'second')
    await scene.skep.enqueue(mail, 'urgent', { priority: 1 })
    await scene.skep.enqueue(mail, 'least', { priority: -1 })

    scene.skep.worker([mail.handle(({ payload }) => void order.push(payload))], { concurrency: 1 })
    await scene.until(() => order.length === 5)

    expect(order).toEqual(['urgent', 'old', 'first', 'second', 'least'])
  })

  it("by the queue's own priority unless the job has one", async () => {
    const scene = openScene()
    const urgent = queue<number>('urgent', { priority: 7 })

    const usual = await scene.skep.enqueue(urgent, 1)
    const special = await scene.skep.enqueue(urgent, 1, { priority: 0 })

    expect([(await usual.get())?.priority, (await special.get())?.priority]).toEqual([7, 0])
  })
})

describe('enqueueMany', () => {
  it('enqueues all, in order, in one call', async () => {
    const scene = openScene()
    const items = Array.from({ length: 2_500 }, (_, n) => n)

    const jobs = await scene.skep.enqueueMany(mail, items, { priority: 2 })

    expect(new Set(jobs.map(({ id }) => id)).size).toBe(2_500)
    expect(scene.faults.count('insert')).toBe(1)
    expect((await jobs[1_234]?.get())?.payload).toBe(1_234)
    expect((await jobs[7]?.get())?.priority).toBe(2)
  })

  it('names the item that is not valid by its index, and writes nothing', async () => {
    const scene = openScene()

    const error: unknown = await scene.skep
      .enqueueMany(mail, ['fine', 'fine', { size: 1n }, 'fine'])
      .catch((thrown: unknown) => thrown)

    expect(error).toMatchObject({ code: 'BATCH_ITEM_INVALID', facts: { index: 2, code: 'PAYLOAD_NOT_JSON' } })
    expect((error as SkepError).message).toContain('Item 2')
    expect((error as SkepError).cause).toMatchObject({ code: 'PAYLOAD_NOT_JSON' })
    expect(await scene.counts('mail')).toEqual({})
    expect(scene.faults.count('insert')).toBe(0)
  })

  it('takes options for each item, and names the one whose options are wrong', async () => {
    const scene = openScene()

    const jobs = await scene.skep.enqueueMany(mail, [1, 2], {
      headers: { all: 'yes' },
      each: (item) => ({ priority: Number(item), unique: `key ${String(item)}` }),
    })
    const failed = scene.skep.enqueueMany(mail, [1, 2], {
      each: (_item, index) => ({ priority: index * 1_000 }),
    })

    expect(await jobs[1]?.get()).toMatchObject({ priority: 2, unique: 'key 2', headers: { all: 'yes' } })
    await expect(failed).rejects.toMatchObject({ code: 'BATCH_ITEM_INVALID', facts: { index: 1 } })
  })

  it('of nothing is nothing, and of too many is refused', async () => {
    const scene = openScene()

    expect(await scene.skep.enqueueMany(mail, [])).toEqual([])
    const tooMany = Array.from({ length: LIMITS.batchJobs + 1 }, () => 0)
    expect(await codeOf(scene.skep.enqueueMany(mail, tooMany))).toBe('BATCH_TOO_LARGE')
  })
})

describe('what is refused before anything is written', () => {
  it.each<[string, EnqueueOptions, string]>([
    ['a delay without a unit', { delay: 'soon' as '1s' }, 'DURATION_INVALID'],
    ['a negative delay', { delay: -1 }, 'DURATION_INVALID'],
    ['a delay beyond a hundred years', { delay: '9999w' }, 'OPTION_INVALID'],
    ['an invalid date', { runAt: new Date(Number.NaN) }, 'OPTION_INVALID'],
    ['a time before 1970', { runAt: -1 }, 'OPTION_INVALID'],
    ['a priority out of bounds', { priority: 101 }, 'OPTION_INVALID'],
    ['a priority that is not whole', { priority: 0.5 }, 'OPTION_INVALID'],
    ['an id that is no UUID', { id: 'order-1' }, 'OPTION_INVALID'],
    ['a UUID in upper case', { id: '01A31C50-0000-7000-8000-000000000001' }, 'OPTION_INVALID'],
    ['an empty unique key', { unique: '' }, 'KEY_INVALID'],
    ['a unique key of 513 bytes', { unique: 'x'.repeat(513) }, 'KEY_INVALID'],
    ['an unknown conflict rule', { unique: { key: 'k', onConflict: 'fight' as 'ignore' } }, 'OPTION_INVALID'],
    ['a unique key held for ages', { unique: { key: 'k', scope: '99999999999w' } }, 'OPTION_INVALID'],
    ['a header with a line break', { headers: { a: 'x\r\ny' } }, 'HEADERS_INVALID'],
    ['a header that is no text', { headers: { a: 1 as unknown as string } }, 'HEADERS_INVALID'],
    ['a time limit of nothing', { timeout: 0 }, 'OPTION_INVALID'],
    ['a retention beyond what a store can hold', { retention: '99999999999w' }, 'OPTION_INVALID'],
  ])('%s', async (_name, options, code) => {
    const scene = openScene()

    expect(await codeOf(scene.skep.enqueue(mail, 1, options))).toBe(code)
    expect(scene.faults.count('insert')).toBe(0)
  })

  it('a payload that is too large, unless the client allows more', async () => {
    const scene = openScene({ payloadBytes: 1_000 })

    expect(await codeOf(scene.skep.enqueue(mail, 'x'.repeat(1_000)))).toBe('PAYLOAD_TOO_LARGE')
    await scene.skep.enqueue(mail, 'x'.repeat(998))
  })
})

describe('retention', () => {
  it("of a job is its own, or else its queue's", async () => {
    const scene = openScene()
    const usual = await scene.skep.enqueue(mail, 1)
    const brief = await scene.skep.enqueue(mail, 2, { retention: '1m' })
    scene.skep.worker([mail.handle(() => 1)], { prune: '10s' })
    await scene.until(async () => (await scene.counts('mail')).done === 2)

    await scene.until(async () => (await scene.state(brief.id)) === 'absent')

    expect(await scene.state(usual.id)).toBe('done')
    const view = await usual.get()
    expect((view?.expiresAt?.getTime() ?? 0) - (view?.finishedAt?.getTime() ?? 0)).toBe(3 * 86_400_000)
  })
})
