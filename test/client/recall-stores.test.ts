import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, rateLimited, type Skep, type Store, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase, redisUrlVariable } from '../servers/index.ts'
import { STORES } from './support/stores.ts'

const work = queue<number, number>('work')
const JOBS = 3_000
const SLOTS = 10
const patience = { timeout: 30_000, interval: 5 }

/** Opens programs on one database, each with connections and hints of its own. */
async function database(name: (typeof STORES)[number]): Promise<() => Promise<Skep>> {
  const make = await opener(name)
  // Programs on one memory store hear of each other through a notifier that they share.
  const shared = name === 'memory' ? { notifier: localNotifier({ runtime: systemRuntime() }) } : {}
  return async () => {
    const skep = createSkep({ store: make(), logger: silentLogger, ...shared })
    onTestFinished(() => skep.close(), 60_000)
    await skep.ready()
    return skep
  }
}

async function opener(name: (typeof STORES)[number]): Promise<() => Store> {
  switch (name) {
    case 'memory': {
      const store = memoryStore()
      // Another object, so that its workers do not count as those of the same process.
      return () => ({ ...store })
    }
    case 'sqlite': {
      const folder = await mkdtemp(join(tmpdir(), 'skep-recall-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      return () => sqliteStore({ file: join(folder, 'jobs.db') })
    }
    case 'postgres': {
      const { url, drop } = await freshDatabase()
      onTestFinished(drop)
      return () => postgresStore({ url, migrate: true })
    }
    case 'redis': {
      const url = process.env[redisUrlVariable] as string
      const prefix = `recall-${systemRuntime().uuid()}`
      return () => redisStore({ url, prefix, unsafe: { lateFsync: true } })
    }
  }
}

interface Worker {
  readonly begun: number[]
  inside: number
  readonly prefetched: () => number
}

/** A worker whose handlers take so little that it prefetches many. */
async function fast(skep: Skep, answer: (n: number) => unknown = (n) => n): Promise<Worker> {
  const begun: number[] = []
  const worker = skep.worker(
    [
      work.handle(async ({ payload }) => {
        begun.push(payload)
        own.inside++
        await new Promise((resolve) => setTimeout(resolve, 2))
        own.inside--
        return answer(payload) as number
      }),
    ],
    { concurrency: SLOTS },
  )
  const own = { begun, inside: 0, prefetched: () => worker.health().buffered }
  await worker.ready
  return own
}

describe.each(STORES)('what workers have prefetched on %s', (name) => {
  it('does not start after a hold has answered: at once in this process, elsewhere when it waited', async () => {
    const open = await database(name)
    const [here, there, operator] = [await open(), await open(), await open()]
    const workers = [await fast(here), await fast(there)]
    await operator.enqueueMany(
      work,
      Array.from({ length: JOBS }, (_, n) => n),
    )
    await expect
      .poll(() => workers.every((one) => one.begun.length > 50 && one.prefetched() > 5), patience)
      .toBe(true)

    await here.queues.pause(work)
    const [own] = workers as [Worker, Worker]
    const ownAtAnswer = own.begun.length
    await operator.queues.block('w*', { wait: true, timeout: '20s' })
    const atAnswer = workers.map(({ begun }) => begun.length)

    await expect.poll(() => workers.map(({ inside }) => inside), patience).toEqual([0, 0])
    await expect.poll(async () => (await operator.queues.list([work]))[0]?.running, patience).toBe(0)
    expect(workers.map(({ begun }) => begun.length)).toEqual(atAnswer)
    expect(own.begun.length).toBe(ownAtAnswer)
    const [counts] = await operator.queues.list([work])
    expect((counts?.ready ?? 0) + (counts?.done ?? 0)).toBe(JOBS)
    const { jobs } = await operator.jobs.list({ queue: 'work', state: 'ready', limit: 200 })
    expect(jobs.every(({ starts, errors, lost }) => starts + errors + lost === 0)).toBe(true)

    await operator.queues.unblock('w*')
    await operator.queues.resume(work)
    await expect.poll(async () => (await operator.queues.list([work]))[0]?.done, patience).toBe(JOBS)
  }, 90_000)

  it('does not start after a handler was told to wait: at once in its worker, elsewhere when that hears of it', async () => {
    const open = await database(name)
    const [here, there, operator] = [await open(), await open(), await open()]
    let isRefused = false
    const own = await fast(here, (n) => (isRefused ? rateLimited('1h') : n))
    const other = await fast(there)
    await operator.enqueueMany(
      work,
      Array.from({ length: JOBS }, (_, n) => n),
    )
    await expect
      .poll(() => [own, other].every((one) => one.begun.length > 50 && one.prefetched() > 5), patience)
      .toBe(true)
    let atHint = -1
    there.notifier.onHint((hints) => {
      if (atHint < 0 && hints.some(({ kind }) => kind === 'recall')) atHint = other.begun.length
    })

    isRefused = true
    const ownAtRefusal = own.begun.length
    await expect.poll(() => own.inside, patience).toBe(0)
    await expect.poll(async () => (await operator.queues.list([work]))[0]?.running, patience).toBe(0)

    // The first answer recalls what is prefetched; handlers that were running by then go on.
    expect(own.begun.length - ownAtRefusal).toBeLessThanOrEqual(SLOTS)
    expect(atHint).toBeGreaterThan(0)
    expect(other.begun.length).toBe(atHint)
    expect((await operator.queues.list([work]))[0]?.ready).toBeGreaterThan(0)
  }, 90_000)

  it('is no more than the slots of an idle worker when the first handler is told to wait', async () => {
    const open = await database(name)
    const [here, operator] = [await open(), await open()]
    let begun = 0
    await here.worker(
      [
        work.handle(async () => {
          begun++
          return begun === 1 ? (rateLimited('1h') as never) : 0
        }),
      ],
      { concurrency: SLOTS },
    ).ready

    await operator.enqueueMany(
      work,
      Array.from({ length: 40 }, (_, n) => n),
    )

    // Claims beside the outcome, and the one that goes along with it, bring jobs that go back.
    await expect.poll(() => begun, patience).toBeGreaterThan(0)
    await expect
      .poll(async () => {
        const [counts] = await operator.queues.list([work])
        return counts?.running === 0 && (counts?.ready ?? 0) + (counts?.done ?? 0) === 40
      }, patience)
      .toBe(true)
    expect(begun).toBeLessThanOrEqual(SLOTS)
    expect((await operator.queues.list([work]))[0]?.ready).toBeGreaterThanOrEqual(40 - SLOTS + 1)
  }, 90_000)
})
