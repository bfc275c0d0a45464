import { describe, expect, it } from 'vitest'
import {
  type BulkView,
  type CountPage,
  createSkep,
  fixed,
  queue,
  retry,
  type Skep,
  StoreError,
  silentLogger,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<number>('mail', { onError: retry(0, fixed(0)) })
const report = queue<number>('report')

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

async function ended(skep: Skep, id: string): Promise<BulkView> {
  for (let tries = 0; tries < 5_000; tries++) {
    const view = await skep.bulk.get(id)
    if (view !== null && view.status !== 'running') return view
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('It did not end.')
}

const endedIn = async (scene: Scene, id: string, maxMs = 300_000): Promise<BulkView> => {
  await scene.until(async () => (await scene.skep.bulk.get(id))?.status !== 'running', maxMs)
  return (await scene.skep.bulk.get(id)) as BulkView
}

describe.each(STORES)('a bulk action in %s', (name) => {
  it('does one thing to all jobs that fit, and to no others', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(mail, numbers(700))
    const others = await skep.enqueueMany(report, numbers(10))
    skep.bulk.serve()

    const begun = await skep.bulk.start({
      action: 'cancel',
      query: 'queue:mail payload:>=100',
      by: 'ada',
      reason: 'Too many',
    })
    const view = await ended(skep, begun.id)

    expect(begun).toMatchObject({
      status: 'running',
      expected: 600,
      by: 'ada',
      name: 'cancel queue:mail payload:>=100',
    })
    expect(view).toMatchObject({ status: 'done', changed: 600, refused: 0, expected: 600, error: null })
    expect(view.endedAt).toBeInstanceOf(Date)
    expect((await skep.queues.list(['mail']))[0]).toMatchObject({ ready: 100, cancelled: 600 })
    expect(
      (await skep.jobs.list({ queue: 'mail', state: 'cancelled', limit: 1 })).jobs[0]?.failure,
    ).toMatchObject({ message: 'Too many' })
    expect((await skep.queues.list(['report']))[0]).toMatchObject({ ready: others.length })
    expect(await skep.bulk.list()).toEqual([view])
  })

  it('is counted to the end before it begins, page by page', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(mail, numbers(1_200))
    await skep.enqueueMany(report, numbers(10))

    let sum = 0
    let cursor: string | null = null
    let pages = 0
    do {
      const page: CountPage = await skep.bulk.count({
        action: 'cancel',
        query: 'payload:>=500 payload:<503',
        ...(cursor === null ? {} : { cursor }),
      })
      sum += page.count
      cursor = page.cursor
      pages += 1
    } while (cursor !== null)

    expect(sum).toBe(3)
    expect(pages).toBeLessThan(100)
    // What the store can tell by itself takes one page, and is of the states that the action changes.
    expect(await skep.bulk.count({ action: 'cancel', query: 'queue:mail' })).toEqual({
      count: 1_200,
      searched: 0,
      cursor: null,
    })
    expect(await skep.bulk.count({ action: 'retry', query: 'queue:mail' })).toMatchObject({ count: 0 })
  })

  it('retries, buries, promotes, removes and prioritizes', async () => {
    const skep = openSkep(await openStore(name))
    skep.bulk.serve()
    const run = async (
      action: BulkView['action'],
      query: string,
      more: { priority?: number } = {},
    ): Promise<number> => (await ended(skep, (await skep.bulk.start({ action, query, ...more })).id)).changed
    await skep.enqueueMany(mail, numbers(30), { delay: '1h' })

    expect(await run('prioritize', 'queue:mail payload:<5', { priority: 9 })).toBe(5)
    expect(await run('prioritize', 'queue:mail', { priority: 9 })).toBe(25)
    expect(await run('promote', 'payload:<10')).toBe(10)
    expect(await run('bury', 'state:ready queue:mail')).toBe(10)
    expect(await run('retry', 'queue:mail payload:<4')).toBe(4)
    expect(await run('remove', 'queue:mail')).toBe(6)
    expect((await skep.queues.list(['mail']))[0]).toMatchObject({ ready: 4, delayed: 20, dead: 0 })
    expect((await skep.jobs.list({ queue: 'mail' })).jobs.every(({ priority }) => priority === 9)).toBe(true)
  })
})

