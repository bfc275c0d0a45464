import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { createSkep, flow, queue, type SkepError, type Store, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { codeOf, gate, openScene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<number, number>('mail')

describe('closing', () => {
  it('refuses everything afterwards', async () => {
    const { skep } = openScene()
    const job = await skep.enqueue(mail, 1)

    await skep.close()

    const calls = [
      () => skep.ready(),
      () => skep.enqueue(mail, 1),
      () => skep.enqueueMany(mail, [1]),
      () => skep.jobs.get(job.id),
      () => skep.jobs.list(),
      () => skep.queues.list(),
      () => skep.workers.list(),
      () => skep.jobs.cancel(job.id),
      () => skep.jobs.bury(job.id),
      () => skep.jobs.retry(job.id),
      () => skep.jobs.promote(job.id),
      () => skep.jobs.remove(job.id),
      () => skep.jobs.prune(),
      () => job.result(),
      () => job.get(),
      () => job.cancel(),
      async () => skep.worker([mail.handle(() => 1)]),
    ]
    expect(await Promise.all(calls.map((call) => codeOf(call())))).toEqual(calls.map(() => 'CLOSED'))
  })

  it('twice is one close', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 1)

    await Promise.all([scene.skep.close(), scene.skep.close()])
    await scene.skep.close()

    expect(scene.faults.closed).toBe(1)
  })

  it('rejects results that are awaited, and leaves no timer', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const result = job.result()
    result.catch(() => {})
    await scene.advance(100)

    await scene.skep.close()

    expect(await codeOf(result)).toBe('CLOSED')
    expect(scene.runtime.timers).toBe(0)
    expect(scene.notifier.subscribers).toBe(0)
  })

  it('lets no write of a bulk action wait for its next try', async () => {
    // Whatever the write is at when the worker has waited long enough for it.
    for (let ms = 0; ms < 9_000; ms += 300) {
      const scene = openScene({ storeTimeout: '3s' })
      await scene.skep.enqueueMany(mail, [1, 2, 3])
      const worker = scene.skep.worker([queue<number>('other').handle(() => {})])
      await scene.through(worker.ready)
      await scene.skep.bulk.start({ action: 'bury', query: 'queue:mail' })
      scene.faults.choose((operation) => (operation === 'putRecords' ? 'hang' : null))
      await scene.until(() => Promise.resolve(scene.faults.count('putRecords') > 1))
      await scene.advance(ms)

      await scene.through(worker.stop())
      await scene.through(scene.skep.close())

      expect([ms, scene.runtime.timers]).toEqual([ms, 0])
    }
  })

  it('rejects a result that begins to be awaited in the same moment', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)

    const result = job.result()
    result.catch(() => {})
    await scene.skep.close()

    expect(await codeOf(result)).toBe('CLOSED')
    expect(scene.runtime.timers).toBe(0)
  })

  it('saves what was being enqueued', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.next('insert', { slowMs: 100 }, 'after')
    const first = scene.skep.enqueue(mail, 1)
    await scene.advance(10)
    const second = scene.skep.enqueue(mail, 2)
    await scene.advance(1)

    await scene.through(scene.skep.close())

    expect([(await first).id, (await second).id]).toHaveLength(2)
    expect(await scene.counts('mail')).toEqual({ ready: 2 })
  })

  it('in the moment of the very first enqueue either saves that or refuses it, and uses no closed store', async () => {
    const scene = openScene()

    const enqueued = scene.skep.enqueue(mail, 1).then(
      () => 'saved',
      (error: { code: string }) => error.code,
    )
    await scene.skep.close()
    const inserts = scene.faults.count('insert')

    expect(['saved', 'CLOSED']).toContain(await enqueued)
    expect(await scene.counts('mail')).toEqual((await enqueued) === 'saved' ? { ready: 1 } : {})
    expect(scene.faults.count('insert')).toBe(inserts)
  })

  it('refuses an enqueue whose schema was still checking when the store was closed', async () => {
    const scene = openScene()
    const check = gate<boolean>()
    const slow = queue('slow', { payload: z.number().refine(() => check.promise) })
    await scene.skep.ready()
    const enqueued = scene.skep.enqueue(slow, 1)
    enqueued.catch(() => {})

    await scene.through(scene.skep.close())

    // At once, although the schema is still checking.
    expect(await codeOf(enqueued)).toBe('CLOSED')
    check.open(true)
    await scene.advance(1)
    expect(scene.faults.count('insert')).toBe(0)
  })

  it('rejects what waits for a store that never opens, at the latest after the enqueueTimeout', async () => {
    const scene = openScene({ enqueueTimeout: '3s' })
    scene.faults.choose((operation) => (operation === 'ready' ? 'hang' : null))
    const enqueued = codeOf(scene.skep.enqueue(mail, 1))
    const listed = codeOf(scene.skep.jobs.list())
    const copied = codeOf(scene.skep.jobs.copy('01a31c50-0000-7000-8000-0000000000aa'))
    const before = scene.runtime.mono()

    await scene.through(scene.skep.close())

    expect(scene.runtime.mono() - before).toBeLessThan(3_500)
    expect(await enqueued).toMatch(/^(?:CLOSED|STORE_UNAVAILABLE)$/)
    expect(await Promise.all([listed, copied])).toContain('CLOSED')
    expect(await codeOf(scene.skep.enqueue(mail, 1))).toBe('CLOSED')
    expect(scene.faults.count('insert')).toBe(0)
  })

  it.each(STORES)('waits for the first calls of a program, and refuses those after it: %s', async (name) => {
    const open = await openStore(name)
    const reader = openSkep(open)
    const opened = gate()
    // As a store on a slow network: it opens later than close() is called.
    const store: Store = Object.assign(Object.create(open) as Store, {
      ready: async () => {
        await opened.promise
        return open.ready()
      },
      close: async () => {},
    })
    const skep = createSkep({ store, logger: silentLogger })
    const order = flow('order', (f) => f.input<object>().step(queue<object>('other')))
    const before = [
      skep.enqueue(mail, 1),
      skep.enqueueMany(mail, [2, 3]),
      skep.start(order, {}),
      skep.groups.group([mail.job(4)]),
      skep.groups.chain([mail.job(5)]),
      skep.groups.open('mails').then((group) => group.id),
    ].map((call) =>
      (call as Promise<unknown>).then(
        () => 'saved',
        (error: SkepError) => error.code,
      ),
    )

    const closed = skep.close()
    const after = [
      () => skep.enqueue(mail, 1),
      () => skep.enqueueMany(mail, [2, 3]),
      () => skep.start(order, {}),
      () => skep.groups.group([mail.job(4)]),
      () => skep.groups.keyed('mails').add([mail.job(5)]),
    ].map((call) => codeOf(call()))
    expect(await Promise.all(after)).toEqual(after.map(() => 'CLOSED'))
    opened.open()
    await closed

    expect(await Promise.all(before)).toEqual(before.map(() => 'saved'))
    expect(await reader.queues.list([mail])).toMatchObject([{ ready: 5 }])
  })

  it.each(STORES)('right after the first enqueue of a real client saves it: %s', async (name) => {
    const store = await openStore(name)
    const reader = openSkep(store)
    const skep = createSkep({ store, logger: silentLogger })

    const enqueued = skep.enqueue(mail, 1)
    await skep.close()

    await expect(enqueued).resolves.toMatchObject({ duplicate: false })
    expect(await reader.queues.list([mail])).toMatchObject([{ ready: 1 }])
  })

  it('lets handlers that still run enqueue and ask until they are done, so that it costs no job a try', async () => {
    const scene = openScene()
    const next = queue<number>('next')
    const work = gate()
    const job = await scene.skep.enqueue(mail, 1)
    scene.skep.worker([
      mail.handle(async ({ payload }) => {
        await work.promise
        await scene.skep.enqueue(next, payload + 1)
        const [counts] = await scene.skep.queues.list([next])
        return counts?.ready ?? 0
      }),
    ])
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    const closed = scene.skep.close()
    await scene.advance(1_000)
    expect(() => scene.skep.worker([mail.handle(() => 1)])).toThrow(/closed/)
    work.open()
    await scene.through(closed)

    expect(await scene.job(job.id)).toMatchObject({ state: 'done', result: '1', errors: 0 })
    expect(await scene.counts('next')).toEqual({ ready: 1 })
  })

  it('ends also when the store hangs in the middle of an enqueue', async () => {
    const scene = openScene({ enqueueTimeout: '3s' })
    await scene.skep.ready()
    scene.faults.break('hang', ['insert'])
    const enqueued = scene.skep.enqueue(mail, 1)
    enqueued.catch(() => {})
    await scene.advance(10)

    await scene.through(scene.skep.close(), 15_000)

    expect(scene.faults.closed).toBe(1)
  })

  it('closes the store also when a worker or the notifier fails to end well', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(10)
    scene.faults.break('foreign')
    scene.notifier.broken = true

    await scene.through(scene.skep.close(), 60_000)

    expect(scene.faults.closed).toBe(1)
  })

  it('works as the end of an `await using` block', async () => {
    const scene = openScene()
    {
      await using skep = scene.client()
      await skep.enqueue(mail, 1)
    }
    expect(await scene.counts('mail')).toEqual({ ready: 1 })
    expect(scene.faults.closed).toBe(0)
  })

  it('closes a store that several use with the last of them', async () => {
    let closed = 0
    const store = { ...memoryStore(), close: async () => void closed++ }
    const first = createSkep({ store, space: 'one', logger: silentLogger })
    const second = createSkep({ store, space: 'two', logger: silentLogger })

    await first.close()
    await second.enqueue(mail, 1)
    expect(closed).toBe(0)
    await second.close()

    expect(closed).toBe(1)
  })
})
