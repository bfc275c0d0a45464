import { describe, expect, it } from 'vitest'
import { archive, bury, jobIdOf, type Queue, queue, type Skep, StoreError } from '../../src/index.ts'
import type { ChangeCall, Store } from '../../src/store/store.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const plain = queue<number>('plain')
const lane = queue<number>('lane', {
  lane: () => 'a',
  lanes: { order: 'strict', failing: 'skip' },
  onSuccess: archive('1d'),
})
const strict = queue<number>('strict', { order: 'strict' })

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, n) => from + n)

/** What waits, in the order in which it will start. */
async function waiting(skep: Skep, of: Queue<number>): Promise<unknown[]> {
  const payloads: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await skep.jobs.list({
      queue: of.name,
      state: 'ready',
      limit: 200,
      ...(cursor !== undefined && { cursor }),
    })
    payloads.push(...page.jobs.map(({ payload }) => payload))
    cursor = page.cursor ?? undefined
  } while (cursor !== undefined)
  return payloads
}

/** Jobs whose ids say nothing of their order, many of them enqueued in one call. */
async function enqueueWithIds(skep: Skep, of: Queue<number>, count: number): Promise<string[]> {
  const each = (n: number): { id: string } => ({ id: jobIdOf(of, `${n}`) })
  const handles = [
    ...(await skep.enqueueMany(of, numbers(count - 10), { each })),
    ...(await skep.enqueueMany(of, numbers(10, count - 10), { each })),
  ]
  return handles.map(({ id }) => id)
}

/** Ends them from the last to the first, so that they ended in another order, some buried and some cancelled. */
async function endBackwards(skep: Skep, ids: readonly string[]): Promise<void> {
  for (let to = ids.length; to > 0; to -= 50) {
    const some = ids.slice(Math.max(0, to - 50), to).toReversed()
    await skep.jobs.bury(some.filter((_, n) => n % 3 > 0))
    await skep.jobs.cancel(some.filter((_, n) => n % 3 === 0))
  }
}

async function retryInBulk(skep: Skep, query: string): Promise<number> {
  const serving = skep.bulk.serve()
  const { id } = await skep.bulk.start({ action: 'retry', query })
  await expect.poll(async () => (await skep.bulk.get(id))?.status, { timeout: 60_000 }).toBe('done')
  await serving.stop()
  return (await skep.bulk.get(id))?.changed ?? 0
}

