import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSkep, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { work } from './modules/queues.ts'
import { openStage, STORES, testModules, until } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts' })
// Were a thread not killed, its run would not be over before the worker's own grace: longer than any test.
const PATIENT = { grace: '1h' } as const

describe.each(STORES)('ending a handler in a thread, over %s', (store) => {
  it('kills one that runs out of time in the middle of a loop', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker(
      [work.handleInThreads(module('work.mjs'), { threads: 1, grace: '10ms' })],
      PATIENT,
    )
    const before = await (await stage.skep.enqueue(work, { do: 'thread' })).result()
    const job = await stage.skep.enqueue(work, { do: 'spin' }, { timeout: '50ms' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })

    expect(await job.get()).toMatchObject({ timeouts: 1, lost: 0, errors: 0, failure: { kind: 'timeout' } })
    expect(stage.told).toEqual([
      'timeout: The job ran longer than its limit of 50 ms.',
      'dead: The job ran longer than its limit of 50 ms.',
    ])
    expect(worker.health()).toMatchObject({ running: 0, zombies: 0 })
    const after = await (await stage.skep.enqueue(work, { do: 'thread' })).result()
    expect(after).not.toBe(before)
  })

  it('kills one that was cancelled in the middle of a loop', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker(
      [work.handleInThreads(module('work.mjs'), { threads: 1, grace: '10ms' })],
      PATIENT,
    )
    const job = await stage.skep.enqueue(work, { do: 'spin' })
    await until(() => worker.health().running === 1)

    await job.cancel('no longer needed')

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    expect(await job.get()).toMatchObject({ state: 'cancelled', failure: { message: 'no longer needed' } })
    expect(worker.health()).toMatchObject({ running: 0, zombies: 0 })
  })

  it('keeps the thread of one that ends when its signal aborts', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1, grace: '1h' })], PATIENT)
    const before = await (await stage.skep.enqueue(work, { do: 'thread' })).result()
    const job = await stage.skep.enqueue(work, { do: 'wait' }, { timeout: '50ms' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })

    expect(await job.get()).toMatchObject({ timeouts: 1, failure: { kind: 'timeout' } })
    expect(await (await stage.skep.enqueue(work, { do: 'thread' })).result()).toBe(before)
  })

  it('kills what does not end when the worker stops, and hands the job back', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker(
      [work.handleInThreads(module('work.mjs'), { threads: 1, grace: '10ms' })],
      PATIENT,
    )
    const job = await stage.skep.enqueue(work, { do: 'spin' })
    await until(() => worker.health().running === 1)

    await worker.stop({ drain: 0 })

    expect(await job.get()).toMatchObject({ state: 'ready', errors: 0, lost: 0, timeouts: 0 })
    expect(worker.health()).toMatchObject({ status: 'stopped', running: 0, zombies: 0 })
    expect(stage.log).toEqual([])
  })

  it('takes how one ended that heard of the stop', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })], PATIENT)
    const job = await stage.skep.enqueue(work, { do: 'clean-up' })
    await until(() => worker.health().running === 1)

    await worker.stop({ drain: 0, grace: '1m' })

    expect(await job.get()).toMatchObject({ state: 'done', result: 'cleaned up', errors: 0, starts: 1 })
    expect(stage.log).toEqual([])
  })

  it('lets handlers finish when the worker stops', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })])
    const file = join(stage.folder, 'go')
    const job = await stage.skep.enqueue(work, { do: 'spin', until: file })
    await until(() => worker.health().running === 1)

    const stopped = worker.stop()
    writeFileSync(file, '')
    await stopped

    expect(await job.get()).toMatchObject({ state: 'done', result: 'spun', starts: 1 })
  })
})

describe('a handler in a thread whose lease is lost', () => {
  it('is killed, and nothing of it is saved', async () => {
    const inner = memoryStore()
    const log: string[] = []
    const skep = createSkep({
      store: {
        ...inner,
        extend: async ({ leases }) =>
          ({ results: leases.map(({ id }) => ({ id, status: 'refused' })) }) as never,
      },
      logger: { ...silentLogger, warn: (message) => void log.push(message) },
    })
    const worker = skep.worker([work.handleInThreads(module('work.mjs'), { threads: 1, grace: '10ms' })], {
      ...PATIENT,
      lease: '1s',
    })
    await skep.enqueue(work, { do: 'spin' })

    await until(() => log.some((message) => message.includes('was lost, so its outcome is not saved')))

    expect(worker.health()).toMatchObject({ zombies: 0 })
    await worker.stop({ drain: 0 })
    await skep.close()
  })
})
