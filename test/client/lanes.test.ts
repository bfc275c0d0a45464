import { describe, expect, it } from 'vitest'
import { type LaneState, queue, type Skep } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const byShop = { lane: ({ payload }: { readonly payload: { readonly shop: string } }) => payload.shop }
const sync = queue<{ shop: string }>('shop.sync', { ...byShop, lanes: { concurrency: 2 } })
const strict = queue<{ shop: string }>('shop.strict', { ...byShop, lanes: { order: 'strict' } })
const paced = queue<{ shop: string }>('shop.paced', { ...byShop, lanes: { rate: { limit: 1, per: '1h' } } })
const plain = queue<{ shop: string }>('plain')

/** Declares the queues, with handlers that end when the promise does. */
async function declared(skep: Skep, until: Promise<void>): Promise<void> {
  const handlers = [sync, strict, paced, plain].map((one) => one.handle(() => until))
  await skep.worker(handlers, { concurrency: 3 }).ready
}

async function lanesOf(skep: Skep, name: string): Promise<readonly LaneState[]> {
  return (await skep.queues.lanes(name)).lanes
}

/** Looks until it is so. The lanes of a queue are seen only after a claim or a settle. */
async function until<T>(look: () => Promise<T>, isSo: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look()
    if (isSo(found)) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

describe.each(STORES)('skep.queues.lanes on %s', (name) => {
  it('tells of each lane what runs, what waits, and what holds it', async () => {
    const skep = openSkep(await openStore(name))
    const gate = opened()
    await declared(skep, gate.promise)
    const shops = ['ada', 'ada', 'ada', 'ada', 'bob']
    await skep.enqueueMany(
      sync,
      shops.map((shop) => ({ shop })),
    )
    await skep.queues.pause({ queue: sync, lane: 'bob' })
    await skep.limits.set({ queue: sync, lane: 'ada' }, { weight: 3 })

    const lanes = await until(
      () => lanesOf(skep, 'shop.sync'),
      ([ada]) => ada?.running === 2 && ada.waiting === 2,
    )

    expect(lanes.map(({ lane }) => lane)).toEqual(['ada', 'bob'])
    expect(lanes[0]).toEqual({
      lane: 'ada',
      running: 2,
      waiting: 2,
      waitingIsExact: true,
      startsAt: null,
      occupant: null,
      hold: null,
      changed: true,
      waitsFor: { cause: 'lane-full', text: 'Full, 2 of 2 are running.' },
    })
    expect(lanes[1]).toMatchObject({ lane: 'bob', hold: 'pause', changed: false })
    await skep.queues.block(sync)
    expect((await lanesOf(skep, 'shop.sync')).map(({ hold }) => hold)).toEqual(['block', 'block'])
    gate.resolve()
  })

  it('names the job at the head of a strict lane, and when a rate lets the next one start', async () => {
    const skep = openSkep(await openStore(name))
    const gate = opened()
    await declared(skep, gate.promise)
    const [head] = await skep.enqueueMany(strict, [{ shop: 'ada' }, { shop: 'ada' }])
    await skep.enqueueMany(paced, [{ shop: 'bob' }, { shop: 'bob' }])

    const [ada] = await until(
      () => lanesOf(skep, 'shop.strict'),
      ([one]) => one?.running === 1,
    )
    const [bob] = await until(
      () => lanesOf(skep, 'shop.paced'),
      ([one]) => one?.startsAt !== null,
    )

    expect(ada).toMatchObject({ occupant: head?.id, running: 1, waiting: 1 })
    expect(bob).toMatchObject({ running: 1, waiting: 1, occupant: null })
    expect(bob?.startsAt?.getTime()).toBeGreaterThan(Date.now())
    gate.resolve()
  })

  it('goes page by page in the order of the keys, and counts what waits up to a hundred', async () => {
    const skep = openSkep(await openStore(name))
    const gate = opened()
    await declared(skep, gate.promise)
    const shops = Array.from({ length: 7 }, (_, n) => `shop ${n}, €`)
    await skep.enqueueMany(
      sync,
      [...shops, ...Array.from({ length: 105 }, () => shops[6] as string)].map((shop) => ({ shop })),
    )
    await until(
      () => lanesOf(skep, 'shop.sync'),
      (lanes) => lanes.reduce((sum, { running }) => sum + running, 0) >= 3,
    )

    const seen: LaneState[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const page: Awaited<ReturnType<Skep['queues']['lanes']>> = await skep.queues.lanes(sync, {
        limit: 3,
        ...(cursor === null ? {} : { cursor }),
      })
      expect(page.lanes.length).toBeLessThanOrEqual(3)
      seen.push(...page.lanes)
      cursor = page.cursor
      pages++
    } while (cursor !== null)

    expect(seen.map(({ lane }) => lane)).toEqual(shops)
    expect(pages).toBe(3)
    expect(seen[6]).toMatchObject({ waiting: 100, waitingIsExact: false })
    expect(seen.slice(0, 6).every(({ waitingIsExact }) => waitingIsExact)).toBe(true)
    gate.resolve()
  })
})

describe('skep.lanes', () => {
  it('is empty for a queue without limits, and for one that is not there', async () => {
    const skep = openSkep(await openStore('memory'))
    await skep.enqueue(plain, { shop: 'ada' })

    expect(await skep.queues.lanes(plain)).toEqual({ lanes: [], cursor: null })
    expect(await skep.queues.lanes('nothing')).toEqual({ lanes: [], cursor: null })
  })

  it('refuses a name or a limit that makes no sense', async () => {
    const skep = openSkep(await openStore('memory'))

    await expect(skep.queues.lanes('')).rejects.toMatchObject({ code: 'NAME_INVALID' })
    await expect(skep.queues.lanes('a', { limit: 0 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(skep.queues.lanes('a', { limit: 201 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})

interface Gate {
  readonly promise: Promise<void>
  resolve(): void
}

/** A promise that somebody else resolves. */
function opened(): Gate {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}
