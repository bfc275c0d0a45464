import { describe, expect, it } from 'vitest'
import { type BulkView, flow, queue, type Skep, type Store, StoreError } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<number>('mail')
const post = queue<number>('post')

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

async function ended(skep: Skep, id: string): Promise<BulkView> {
  for (let tries = 0; tries < 5_000; tries++) {
    const view = await skep.bulk.get(id)
    if (view !== null && view.status !== 'running') return view
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('It did not end.')
}

async function payloads(skep: Skep, name: string): Promise<readonly unknown[]> {
  const { jobs } = await skep.jobs.list({ queue: name, limit: 200 })
  return jobs.map(({ payload }) => payload).toSorted((a, b) => Number(a) - Number(b))
}

describe.each(STORES)('a bulk action in %s', (name) => {
  it('moves jobs into another queue, with all that they have', async () => {
    const skep = openSkep(await openStore(name))
    skep.bulk.serve()
    const runAt = new Date(Date.now() + 3_600_000)
    await skep.enqueue(mail, 1, { runAt, priority: 5, headers: { tenant: 'acme' } })
    await skep.enqueueMany(mail, [2, 3])
    await skep.jobs.bury((await skep.enqueue(mail, 4)).id)
    await skep.enqueue(post, 9)

    const { id } = await skep.bulk.start({ action: 'move', query: 'queue:mail', queue: 'post' })
    expect(await ended(skep, id)).toMatchObject({ status: 'done', changed: 3, refused: 0, expected: 3 })
    const dead = await skep.bulk.start({ action: 'move', query: 'state:dead', queue: 'post' })
    expect(await ended(skep, dead.id)).toMatchObject({ status: 'done', changed: 1 })

    expect(await payloads(skep, 'mail')).toEqual([])
    expect(await payloads(skep, 'post')).toEqual([1, 2, 3, 4, 9])
    const { jobs } = await skep.jobs.list({ queue: 'post', state: 'delayed' })
    expect(jobs).toMatchObject([{ payload: 1, priority: 5, dueAt: runAt, headers: { tenant: 'acme' } }])
  })

  it('moves many, page by page, and each of them once', async () => {
    const skep = openSkep(await openStore(name))
    skep.bulk.serve()
    await skep.enqueueMany(mail, numbers(450))

    const { id } = await skep.bulk.start({ action: 'move', query: 'queue:mail', queue: 'post' })
    expect(await ended(skep, id)).toMatchObject({ changed: 450, refused: 0 })
    const [from, to] = await skep.queues.list(['mail', 'post'])
    expect([from?.ready, from?.dead, to?.ready]).toEqual([0, 0, 450])
  })

  it('leaves what runs, and what belongs to a flow or a chain', async () => {
    const skep = openSkep(await openStore(name))
    skep.bulk.serve()
    const steps = flow('steps', (f) => f.input<{ n: number }>().step(mail, ({ state }) => state.n))
    await skep.start(steps, { n: 1 })
    await skep.groups.chain([mail.job(2), mail.job(3)])
    await skep.enqueue(mail, 4)

    const { id } = await skep.bulk.start({ action: 'move', query: 'queue:mail', queue: 'post' })
    const view = await ended(skep, id)
    expect(view.changed).toBe(1)
    expect(view.refused).toBeGreaterThan(0)
    expect(await payloads(skep, 'post')).toEqual([4])
  })

  it.each(['get', 'change', 'insert', 'change, later'] as const)(
    'goes on after it died before %s, and loses and doubles nothing',
    async (where) => {
      const store = await openStore(name)
      const dying = dyingAt(store, where)
      const first = openSkep(dying.store)
      await first.enqueueMany(mail, numbers(30))
      const { id } = await first.bulk.start({ action: 'move', query: 'queue:mail', queue: 'post' })
      dying.arm()
      const served = first.bulk.serve()
      await dying.died
      await served.stop()
      dying.disarm()
      // What it had begun is in the store; others need not wait until they see that it is gone.
      await first.bulk.runner.release()

      const second = openSkep(store)
      second.bulk.serve()
      expect(await ended(second, id)).toMatchObject({ status: 'done', changed: 30, refused: 0 })
      expect(await payloads(second, 'post')).toEqual(numbers(30))
      expect(await payloads(second, 'mail')).toEqual([])
    },
    60_000,
  )

  it('puts jobs off and brings them nearer', async () => {
    const skep = openSkep(await openStore(name))
    skep.bulk.serve()
    await skep.enqueueMany(mail, numbers(250))
    await skep.enqueueMany(mail, numbers(50), { delay: '3h' })
    const when = new Date(Date.now() + 7_200_000)

    const { id } = await skep.bulk.start({ action: 'reschedule', query: 'queue:mail', when })
    expect(await ended(skep, id)).toMatchObject({ changed: 300, refused: 0 })
    expect((await skep.queues.list(['mail']))[0]).toMatchObject({ ready: 0, delayed: 300 })
    const { jobs } = await skep.jobs.list({ queue: 'mail', state: 'delayed', limit: 200 })
    expect(new Set(jobs.map(({ dueAt }) => dueAt.getTime()))).toEqual(new Set([when.getTime()]))

    const now = await skep.bulk.start({ action: 'reschedule', query: 'payload:<10', when: { delay: 0 } })
    expect(await ended(skep, now.id)).toMatchObject({ changed: 20 })
    expect((await skep.queues.list(['mail']))[0]).toMatchObject({ ready: 20, delayed: 280 })
  })
})

describe('a bulk action', () => {
  it('can be undone until it begins', async () => {
    const skep = openSkep(await openStore('memory'))
    skep.bulk.serve()
    await skep.enqueueMany(mail, numbers(10))

    const { id, beginsAt, startedAt } = await skep.bulk.start({
      action: 'cancel',
      query: 'queue:mail',
      delay: '300ms',
    })
    expect(beginsAt.getTime() - startedAt.getTime()).toBe(300)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await skep.bulk.stop(id)).toMatchObject({ status: 'stopped', changed: 0 })
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect((await skep.queues.list(['mail']))[0]).toMatchObject({ ready: 10, cancelled: 0 })

    const other = await skep.bulk.start({ action: 'cancel', query: 'queue:mail', delay: '100ms' })
    expect(await ended(skep, other.id)).toMatchObject({ status: 'done', changed: 10 })
  })

  it.each([
    ['a move to nowhere', { action: 'move' }],
    ['a move to what is no queue', { action: 'move', queue: 'a b' }],
    ['a move into a flow', { action: 'move', queue: 'flow:steps' }],
    ['a moment that is none', { action: 'reschedule' }],
    ['a moment that is no date', { action: 'reschedule', when: new Date('x') }],
    ['a delay that is none', { action: 'cancel', delay: 'soon' as never }],
  ] as const)('is refused with %s, before anything is written', async (_what, options) => {
    const skep = openSkep(await openStore('memory'))
    await expect(skep.bulk.start({ query: 'queue:mail', ...options })).rejects.toThrow()
    expect(await skep.bulk.list()).toEqual([])
  })
})

interface Dying {
  readonly store: Store
  readonly died: Promise<void>
  arm(): void
  disarm(): void
}

/** A store whose caller dies before one of its calls: from then on nothing reaches it. */
function dyingAt(store: Store, where: string): Dying {
  const method = where.split(',')[0] as 'get' | 'change' | 'insert'
  let left = where.endsWith('later') ? 1 : 0
  let isArmed = false
  let isDead = false
  let die = (): void => {}
  const died = new Promise<void>((resolve) => {
    die = resolve
  })
  const gone = (): Promise<never> => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'dead'))
  const wrapped = new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (isDead && key !== 'close') return gone()
        if (isArmed && key === method && left-- <= 0) {
          isDead = true
          die()
          return gone()
        }
        return (value as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  return {
    store: wrapped,
    died,
    arm: () => {
      isArmed = true
    },
    disarm: () => {
      isDead = false
      isArmed = false
    },
  }
}