/** The store as a process sees it whose retries fail after so many: it stays open when the process closes it. */
function failingAfter(store: Store, retries: number): Store {
  let left = retries
  const change = (call: ChangeCall): ReturnType<Store['change']> => {
    if (call.action !== 'retry') return store.change(call)
    left -= 1
    return left >= 0 ? store.change(call) : Promise.reject(new StoreError('STORE_UNAVAILABLE', 'It is away.'))
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'change') return change
      if (name === 'close') return () => Promise.resolve()
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe.each(STORES)('jobs that are retried in %s come back in the order of their enqueues', (name) => {
  it.each([
    ['1,200 jobs of a queue', plain, 1_200],
    ['600 jobs of a strict lane', lane, 600],
  ] as const)('%s, by selection and by a bulk action', { timeout: 120_000 }, async (_, of, count) => {
    const skep = openSkep(await openStore(name))
    const all = numbers(count)
    await skep.enqueueMany(of, all)
    await skep.jobs.bury({ queue: of.name })

    expect(await skep.jobs.retry({ queue: of.name })).toMatchObject({ changed: count, refused: [] })
    expect(await waiting(skep, of)).toEqual(all)

    await skep.jobs.bury({ queue: of.name })
    expect(await retryInBulk(skep, `queue:${of.name} state:dead`)).toBe(count)
    expect(await waiting(skep, of)).toEqual(all)
  })

  it.each([
    ['a strict queue', strict],
    ['a strict lane', lane],
  ] as const)(
    '%s, whatever their ids, their states and the order in which they ended',
    { timeout: 120_000 },
    async (_, of) => {
      const skep = openSkep(await openStore(name))
      const ids = await enqueueWithIds(skep, of, 620)
      const all = numbers(620)
      const states = ['cancelled', 'dead'] as const

      await endBackwards(skep, ids)
      expect(await skep.jobs.retry({ queue: of.name, state: states })).toMatchObject({
        changed: 620,
        refused: [],
      })
      expect(await waiting(skep, of)).toEqual(all)

      // One by one they arrive at the end, and all together in their order again.
      await endBackwards(skep, ids)
      for (const n of [7, 3, 5]) await skep.jobs.retry(ids[n] as string)
      expect(await waiting(skep, of)).toEqual([7, 3, 5])
      await endBackwards(skep, ids)
      expect(await skep.jobs.retry(ids.toSorted())).toMatchObject({ changed: 620, refused: [] })
      expect(await waiting(skep, of)).toEqual(all)

      // A limit means the first of them.
      await endBackwards(skep, ids)
      expect(await skep.jobs.retry({ queue: of.name, state: states, limit: 550 })).toMatchObject({
        changed: 550,
      })
      expect(await waiting(skep, of)).toEqual(numbers(550))

      await endBackwards(skep, ids)
      expect(await retryInBulk(skep, `queue:${of.name} state:dead,cancelled`)).toBe(620)
      expect(await waiting(skep, of)).toEqual(all)
    },
  )

  it('a strict queue, in a bulk action that another process goes on with', { timeout: 120_000 }, async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const ids = await enqueueWithIds(skep, strict, 620)
    await endBackwards(skep, ids)
    const first = openSkep(failingAfter(store, 1))
    first.bulk.serve()
    const { id } = await first.bulk.start({ action: 'retry', query: 'queue:strict state:dead,cancelled' })
    await expect.poll(async () => (await skep.bulk.get(id))?.changed, { timeout: 60_000 }).toBe(200)
    await first.close()
    expect(await waiting(skep, strict)).toEqual(numbers(200))
    // What comes meanwhile stands between.
    await skep.enqueue(strict, -1)

    skep.bulk.serve()
    await expect.poll(async () => (await skep.bulk.get(id))?.status, { timeout: 60_000 }).toBe('done')

    expect(await skep.bulk.get(id)).toMatchObject({ changed: 620, refused: 0 })
    expect(await waiting(skep, strict)).toEqual([...numbers(200), -1, ...numbers(420, 200)])
  })

  it('a strict lane, and run so, behind what waits', { timeout: 120_000 }, async () => {
    const skep = openSkep(await openStore(name))
    const ids = await enqueueWithIds(skep, lane, 40)
    const ran: number[] = []
    const worker = skep.worker([
      lane.handle(({ payload }) => {
        ran.push(payload)
        return payload % 2 === 0 ? bury('Even.') : payload
      }),
    ])
    await expect.poll(() => ran.length, { timeout: 60_000 }).toBe(40)
    await worker.stop()
    await skep.enqueueMany(lane, [101, 103])
    await endBackwards(
      skep,
      (await skep.jobs.list({ queue: 'lane', state: 'ready' })).jobs.map((job) => job.id),
    )
    await skep.enqueueMany(lane, [105, 107])
    ran.length = 0

    const { changed } = await skep.jobs.retry({ queue: 'lane', state: ['done', 'cancelled', 'dead'] })
    skep.worker([lane.handle(({ payload }) => void ran.push(payload))])

    expect(changed).toBe(ids.length + 2)
    await expect.poll(() => ran.length, { timeout: 60_000 }).toBe(44)
    expect(ran).toEqual([105, 107, ...numbers(40), 101, 103])
  })
})

describe.each(STORES)('jobs of a queue without order in %s', (name) => {
  it('keep their priorities, and come back in the order of their enqueues', {
    timeout: 120_000,
  }, async () => {
    const skep = openSkep(await openStore(name))
    const ids: string[] = []
    for (const from of numbers(62)) {
      const each = (n: number): { priority: number; id: string } => ({
        priority: n % 2,
        id: jobIdOf(plain, `${n}`),
      })
      const handles = await skep.enqueueMany(plain, numbers(10, 10 * from), { each })
      ids.push(...handles.map(({ id }) => id))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const jobs = await Promise.all(ids.map((id) => skep.jobs.get(id)))
    const enqueuedAt = jobs.map((job) => job?.enqueuedAt.getTime() as number)
    expect(new Set(enqueuedAt).size).toBeGreaterThan(30)
    // Of one call nothing tells which came first.
    const placeOf = (n: unknown): number[] => [1 - ((n as number) % 2), enqueuedAt[n as number] as number]
    const check = async (count: number): Promise<void> => {
      const places = (await waiting(skep, plain)).map(placeOf)
      const wanted = numbers(count).map(placeOf)
      expect(places).toEqual(wanted.sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d))
    }
    const states = ['cancelled', 'dead'] as const

    await endBackwards(skep, ids)
    expect(await skep.jobs.retry({ queue: 'plain', state: states })).toMatchObject({ changed: 620 })
    await check(620)

    await endBackwards(skep, ids)
    expect(await skep.jobs.retry(ids.toReversed())).toMatchObject({ changed: 620 })
    await check(620)

    await endBackwards(skep, ids)
    expect(await retryInBulk(skep, 'queue:plain state:dead,cancelled')).toBe(620)
    await check(620)

    await endBackwards(skep, ids)
    expect(await skep.jobs.retry(ids.slice(0, 310).toReversed())).toMatchObject({ changed: 310 })
    await check(310)
  })
})
