import { describe, expect, it } from 'vitest'
import { discard, flow, queue, StoreError, schedule } from '../../src/index.ts'
import type { Fault } from '../worker/support/faulty-store.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'

const mail = queue<number, number>('mail')
const spool = queue<number>('spool', { onSuccess: discard() })

const order = flow('order', (f) => f.input<object>().step(mail, () => 1))

const id = '01a31c50-0000-7000-8000-0000000000aa'

describe('an enqueue while the store is in trouble', () => {
  it.each<Fault>(['before', 'after', 'lost'])(
    'is repeated until the store answers, and is one job (%s)',
    async (fault) => {
      const scene = openScene()
      scene.faults.next('insert', fault, fault, fault)

      const job = await scene.through(scene.skep.enqueue(mail, 1))

      expect(await scene.counts('mail')).toEqual({ ready: 1 })
      expect(await scene.state(job.id)).toBe('ready')
      expect(scene.faults.count('insert')).toBe(4)
    },
  )

  it('is as patient when it is the first of its process, and the store cannot even be looked at', async () => {
    const scene = openScene({ enqueueTimeout: '5s' })
    scene.faults.break('before')
    const first = scene.skep.enqueue(mail, 1)
    await scene.advance(2_000)
    scene.faults.heal()
    await scene.through(first)
    expect(await scene.counts('mail')).toEqual({ ready: 1 })

    const other = scene.client()
    scene.faults.break('lost')
    const failed = Promise.allSettled([other.enqueue(mail, 2), other.enqueueMany(mail, [3])])

    const codes = (await scene.through(failed)).map(
      (one) => (one as { reason: { code: string } }).reason.code,
    )
    expect(codes).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'])
    expect(scene.faults.count('insert')).toBe(1)
  })

  it.each([1_000, 4_500, 7_000, 9_900])(
    'outlasts an outage of %i ms, whatever chance makes of its waits',
    async (outageMs) => {
      for (let seed = 1; seed <= 20; seed++) {
        const scene = openScene({ seed })
        if (seed % 2 === 0) await scene.skep.ready()
        scene.faults.break('before')
        const calls = [
          scene.skep.enqueue(mail, 1),
          scene.client().enqueueMany(mail, [2, 3]),
          scene.skep.groups.group([mail.job(4)]),
          scene.client().groups.chain([mail.job(5), mail.job(6)]),
          scene.client().groups.open('key'),
          scene.client().start(order, {}),
          scene.skep.start(order, {}),
          scene.client().queues.pause(spool),
          scene.skep.limits.set(spool, { concurrency: 1 }),
          scene.skep.jobs.cancel(id),
          scene.skep.schedules.put(schedule('nightly', { queue: mail, payload: 1, every: '1h' })),
        ]
        await scene.advance(outageMs)
        scene.faults.heal()

        await scene.through(Promise.all(calls))
        expect(await scene.counts('mail')).toEqual({ ready: 7 })
      }
    },
  )

  it('tries once more when its time ends, and then gives up', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const scene = openScene({ seed })
      await scene.skep.ready()
      const before = scene.runtime.mono()
      let lastAt = 0
      scene.faults.choose((operation) => {
        if (operation !== 'insert') return null
        lastAt = scene.runtime.mono() - before
        return 'before'
      })
      const failed = scene.skep.enqueue(mail, 1)
      failed.catch(() => {})

      expect(await codeOf(scene.through(failed))).toBe('STORE_UNAVAILABLE')
      expect(lastAt).toBeGreaterThanOrEqual(9_990)
      expect(lastAt).toBeLessThanOrEqual(10_010)
    }
  })

  it('does not repeat a cancel whose reply was lost: it may have happened', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.next('change', 'after')

    expect(await codeOf(scene.through(scene.skep.jobs.cancel(id)))).toBe('STORE_UNKNOWN')
    expect(scene.faults.count('change')).toBe(1)
  })

  it('says "again" from the first unknown answer on, so that a job that ran and was discarded is not enqueued anew', async () => {
    const scene = openScene()
    let runs = 0
    scene.skep.worker([spool.handle(() => void runs++)], { poll: '10ms' })
    scene.faults.next('insert', 'after', 'before', 'after')

    await scene.through(scene.skep.enqueue(spool, 1))
    await scene.advance(10_000)

    expect(runs).toBe(1)
    expect(scene.faults.arguments('insert').map(({ again }) => again ?? false)).toEqual([
      false,
      true,
      true,
      true,
    ])
  })

  it('gives up after its time, and says that nothing was enqueued when that is so', async () => {
    const scene = openScene({ enqueueTimeout: '3s' })
    await scene.skep.ready()
    scene.faults.break('before', ['insert'])
    const before = scene.runtime.mono()

    const failed = scene.skep.enqueue(mail, 1)
    failed.catch(() => {})

    expect(await codeOf(scene.through(failed))).toBe('STORE_UNAVAILABLE')
    expect(scene.runtime.mono() - before).toBeLessThanOrEqual(3_100)
    expect(await scene.counts('mail')).toEqual({})
  })

  it.each([
    ['with ids of ours', undefined],
    ["with an id of the caller's", id],
  ])('gives up and says that nobody knows when that is so, %s', async (_name, given) => {
    const scene = openScene({ enqueueTimeout: '3s' })
    await scene.skep.ready()
    scene.faults.next('insert', 'after')
    scene.faults.break('before', ['insert'])

    const failed = scene.skep.enqueue(mail, 1, given === undefined ? {} : { id: given })
    failed.catch(() => {})
    const error: unknown = await scene.through(failed).catch((thrown: unknown) => thrown)

    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'STORE_UNKNOWN', effect: 'unknown' })
    const [known] = (error as StoreError).facts['ids'] as string[]
    expect(await scene.state(known!)).toBe('ready')
  })

  it('tells each of those who shared a call about their own jobs only', async () => {
    const scene = openScene({ enqueueTimeout: '1s' })
    await scene.skep.ready()
    scene.faults.break('before', ['insert'])

    const settled = await scene.through(
      Promise.allSettled([
        scene.skep.enqueue(mail, 1),
        scene.skep.enqueueMany(mail, [2, 3]),
        scene.skep.enqueue(mail, 4, { id }),
      ]),
    )

    const ids = settled.map((one) =>
      one.status === 'rejected' ? (one.reason as StoreError).facts['ids'] : null,
    )
    expect(ids.map((list) => (list as string[]).length)).toEqual([1, 2, 1])
    expect(ids[2]).toEqual([id])
  })

  it('with an id can be sent again by the caller without a second job', async () => {
    const scene = openScene()
    let runs = 0
    const first = await scene.skep.enqueue(spool, 1, { id })
    scene.skep.worker([spool.handle(() => void runs++)])
    await scene.until(() => runs === 1)
    await scene.runtime.settle()
    expect(await scene.state(first.id)).toBe('absent')

    await scene.skep.enqueue(spool, 1, { id })
    await scene.advance(10_000)

    expect(runs).toBe(1)
  })

  it('of many with ids can be sent again by the caller too', async () => {
    const scene = openScene()
    const ids = [scene.runtime.uuid(), scene.runtime.uuid()]
    const send = () =>
      scene.skep.enqueueMany(spool, [0, 1], { each: (item) => ({ id: ids[item] as string }) })
    let runs = 0
    scene.skep.worker([spool.handle(() => void runs++)])
    await send()
    await scene.until(() => runs === 2)
    await scene.runtime.settle()

    await send()
    await scene.advance(10_000)

    expect(runs).toBe(2)
  })

  it('that is refused does not fail those it shared a call with', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.choose((operation, argument) => {
      if (operation !== 'insert') return null
      return (argument as { jobs: { payload: string }[] }).jobs.some(({ payload }) => payload === '13')
        ? 'reject'
        : null
    })

    const settled = await scene.through(
      Promise.allSettled([1, 13, 2].map((n) => scene.skep.enqueue(mail, n))),
    )

    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await scene.counts('mail')).toEqual({ ready: 2 })
  })

  it('that makes an adapter throw an error of its driver does not fail those it shared a call with', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.choose((operation, argument) => {
      if (operation !== 'insert') return null
      return (argument as { jobs: { payload: string }[] }).jobs.some(({ payload }) => payload === '13')
        ? 'foreign'
        : null
    })

    const settled = await scene.through(
      Promise.allSettled([1, 13, 2].map((n) => scene.skep.enqueue(mail, n))),
    )

    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('keeps the order of one caller, and all jobs of an outage are there afterwards', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.next('insert', 'before', 'after', 'lost', 'before')

    await scene.through(Promise.all(Array.from({ length: 1_000 }, (_, n) => scene.skep.enqueue(mail, n))))

    const { jobs } = await scene.truth.list({
      space: 'default',
      queue: 'mail',
      state: 'ready',
      limit: 2_000,
      cursor: null,
    })
    expect(jobs.map(({ payload }) => Number(payload))).toEqual(Array.from({ length: 1_000 }, (_, n) => n))
  })
})