describe('a bulk action', () => {
  it('is worked off by any worker, within a moment', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(300), { delay: '1h' })
    scene.client().worker([report.handle(() => {})])
    await scene.advance(1_000)
    const before = scene.runtime.mono()

    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail' })
    expect(await endedIn(scene, id)).toMatchObject({ status: 'done', changed: 300 })

    // Not only at the next look.
    expect(scene.runtime.mono() - before).toBeLessThan(5_000)
  })

  it('keeps to its rate', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(100))
    scene.skep.bulk.serve()
    const before = scene.runtime.mono()

    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail', perSecond: 10 })
    await scene.advance(3_050)
    const view = await scene.skep.bulk.get(id)
    expect(view?.changed).toBeGreaterThanOrEqual(20)
    expect(view?.changed).toBeLessThanOrEqual(40)
    await endedIn(scene, id)

    expect(scene.runtime.mono() - before).toBeGreaterThanOrEqual(9_000)
  })

  it('stops at the next page, with its numbers, and cannot be stopped twice', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(100))
    scene.skep.bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail', perSecond: 10 })
    await scene.advance(2_000)

    const stopped = await scene.skep.bulk.stop(id)
    await scene.advance(60_000)

    expect(stopped).toMatchObject({ status: 'stopped' })
    const view = await scene.skep.bulk.get(id)
    const { cancelled = 0 } = await scene.counts('mail')
    expect(view).toMatchObject({ status: 'stopped', changed: cancelled })
    expect(cancelled).toBeLessThan(100)
    expect(await scene.skep.bulk.stop(id)).toEqual(view)
    expect(await scene.skep.bulk.stop(scene.runtime.uuid())).toBeNull()
  })

  it('counts the page that was under way when it was stopped', async () => {
    let onChange: (() => Promise<unknown>) | null = null
    const scene: Scene = openScene({
      wrap: (store) => ({
        ...store,
        async change(call) {
          const reply = await store.change(call)
          await onChange?.()
          return reply
        },
      }),
    })
    await scene.skep.enqueueMany(mail, numbers(600))
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail' })
    onChange = () => scene.client(scene.truth).bulk.stop(id)
    scene.skep.bulk.serve()
    await scene.advance(10_000)

    expect(await scene.skep.bulk.get(id)).toMatchObject({ status: 'stopped', changed: 200 })
    expect(await scene.counts('mail')).toEqual({ ready: 400, cancelled: 200 })
  })

  it('that is stopped during its last page stays stopped, with that page counted', async () => {
    let onChange: (() => Promise<unknown>) | null = null
    const scene: Scene = openScene({
      wrap: (store) => ({
        ...store,
        async change(call) {
          const reply = await store.change(call)
          await onChange?.()
          return reply
        },
      }),
    })
    await scene.skep.enqueueMany(mail, numbers(50))
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail' })
    let stopped: BulkView | null = null
    onChange = async () => {
      stopped = await scene.client(scene.truth).bulk.stop(id)
    }
    scene.skep.bulk.serve()
    await scene.advance(10_000)

    expect(stopped).toMatchObject({ status: 'stopped', changed: 0 })
    const { endedAt } = stopped as unknown as BulkView
    expect(await scene.skep.bulk.get(id)).toMatchObject({ status: 'stopped', changed: 50, endedAt })
  })

  it('goes on in another process when the one that works it off dies', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(100))
    // A process whose store is gone for good after a while can do nothing more, as if it had died.
    let isDead = false
    const mortal = new Proxy(scene.truth, {
      get(store, name: keyof Store) {
        const found = store[name]
        if (typeof found !== 'function') return found
        return (...args: never[]) =>
          isDead && name !== 'close'
            ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'gone'))
            : (found as (...all: never[]) => unknown).apply(store, args)
      },
    })
    const first = scene.client(mortal)
    first.bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail', perSecond: 10 })
    await scene.advance(3_000)
    isDead = true
    const before = (await scene.skep.bulk.get(id))?.changed ?? 0
    scene.client(scene.truth).bulk.serve()
    await scene.advance(10_000)
    expect((await scene.skep.bulk.get(id))?.changed).toBe(before)

    const view = await endedIn(scene, id)

    expect(before).toBeGreaterThan(0)
    expect(view).toMatchObject({ status: 'done', changed: 100, refused: 0 })
    expect(await scene.counts('mail')).toEqual({ cancelled: 100 })
  })

  it('that died after a page and before it was written down does that page again, without harm', async () => {
    let hasChanged = false
    let isDead = false
    const scene: Scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(500))
    await scene.skep.jobs.bury({ queue: 'mail' })
    const gone = (): never => {
      throw new StoreError('STORE_UNAVAILABLE', 'gone')
    }
    const mortal: Store = {
      ...scene.truth,
      async putRecords(call) {
        // After the first page was retried this write would save it.
        if (hasChanged) isDead = true
        return isDead ? gone() : scene.truth.putRecords(call)
      },
      async change(call) {
        const reply = await scene.truth.change(call)
        hasChanged = true
        return reply
      },
      listRecords: async (call) => (isDead ? gone() : scene.truth.listRecords(call)),
    }
    scene.client(mortal).bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'retry', query: 'state:dead queue:mail' })
    await scene.until(() => isDead)
    expect(await scene.counts('mail')).toEqual({ ready: 200, dead: 300 })
    scene.client(scene.truth).bulk.serve()

    const view = await endedIn(scene, id)

    // What is not known of is not counted.
    expect(view).toMatchObject({ status: 'done', changed: 300, refused: 0 })
    expect(await scene.counts('mail')).toEqual({ ready: 500 })
    const { jobs } = await scene.skep.jobs.list({ queue: 'mail', limit: 200 })
    expect(jobs.every(({ generation }) => generation === 1)).toBe(true)
  })

  it('is worked off once when many processes want to', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(1_000))
    await scene.skep.jobs.bury({ queue: 'mail' })
    for (let n = 0; n < 4; n++) scene.client().bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'retry', query: 'queue:mail' })

    const view = await endedIn(scene, id)

    expect(view).toMatchObject({ status: 'done', changed: 1_000, refused: 0 })
    const { ids } = { ids: (await scene.skep.jobs.list({ queue: 'mail', limit: 200 })).jobs }
    expect(ids.every(({ generation }) => generation === 1)).toBe(true)
  })

  it('goes on at once elsewhere when its process closes', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(60))
    const first = scene.client()
    first.bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail', perSecond: 10 })
    await scene.advance(2_000)
    const before = scene.runtime.mono()
    await scene.through(first.close())
    scene.client().bulk.serve()

    expect(await endedIn(scene, id)).toMatchObject({ status: 'done', changed: 60 })
    expect(scene.runtime.mono() - before).toBeLessThan(10_000)
  })

  it('retries each job once, even if all fail again at once', async () => {
    const scene = openScene()
    let runs = 0
    const fails = mail.handle(() => {
      runs++
      throw new Error('always')
    })
    scene.skep.worker([fails])
    await scene.skep.enqueueMany(mail, numbers(500))
    await scene.until(async () => (await scene.counts('mail')).dead === 500)
    await scene.advance(1_000)

    const { id } = await scene.skep.bulk.start({
      action: 'retry',
      query: 'state:dead,failed',
      perSecond: 100,
    })
    const view = await endedIn(scene, id)
    await scene.until(async () => (await scene.counts('mail')).dead === 500)

    expect(view).toMatchObject({ status: 'done', changed: 500 })
    expect(runs).toBe(1_000)
  })

  it('survives a store that is away for a while', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, numbers(1_000))
    let isAway = false
    const flaky = new Proxy(scene.truth, {
      get(store, name: keyof Store) {
        const found = store[name]
        if (typeof found !== 'function') return found
        return async (...args: never[]) => {
          if (isAway) throw new StoreError('STORE_UNAVAILABLE', 'away')
          const reply = await (found as (...all: never[]) => unknown).apply(store, args)
          // The answer is lost now and then.
          if (name === 'putRecords' && scene.runtime.random() < 0.3)
            throw new StoreError('STORE_UNKNOWN', 'lost')
          return reply
        }
      },
    })
    scene.client(flaky).bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail', perSecond: 200 })
    await scene.advance(1_500)
    isAway = true
    await scene.advance(20_000)
    isAway = false

    expect(await endedIn(scene, id)).toMatchObject({ status: 'done', changed: 1_000 })
  })

  it('fails with the reason if the store refuses it', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        async change() {
          throw new StoreError('STORE_REJECTED', 'No such thing.')
        },
      }),
    })
    await scene.skep.enqueue(mail, 1)
    scene.skep.bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail' })

    expect(await endedIn(scene, id)).toMatchObject({ status: 'failed', error: 'No such thing.' })
  })

  it('takes the usual states if the query says nothing of them, and refuses what is never possible', async () => {
    const { skep } = openScene()

    expect(await codeOf(skep.bulk.start({ action: 'retry', query: 'state:ready' }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.bulk.start({ action: 'promote', query: '-state:delayed' }))).toBe(
      'OPTION_INVALID',
    )
    expect(await codeOf(skep.bulk.start({ action: 'retry', query: '' }))).toBe('QUERY_INVALID')
    expect(await codeOf(skep.bulk.start({ action: 'retry', query: 'state:x' }))).toBe('QUERY_INVALID')
    expect(await codeOf(skep.bulk.start({ action: 'prioritize', query: 'queue:a' }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.bulk.start({ action: 'cancel', query: 'queue:a', perSecond: 0 }))).toBe(
      'OPTION_INVALID',
    )
    expect(await codeOf(skep.bulk.start({ action: 'drop' as 'remove', query: 'queue:a' }))).toBe(
      'OPTION_INVALID',
    )
    expect(await skep.bulk.list()).toEqual([])
  })

  it('belongs to its space: others neither see nor stop it', async () => {
    const store = memoryStore()
    const [here, there] = ['here', 'there'].map((space) =>
      createSkep({ store, space, logger: silentLogger }),
    ) as [Skep, Skep]
    const { id } = await there.bulk.start({ action: 'cancel', query: 'queue:mail' })

    expect(await here.bulk.get(id)).toBeNull()
    expect(await here.bulk.list()).toEqual([])
    expect((await there.bulk.list()).map((one) => one.id)).toEqual([id])
    await Promise.all([here.close(), there.close()])
  })

  it('is forgotten a week after it ended', async () => {
    const scene = openScene()
    const served = scene.skep.bulk.serve()
    const { id } = await scene.skep.bulk.start({ action: 'cancel', query: 'queue:mail' })
    await endedIn(scene, id)
    await served.stop()

    await scene.advance(6 * 86_400_000)
    expect(await scene.skep.bulk.get(id)).not.toBeNull()
    await scene.advance(86_400_000 + 1_000)
    expect(await scene.skep.bulk.get(id)).toBeNull()
  })
})
