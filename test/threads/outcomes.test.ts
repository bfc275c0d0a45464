import { describe, expect, it } from 'vitest'
import type { JobHandle } from '../../src/index.ts'
import { failFast, queue } from '../../src/index.ts'
import { dated, followUp, type Sight, type Task, work } from './modules/queues.ts'
import { openStage, STORES, testModules, until } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts', 'dated.mjs': 'dated.thread.ts' })

describe.each(STORES)('a handler in a thread, over %s', (store) => {
  async function run(task: Task): Promise<JobHandle<unknown>> {
    const stage = await openStage(store)
    const job = await stage.skep.enqueue(work, task)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })])
    return job
  }

  it('answers with a result', async () => {
    const job = await run({ do: 'add', a: 2, b: 3 })

    expect(await job.result()).toBe(5)
    expect(await job.get()).toMatchObject({ state: 'done', starts: 1 })
  })

  it('may return nothing', async () => {
    const job = await run({ do: 'return-nothing' })

    expect(await job.result()).toBe(undefined)
  })

  it('gets what every handler gets', async () => {
    const stage = await openStage(store)
    const job = await stage.skep.enqueue(work, { do: 'look' }, { headers: { trace: 'abc' }, timeout: '5m' })
    await stage.worker([work.handleInThreads(module('work.mjs'))])

    const sight = (await job.result()) as Sight

    const view = await job.get()
    expect(sight).toEqual({
      id: job.id,
      queue: 'work',
      space: 'default',
      attempt: 1,
      counters: { errors: 0, timeouts: 0, lost: 0, snoozes: 0 },
      headers: { trace: 'abc' },
      enqueuedAt: view?.enqueuedAt.toISOString() ?? '',
      deadline: expect.any(String),
      aborted: false,
      isThread: true,
    } satisfies Sight)
  })

  it('spawns jobs with its success, and reads what became of them', async () => {
    const { skep, worker } = await openStage(store)
    const job = await skep.enqueue(work, { do: 'spawn', fails: false })
    await worker([work.handleInThreads(module('work.mjs'), { threads: 2 })])
    const group = await job.result()

    await until(async () => (await skep.queues.list([work]))[0]?.done === 4)

    const { jobs } = await skep.jobs.list({ queue: 'work' })
    const follower = jobs.find(({ payload }) => (payload as Task).do === 'results')
    const results = [3, 4].map((result) => ({ ok: true, result }))
    expect(follower).toMatchObject({ headers: { 'skep-group': group }, result: [results, results] })
  })

  it('spawns nothing when it fails, and has no results of a group that there is not', async () => {
    const { skep, worker } = await openStage(store)
    const job = await skep.enqueue(work, { do: 'spawn', fails: true })
    const alone = await skep.enqueue(work, { do: 'results' })
    await worker([work.handleInThreads(module('work.mjs'), { threads: 1 })])

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await alone.result()).toEqual([[], []])
    expect((await skep.queues.list([work]))[0]).toMatchObject({ dead: 1, done: 1, ready: 0 })
  })

  it('is called when the rest of its group was cancelled', async () => {
    const { skep, worker } = await openStage(store)
    const jobs = [1, 2, 3].map((n) => followUp.job({ from: String(n) }))
    const next = work.job({ do: 'results' })
    await skep.groups.group(jobs, { join: failFast, onFailure: next })
    const { jobs: waiting } = await skep.jobs.list({ queue: 'follow-up' })
    await skep.jobs.bury([waiting[0]?.id as string])

    await worker([work.handleInThreads(module('work.mjs'), { threads: 1 })])
    await until(async () => (await skep.queues.list([work]))[0]?.done === 1)

    const { jobs: done } = await skep.jobs.list({ queue: 'work' })
    const states = ['dead', 'cancelled', 'cancelled'].map((state) => ({ ok: false, state }))
    expect(done[0]?.result).toMatchObject([states, states])
  })

  it('reports progress and writes lines', async () => {
    const job = await run({ do: 'note' })

    expect(await job.result()).toBe('noted')
    const { progress, lines } = await job.logs()
    expect(progress).toMatchObject({ value: 0.5, note: 'half' })
    expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['warn', 'looked', { pages: 2 }],
      ['info', 'done', {}],
    ])
  })

  it('throws as it would without a thread', async () => {
    const job = await run({ do: 'throw' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await job.get()).toMatchObject({
      state: 'dead',
      errors: 1,
      lost: 0,
      failure: {
        kind: 'error',
        name: 'TypeError',
        message: 'no',
        code: 'E_NO',
        stack: expect.stringContaining('work.mjs'),
        causes: [{ name: 'RangeError', message: 'why' }],
      },
    })
  })

  it('may throw what is no error', async () => {
    const job = await run({ do: 'throw-text' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect((await job.get())?.failure).toEqual({
      kind: 'error',
      message: 'only text',
      version: expect.any(String),
    })
  })

  it('may throw what cannot be looked at', async () => {
    const job = await run({ do: 'throw-unreadable' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect((await job.get())?.failure).toEqual({
      kind: 'error',
      message: 'The handler threw something that cannot be read.',
      version: expect.any(String),
    })
  })

  it('fails when its result cannot be stored', async () => {
    const job = await run({ do: 'return-a-function' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect((await job.get())?.failure).toMatchObject({ kind: 'error', code: 'PAYLOAD_NOT_JSON' })
  })

  it('can snooze', async () => {
    const job = await run({ do: 'snooze' })

    expect(await job.result()).toBe('awake')
    expect(await job.get()).toMatchObject({ snoozes: 1, errors: 0 })
  })

  it('can cancel and bury', async () => {
    const cancelled = await run({ do: 'cancel' })
    const buried = await run({ do: 'bury' })

    await expect(cancelled.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    await expect(buried.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect((await cancelled.get())?.failure).toMatchObject({ kind: 'cancel', message: 'not needed' })
    expect(await buried.get()).toMatchObject({
      state: 'dead',
      failure: { kind: 'bury', message: 'hopeless' },
    })
  })

  it('enqueues jobs that exist only if it succeeds', async () => {
    const stage = await openStage(store)
    const good = await stage.skep.enqueue(work, { do: 'enqueue', fails: false })
    const bad = await stage.skep.enqueue(work, { do: 'enqueue', fails: true })
    await stage.worker([work.handleInThreads(module('work.mjs'))])

    await good.result()
    await bad.result().catch(() => {})

    const { jobs } = await stage.skep.jobs.list({ queue: followUp.name })
    expect(jobs.map(({ payload }) => payload)).toEqual([{ from: good.id }])
  })

  it('cannot complete in a transaction, and is told so', async () => {
    const job = await run({ do: 'complete' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect((await job.get())?.failure).toMatchObject({
      code: 'TX_UNSUPPORTED',
      message: expect.stringContaining('thread'),
    })
  })

  it('gets its payload as the schema gives it, and its result is checked', async () => {
    const stage = await openStage(store)
    const good = await stage.skep.enqueue(dated, { day: '2026-11-15' })
    const bad = await stage.skep.enqueue(dated, { day: '1999-01-01' })
    await stage.worker([dated.handleInThreads(module('dated.mjs'))])

    expect(await good.result()).toBe(2026)
    await expect(bad.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await bad.get()).toMatchObject({ errors: 1, failure: { kind: 'error', code: 'PAYLOAD_INVALID' } })
  })

  it('never sees a payload that does not fit the schema: that job is buried', async () => {
    const stage = await openStage(store)
    const job = await stage.skep.enqueue(queue<string>('dated'), 'no object')
    await stage.worker([dated.handleInThreads(module('dated.mjs'))])

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await job.get()).toMatchObject({
      state: 'dead',
      errors: 0,
      failure: { kind: 'poison', code: 'PAYLOAD_INVALID' },
    })
  })
})
