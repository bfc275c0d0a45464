// What a worker promised and no test had asked for, until a mutant survived. Times are those of a virtual clock.

import { describe, expect, it } from 'vitest'
import { fixed, never, queue, retry } from '../../../src/index.ts'
import { Rescuer } from '../../../src/maintenance/rescue.ts'
import type { SettleReply, Store } from '../../../src/store/store.ts'
import { claimAndDie } from '../../worker/support/dead-worker.ts'
import { gate, openScene } from '../../worker/support/scene.ts'

const mail = queue<number, number>('mail')

describe('a loop', () => {
  it('goes on after one failed heartbeat, and a long job keeps its lease', async () => {
    const scene = openScene()
    const work = gate<number>()
    let runs = 0
    const handler = mail.handle(() => {
      runs++
      return work.promise
    })
    await scene.through(scene.skep.worker([handler]).ready)
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(1_000)

    scene.faults.next('extend', 'before')
    await scene.advance(300_000)
    work.open(7)

    expect(await scene.through(job.result(), 5_000)).toBe(7)
    expect(runs).toBe(1)
    expect(await scene.job(job.id)).toMatchObject({ starts: 1, lost: 0 })
  })

  it('that claims does not wait for handlers: others start while one never ends', async () => {
    const scene = openScene()
    const stuck = gate<number>()
    const handler = mail.handle(({ payload }) => (payload === 0 ? stuck.promise : payload))
    scene.skep.worker([handler], { concurrency: 3 })
    await scene.skep.enqueue(mail, 0)
    await scene.advance(1_000)

    for (const n of [1, 2, 3]) {
      const job = await scene.skep.enqueue(mail, n)
      expect(await scene.through(job.result(), 1_000)).toBe(n)
    }
    stuck.open(0)
  })
})

describe('a job does not wait for the next poll', () => {
  it('when it is delayed by less than a second', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)
    const job = await scene.skep.enqueue(mail, 1, { delay: '300ms' })
    await scene.advance(250)
    expect(await scene.state(job.id)).toBe('delayed')
    await scene.advance(100)
    expect(await scene.state(job.id)).toBe('done')
  })

  it('when it is tried again after a short wait', async () => {
    const scene = openScene()
    const flaky = queue<number, number>('flaky', { onError: retry(3, fixed(200)) })
    const [first, stuck] = [gate<number>(), gate<number>()]
    let runs = 0
    const handler = flaky.handle(async () => {
      if (++runs > 1) return runs
      await first.promise
      throw new Error('not yet')
    })
    // The worker that fails has its one place taken afterwards, so it is the other one that has to hear of the job.
    scene.skep.worker([handler, mail.handle(() => stuck.promise)], { concurrency: 1 })
    await scene.advance(100)
    const job = await scene.skep.enqueue(flaky, 1)
    await scene.advance(100)
    await scene.skep.enqueue(mail, 1)
    scene.skep.worker([handler])
    await scene.advance(100)

    first.open(0)

    expect(await scene.through(job.result(), 500)).toBe(2)
    stuck.open(0)
  })

  it('when the worker is told that hints may have been missed', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)
    scene.notifier.blackHole = true
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(200)
    expect(await scene.state(job.id)).toBe('ready')

    scene.notifier.tell({ kind: 'sync' })
    await scene.advance(200)
    expect(await scene.state(job.id)).toBe('done')
  })

  it('when the claim that was to take it failed', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)
    scene.faults.next('claim', 'before')
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(1_000)
    expect(await scene.state(job.id)).toBe('done')
  })
})

describe('an outcome', () => {
  it('of which the store cannot say whether it was saved is sent again, and told once', async () => {
    let unknowns = 0
    const wrap = (store: Store): Store => ({
      ...store,
      async settle(call): Promise<SettleReply> {
        if (call.settlements.length === 0 || unknowns++ > 0) return store.settle(call)
        return { results: call.settlements.map(() => ({ status: 'unknown' })), claimed: null }
      },
    })
    const scene = openScene({ wrap })
    let runs = 0
    scene.skep.worker([mail.handle(() => ++runs)])
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(2_000)
    expect(unknowns).toBeGreaterThan(0)
    expect(await scene.state(job.id)).toBe('done')
    expect(scene.toldOf(job.id)).toEqual(['received', 'finished'])
    expect(runs).toBe(1)
  })

  it('does not depend on listeners: one that throws before the start keeps no job from starting', async () => {
    const scene = openScene()
    scene.skep.on('received', () => {
      throw new Error('a bad listener')
    })
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    const job = await scene.skep.enqueue(mail, 4)
    expect(await scene.through(job.result(), 1_000)).toBe(4)
    expect(await scene.job(job.id)).toMatchObject({ starts: 1, lost: 0 })
  })
})

describe('slots', () => {
  it('are freed once, also by a handler that ends long after it was given up', async () => {
    const scene = openScene()
    const slow = queue<number, number>('slow', { timeout: '100ms', onTimeout: never() })
    const late = gate<number>()
    const held = gate<number>()
    let running = 0
    let most = 0
    const handlers = [
      slow.handle(() => late.promise),
      mail.handle(async () => {
        most = Math.max(most, ++running)
        await held.promise
        running--
        return 1
      }),
    ]
    scene.skep.worker(handlers, { concurrency: 1, grace: '100ms' })
    await scene.skep.enqueue(slow, 1)
    await scene.advance(1_000)
    late.open(1)
    await scene.advance(100)

    const jobs = [await scene.skep.enqueue(mail, 1), await scene.skep.enqueue(mail, 2)]
    await scene.advance(1_000)
    expect(most).toBe(1)
    held.open(1)
    await scene.through(Promise.all(jobs.map((job) => job.result())))
    expect(most).toBe(1)
  })

  it('of a queue that are all taken, with more of its jobs at hand, hold up no other queue', async () => {
    const scene = openScene()
    const narrow = queue<number, number>('narrow', { concurrencyPerWorker: 1 })
    const stuck = gate<number>()
    const handlers = [
      narrow.handle(({ payload }) => (payload === 500 ? stuck.promise : payload)),
      mail.handle(({ payload }) => payload),
    ]
    scene.skep.worker(handlers, { concurrency: 5 })
    // Quick ones first, so that the worker takes some ahead; then one that does not end.
    await scene.skep.enqueueMany(
      narrow,
      Array.from({ length: 1_000 }, (_, n) => n),
    )
    await scene.until(async () => ((await scene.counts('narrow')).done ?? 0) >= 500)
    const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3])
    expect(await scene.through(Promise.all(jobs.map((job) => job.result())), 300)).toEqual([1, 2, 3])
    stuck.open(500)
  })
})

describe('looking after others', () => {
  it('gives back more than a page of jobs in one look', async () => {
    const scene = openScene()
    const { skep, runtime, notifier, truth: store } = scene
    await skep.enqueueMany(
      mail,
      Array.from({ length: 1_200 }, (_, n) => n),
    )
    await claimAndDie(scene, { leaseMs: 30_000, limit: 1_200 })
    await scene.advance(31_000)
    const { policy } = mail
    const rescuer = new Rescuer({
      store,
      notifier,
      runtime,
      workerId: 'w',
      leaseMs: 30_000,
      graceMs: 3_000,
      sources: () => [{ space: 'default', queue: 'mail' }],
      policyOf: () => policy,
      storeTime: () => runtime.now(),
      onRescued: () => {},
    })
    await rescuer.turn()
    expect(await scene.counts('mail')).toEqual({ ready: 1_200 })
  })
})