describe('enqueues at the same time', () => {
  it('share one insert', async () => {
    const scene = openScene()
    await scene.skep.ready()

    await Promise.all(Array.from({ length: 100 }, (_, n) => scene.skep.enqueue(mail, n)))

    expect(scene.faults.count('insert')).toBe(1)
  })

  it('that come while an insert is under way share the next one', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.next('insert', { slowMs: 100 })
    const first = scene.skep.enqueue(mail, 0)
    await scene.advance(10)

    const others = Promise.all(Array.from({ length: 50 }, (_, n) => scene.skep.enqueue(mail, n + 1)))
    await scene.advance(10)
    expect(scene.faults.count('insert')).toBe(1)
    await scene.through(Promise.all([first, others]))

    expect(scene.faults.count('insert')).toBe(2)
  })

  it('in large numbers are sent in calls of bounded size, and no batch is split', async () => {
    const scene = openScene()
    await scene.skep.ready()

    await Promise.all([
      ...Array.from({ length: 1_500 }, (_, n) => scene.skep.enqueue(mail, n)),
      scene.skep.enqueueMany(
        mail,
        Array.from({ length: 3_000 }, (_, n) => n),
      ),
    ])

    const sizes = scene.faults.arguments('insert').map(({ jobs }) => jobs.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(4_500)
    expect(sizes.filter((size) => size > 1_000)).toEqual([3_000])
  })
})
