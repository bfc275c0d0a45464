import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createSkep,
  discard,
  fixed,
  never,
  queue,
  retry,
  silentLogger,
  type WorkerEvents,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { openSkep, openStore, STORES } from '../client/support/stores.ts'

const mail = queue<number, unknown>('mail', { onError: retry(0, fixed(0), { ending: discard() }) })
const kept = queue<number, unknown>('kept', { onError: never() })
const brief = queue<number>('brief', { onLost: never(discard()) })
const { uuid } = systemRuntime()

describe.each(STORES)('events (%s)', (name) => {
  it('say that a failed job was discarded, and not that it is kept as failed', async () => {
    const skep = openSkep(await openStore(name))
    const told = new Promise<WorkerEvents['error']>((resolve) => void skep.on('error', resolve))
    const worker = skep.worker([
      mail.handle(() => {
        throw new Error('declined')
      }),
    ])
    const job = await skep.enqueue(mail, 1)

    expect((await told).state).toBe('discarded')
    expect(await job.get()).toBeNull()
    await worker.stop()
  })

  it('say that a job was discarded whose worker is gone', async () => {
    const store = await openStore(name)
    const skep = createSkep({ store, logger: silentLogger })
    onTestFinished(() => skep.close())
    await skep.enqueue(brief, 1)
    const source = { space: 'default', queue: 'brief', limit: 1 }
    const lease = { workerId: uuid(), token: uuid(), leaseMs: 1_000 }
    expect((await store.claim({ ...lease, sources: [source], limit: 1 })).jobs).toHaveLength(1)
    const told = new Promise<WorkerEvents['lost']>((resolve) => void skep.on('lost', resolve))

    const worker = skep.worker([brief.handle(() => {})], { lease: '1s' })

    const { job, state, failure } = await told
    expect([job.payload, state, failure.kind]).toEqual([1, 'discarded', 'lost'])
    expect(await skep.jobs.get(job.id)).toBeNull()
    await worker.stop()
  })

  it('tell of the dead that an operator has buried: by id, by selection and in bulk', async () => {
    const skep = openSkep(await openStore(name))
    const dead: string[] = []
    skep.on('dead', ({ job, failure, state }) => void dead.push([job.payload, failure.message, state].join()))
    const [first] = await skep.enqueueMany(kept, [1, 2, 3])

    await skep.jobs.bury(first?.id as string, { reason: 'one' })
    await skep.jobs.bury({ queue: 'kept', limit: 1 }, { reason: 'two' })
    const serving = skep.bulk.serve()
    await skep.bulk.start({ action: 'bury', query: 'queue:kept state:ready', reason: 'three' })

    await expect
      .poll(() => dead.toSorted(), { timeout: 20_000 })
      .toEqual(['1,one,dead', '2,two,dead', '3,three,dead'])
    await serving.stop()
  })

  it('keep a cause that is not an Error', async () => {
    const skep = openSkep(await openStore(name))
    const worker = skep.worker([
      kept.handle(({ payload }) => {
        throw new Error('failed', { cause: payload === 1 ? 'a text' : { code: 42 } })
      }),
    ])
    const jobs = await skep.enqueueMany(kept, [1, 2])
    const causes: unknown[] = []
    for (const job of jobs) {
      await job.result().catch(() => {})
      causes.push((await job.get())?.failure?.causes)
    }
    await worker.stop()

    expect(causes).toEqual([
      [{ name: 'string', message: 'a text' }],
      [{ name: 'object', message: '{"code":42}' }],
    ])
  })
})

describe('two Skeps on one memory store', () => {
  it('hear each other, also in other spaces and after one of them was closed', async () => {
    const store = memoryStore()
    const [one, two] = [1, 2].map(() => createSkep({ store, logger: silentLogger }))
    if (!one || !two) throw new Error('There are two.')
    // Nothing but a hint makes this worker look within the test.
    const worker = one.worker([kept.handle(({ payload }) => payload)], { poll: '1h' })
    await worker.ready
    const third = two.inSpace('other')
    await third.close()

    const job = await two.enqueue(kept, 1)
    expect(await job.result({ timeout: '20s' })).toBe(1)
    await two.close()
    expect(await (await one.enqueue(kept, 2)).result({ timeout: '20s' })).toBe(2)
    await one.close()
  })
})
