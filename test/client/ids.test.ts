// What depends on the store: the same on each of them.
import { describe, expect, it, onTestFinished } from 'vitest'
import { archive, discard, fixed, flow, jobIdOf, queue, retry } from '../../src/index.ts'
import { newJob } from '../support/new-job.ts'
import { openStage, STORES, until } from '../threads/support.ts'

const mail = queue<number>('mail')
const report = queue<number>('report')
const charge = queue<{ order: string }>('charge', { onError: retry(1, fixed('1h')) })

const id = jobIdOf('mail', 'order-7')

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'resolved',
    (error: { readonly code?: unknown }) => error.code,
  )
}

describe.each(STORES)('an id of your own on %s', (store) => {
  it('finds the job that is there when it is enqueued again in its queue', async () => {
    const { skep } = await openStage(store)
    const first = await skep.enqueue(mail, 1, { id })

    const again = await skep.enqueue(mail, 2, { id })
    const other = await skep.enqueue(mail, 3)

    expect([first, again, other].map(({ duplicate }) => duplicate)).toEqual([false, true, false])
    expect(again.id).toBe(id)
    expect(await skep.jobs.get(id)).toMatchObject({ queue: 'mail', payload: 1 })
  })

  it('is refused in another queue, whatever became of the job', async () => {
    const { skep } = await openStage(store)
    const seen: number[] = []
    await skep.enqueue(mail, 1, { id })

    const refusal = await skep.enqueue(report, 2, { id }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'ID_TAKEN', facts: { id, queue: 'mail' } })
    const worker = skep.worker([mail.handle(({ payload }) => void seen.push(payload))])
    await until(async () => (await skep.jobs.get(id))?.state === 'done')
    await worker.stop()

    expect(await codeOf(skep.enqueue(report, 3, { id }))).toBe('ID_TAKEN')
    expect((await skep.enqueue(mail, 4, { id })).duplicate).toBe(true)
    expect(seen).toEqual([1])
    expect((await skep.jobs.list({ queue: 'report' })).jobs).toEqual([])
  })

  it('is free for another queue when the job was discarded, and not for its own', async () => {
    const { skep } = await openStage(store)
    const brief = queue<number>('brief', { onSuccess: discard() })
    const seen: number[] = []
    await skep.enqueue(brief, 1, { id })
    const worker = skep.worker([
      brief.handle(({ payload }) => void seen.push(payload)),
      report.handle(({ payload }) => void seen.push(payload)),
    ])
    await until(async () => (await skep.jobs.get(id)) === null)

    const same = await skep.enqueue(brief, 2, { id })
    const elsewhere = await skep.enqueue(report, 3, { id })
    await until(() => seen.length === 2)
    await worker.stop()

    expect([same.duplicate, elsewhere.duplicate]).toEqual([true, false])
    expect(seen).toEqual([1, 3])
  })

  it('refuses the whole of enqueueMany', async () => {
    const { skep } = await openStage(store)
    await skep.enqueue(mail, 1, { id })

    const each = (item: number) => (item === 5 ? { id } : {})
    const many = skep.enqueueMany(report, [4, 5, 6], { each })

    expect(await codeOf(many)).toBe('ID_TAKEN')
    expect((await skep.jobs.list({ queue: 'report' })).jobs).toEqual([])
    const jobs = await skep.enqueueMany(mail, [4, 5, 6], { each })
    expect(jobs.map(({ duplicate }) => duplicate)).toEqual([false, true, false])
  })

  it('refuses one of many enqueues that go to the store together', async () => {
    const { skep } = await openStage(store)
    await skep.enqueue(mail, 0, { id })

    const calls = Array.from({ length: 40 }, (_, n) => skep.enqueue(report, n, n % 20 === 7 ? { id } : {}))
    const codes = await Promise.all(calls.map(codeOf))

    expect(codes.flatMap((code, n) => (code === 'ID_TAKEN' ? [n] : []))).toEqual([7, 27])
    expect(codes.filter((code) => code === 'resolved')).toHaveLength(38)
    expect((await skep.jobs.list({ queue: 'report', limit: 100 })).jobs).toHaveLength(38)
  })

  it('may be used in every space, and nothing that is done in one reaches the other', async () => {
    const { skep } = await openStage(store)
    const there = skep.inSpace('acme')
    onTestFinished(() => there.close())
    const seen: string[] = []
    const brief = queue<string>('mail', { onSuccess: archive('1h') })

    const mine = await skep.enqueue(brief, 'mine', { id, unique: 'key' })
    const theirs = await there.enqueue(brief, 'theirs', { id, unique: 'key' })
    const elsewhere = await there.enqueue(report, 7, { id: jobIdOf('report', 'order-7') })
    expect([mine, theirs].map((job) => [job.id, job.duplicate])).toEqual([
      [id, false],
      [id, false],
    ])
    expect(await codeOf(there.enqueue(report, 1, { id }))).toBe('ID_TAKEN')
    expect(await skep.jobs.get(elsewhere.id)).toBe(null)
    expect((await skep.jobs.cancel(elsewhere.id)).refused).toEqual([{ id: elsewhere.id, reason: 'unknown' }])

    const worker = there.worker([
      brief.handle(({ payload, log, progress }) => {
        log(`got ${payload}`)
        progress(50)
        seen.push(payload)
      }),
    ])
    onTestFinished(() => worker.stop({ drain: 0 }))
    await theirs.result()
    expect(seen).toEqual(['theirs'])
    expect(await mine.get()).toMatchObject({ state: 'ready', payload: 'mine', starts: 0 })
    expect((await mine.logs()).lines).toEqual([])
    expect((await theirs.logs()).lines.map(({ message }) => message)).toEqual(['got theirs'])
    await there.enqueue(brief, 'free', { unique: 'key' })
    expect((await skep.enqueue(brief, 'held', { unique: 'key' })).duplicate).toBe(true)

    await skep.jobs.cancel(id)
    expect((await there.jobs.get(id))?.state).toBe('done')
    await there.jobs.remove(id)
    expect((await mine.get())?.state).toBe('cancelled')
  })

  it('of a run may be used in every space', async () => {
    const { skep } = await openStage(store)
    const there = skep.inSpace('acme')
    onTestFinished(() => there.close())
    const step = queue<{ n: number }, { done: number }>('step')
    const order = flow('order', (f) => f.input<{ n: number }>().step(step))
    const seen: number[] = []
    const work = [order, step.handle(({ payload }) => ({ done: seen.push(payload.n) }))]

    const [mine, theirs] = [
      await skep.start(order, { n: 1 }, { id }),
      await there.start(order, { n: 2 }, { id }),
    ]
    const worker = there.worker(work)
    onTestFinished(() => worker.stop({ drain: 0 }))
    await theirs.result()

    expect(seen).toEqual([2])
    expect((await mine.get())?.status).toBe('running')
    const own = skep.worker(work)
    onTestFinished(() => own.stop({ drain: 0 }))
    await mine.result()
    expect(seen).toEqual([2, 1])
  })

  it('of a run finds that run when its flow is started again, whatever the version', async () => {
    const { skep } = await openStage(store)
    const step = queue<{ n: number }, { done: number }>('step')
    const order = flow('order', (f) => f.input<{ n: number }>().step(step))
    const later = flow('order', (f) => f.input<{ n: number }>().step(step), { version: 2 })
    const seen: number[] = []

    const first = await skep.start(order, { n: 1 }, { id })
    const other = await skep.start(order, { n: 9 })
    const again = await skep.start(order, { n: 2 }, { id })
    const newer = await skep.start(later, { n: 2 }, { id })
    const work = [order, later, step.handle(({ payload }) => ({ done: seen.push(payload.n) }))]
    const worker = skep.worker(work)
    onTestFinished(() => worker.stop({ drain: 0 }))
    await Promise.all([first.result(), other.result()])
    const ended = await skep.start(later, { n: 3 }, { id })

    expect([first, other].map(({ duplicate }) => duplicate)).toEqual([false, false])
    expect([again, newer, ended].map(({ duplicate }) => duplicate)).toEqual([true, true, true])
    expect(ended.id).toBe(id)
    expect(await ended.get()).toMatchObject({ status: 'done', version: 1 })
    await until(async () => (await skep.queues.list()).every(({ ready, running }) => ready + running === 0))
    expect(new Set(seen)).toEqual(new Set([1, 9]))
    expect(seen).toHaveLength(2)
    expect((await skep.runs.list()).runs).toHaveLength(2)
  })

  it('of a run is refused for another flow, whether the run has to begin, has begun or has ended', async () => {
    const { skep } = await openStage(store)
    const step = queue<{ n: number }, { done: number }>('step')
    const order = flow('order', (f) => f.input<{ n: number }>().step(step).signal('paid'))
    const refund = flow('refund', (f) => f.input<{ n: number }>().step(step))
    const seen: number[] = []
    const run = await skep.start(order, { n: 1 }, { id })
    const refusals = [await skep.start(refund, { n: 2 }, { id }).catch((error: unknown) => error)]

    const worker = skep.worker([
      order,
      refund,
      step.handle(({ payload }) => ({ done: seen.push(payload.n) })),
    ])
    onTestFinished(() => worker.stop({ drain: 0 }))
    await until(async () => (await run.get())?.position.waits?.kind === 'signal')
    refusals.push(await skep.start(refund, { n: 3 }, { id }).catch((error: unknown) => error))
    await run.signal('paid')
    await run.result()
    refusals.push(await skep.start(refund, { n: 4 }, { id }).catch((error: unknown) => error))
    // Those that go to the store with it are not refused.
    const ids = [jobIdOf('refund', 'a'), id, jobIdOf('refund', 'b')]
    const together = await Promise.all(
      ids.map((one, n) => codeOf(skep.start(refund, { n: 5 + n }, { id: one }))),
    )
    await until(() => seen.length === 3)

    for (const refusal of refusals)
      expect(refusal).toMatchObject({ code: 'ID_TAKEN', facts: { id, flow: 'order' } })
    expect(together).toEqual(['resolved', 'ID_TAKEN', 'resolved'])
    expect(new Set(seen)).toEqual(new Set([1, 5, 7]))
    const started = (await skep.runs.list({ flow: 'refund' })).runs.map((one) => one.id)
    expect(new Set(started)).toEqual(new Set([ids[0], ids[2]]))
    expect(await run.get()).toMatchObject({ flow: 'order', status: 'done' })
  })

  it('of a run fails the job that shall start one of another flow, and no other job', async () => {
    const { skep, store: opened } = await openStage(store)
    const step = queue<{ n: number }, { done: number }>('step')
    const order = flow('order', (f) => f.input<{ n: number }>().step(step).signal('paid'))
    const refund = flow('refund', (f) => f.input<{ n: number }>().step(step))
    const run = await skep.start(order, { n: 1 }, { id })
    // What a schedule of the flow makes: jobs of its queue, whose runs have their ids.
    const start = (n: number, difference: { readonly id?: string } = {}) =>
      newJob({
        space: skep.space,
        queue: refund.tree.queue,
        payload: JSON.stringify({
          start: { flow: 'refund', version: 1, state: { n }, attributes: [], priority: 0 },
        }),
        ...difference,
      })
    const [taken, fine] = [start(2, { id }), start(3)]
    await opened.insert({ jobs: [taken, fine] })

    const seen: number[] = []
    const worker = skep.worker([
      order,
      refund,
      step.handle(({ payload }) => ({ done: seen.push(payload.n) })),
    ])
    onTestFinished(() => worker.stop({ drain: 0 }))
    await until(async () => ((await skep.jobs.get(taken.id))?.errors ?? 0) > 0)
    expect((await skep.jobs.get(fine.id))?.errors ?? 0).toBe(0)
    await until(() => seen.includes(3))

    expect((await skep.jobs.get(taken.id))?.failure).toMatchObject({ code: 'ID_TAKEN' })
    expect((await skep.runs.list({ flow: 'refund' })).runs.map((one) => one.id)).toEqual([fine.id])
    expect((await run.get())?.flow).toBe('order')
    expect(seen).not.toContain(2)
  })

  it('that a handler enqueues fails its attempt, and nothing that it enqueued exists', async () => {
    const { skep, told } = await openStage(store)
    await skep.enqueue(mail, 1, { id })
    const worker = skep.worker([
      charge.handle(async ({ enqueue, payload }) => {
        await enqueue(report, 1)
        await enqueue(report, 2, { id: payload.order })
      }),
    ])

    const [failing, fine] = await skep.enqueueMany(charge, [{ order: id }, { order: jobIdOf(report, 'x') }])
    await until(async () => (await skep.jobs.get(failing?.id as string))?.state === 'delayed')
    await until(async () => (await skep.jobs.get(fine?.id as string))?.state === 'done')
    await worker.stop()

    expect(await skep.jobs.get(failing?.id as string)).toMatchObject({
      errors: 1,
      failure: { kind: 'error', code: 'ID_TAKEN' },
    })
    expect(told).toEqual([expect.stringContaining(`"${id}" is taken by a job in queue "mail"`)])
    const { jobs } = await skep.jobs.list({ queue: 'report' })
    expect(new Set(jobs.map(({ payload }) => payload))).toEqual(new Set([1, 2]))
    expect(await skep.jobs.get(jobIdOf(report, 'x'))).toMatchObject({ queue: 'report', payload: 2 })
  })
})

describe('jobIdOf', () => {
  it('follows from the queue and the key', () => {
    expect(jobIdOf(mail, 'order-7')).toBe(id)
    // Ids are kept, so they must stay the same.
    expect(id).toBe('2af8ccd4-26b7-8522-8259-8ea96a8b2698')
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const ids = [
      jobIdOf('mail', 'order-8'),
      jobIdOf('mai', 'lorder-7'),
      jobIdOf(report, 'order-7'),
      jobIdOf('m', 'ail\u00a0'),
    ]
    expect(new Set([id, ...ids]).size).toBe(5)
  })

  it('refuses what is no queue and no key', () => {
    expect(() => jobIdOf('', 'a')).toThrow(/not a valid name/)
    expect(() => jobIdOf('mail', '')).toThrow(/not a valid key/)
  })
})
