import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import type { Fault } from './support/faulty-store.ts'
import { aborted, gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, number>('mail')

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

async function workersOnTheList(scene: Scene): Promise<number> {
  return (await scene.truth.workers({})).workers.length
}

describe('stopping a worker', () => {
  it('waits for running handlers, and saves what they return', async () => {
    const scene = openScene()
    const work = gate<number>()
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([mail.handle(() => work.promise)])
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    const stopped = worker.stop()
    await scene.advance(10_000)
    expect(await scene.state(job.id)).toBe('running')
    expect(worker.health().status).toBe('stopping')
    work.open(5)
    await scene.runtime.settle()

    await stopped
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', result: '5' })
    expect(worker.health().status).toBe('stopped')
    expect(await workersOnTheList(scene)).toBe(0)
  })

  it('keeps the leases of handlers it waits for', async () => {
    const scene = openScene()
    const work = gate<number>()
    const job = await scene.skep.enqueue(mail, 1)
    let runs = 0
    const handler = mail.handle(() => {
      runs++
      return work.promise
    })
    const worker = scene.skep.worker([handler], { lease: '3s', drain: '1m' })
    await scene.until(() => runs === 1)
    scene.client(scene.truth).worker([handler], { lease: '3s' })

    const stopped = worker.stop()
    await scene.advance(30_000)
    work.open(1)
    await scene.through(stopped)

    expect(runs).toBe(1)
    expect(await scene.state(job.id)).toBe('done')
  })

  it('aborts and hands back what is not finished when the drain time is over, and uses up no try', async () => {
    const scene = openScene()
    const signals: AbortSignal[] = []
    const job = await scene.skep.enqueue(mail, 1)
    const handler = mail.handle(({ signal }) => {
      signals.push(signal)
      return new Promise<number>(() => {})
    })
    const worker = scene.skep.worker([handler], { drain: '5s', grace: '1s' })
    await scene.until(() => signals.length === 1)
    const { dueAt } = await scene.job(job.id)

    await scene.through(worker.stop(), 7_000)

    expect(signals[0]?.aborted).toBe(true)
    expect(signals[0]?.reason).toMatchObject({ kind: 'stop' })
    expect(await scene.job(job.id)).toMatchObject({
      state: 'ready',
      dueAt,
      errors: 0,
      timeouts: 0,
      lost: 0,
      snoozes: 0,
    })
  })

  it('hands back at once what waits for a slot, and takes nothing more', async () => {
    const scene = openScene()
    const work = gate<number>()
    const started: number[] = []
    await scene.skep.enqueueMany(mail, many(40))
    const handler = mail.handle(async ({ payload }) => {
      started.push(payload)
      await new Promise<void>((resolve) => void scene.runtime.timer(2, resolve))
      return payload === 20 ? work.promise : payload
    })
    const worker = scene.skep.worker([handler], { concurrency: 1 })
    await scene.until(() => started.length === 21 && worker.health().buffered > 0)

    const stopped = worker.stop()
    await scene.runtime.settle()

    expect(await scene.counts('mail')).toEqual({ done: 20, running: 1, ready: 19 })
    expect(
      (
        await scene.truth.list({ space: 'default', queue: 'mail', state: 'ready', limit: 50, cursor: null })
      ).jobs.map(({ starts }) => starts),
    ).toEqual(many(19).map(() => 0))
    work.open(1)
    await scene.through(stopped)
    expect(started).toHaveLength(21)
  })

  it('hands back jobs of a claim that is answered while it stops', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let runs = 0
    scene.faults.next('claim', { slowMs: 2_000 })
    const worker = scene.skep.worker([mail.handle(() => ++runs)])
    await scene.advance(1_500)
    expect(await scene.state(job.id)).toBe('running')

    await scene.through(worker.stop())

    expect(runs).toBe(0)
    expect(await scene.job(job.id)).toMatchObject({ state: 'ready', starts: 0 })
  })

  it('twice is one stop, and a second one without drain ends the wait of the first', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([mail.handle(() => new Promise<number>(() => {}))])
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    const before = scene.runtime.mono()

    const first = worker.stop()
    await scene.runtime.settle()
    const second = worker.stop()
    expect(second).toBe(first)
    expect(await scene.state(job.id)).toBe('running')
    await scene.through(worker.stop({ drain: 0, grace: 0 }))

    expect(scene.runtime.mono() - before).toBeLessThan(1_000)
    expect(await scene.state(job.id)).toBe('ready')
    await first
  })

  it('works as the end of an `await using` block', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 2)

    async function block(): Promise<number> {
      await using worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
      await worker.ready
      return await job.result()
    }

    expect(await scene.through(block())).toBe(2)
    expect(await workersOnTheList(scene)).toBe(0)
  })

  it('before it has started leaves nothing behind', async () => {
    const scene = openScene()
    scene.faults.break('before')
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(3_000)

    await scene.through(worker.stop())

    expect(worker.health().status).toBe('stopped')
    expect(scene.runtime.timers).toBe(0)
  })

  it('at the very beginning is a stop too', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])

    await scene.through(worker.stop())

    expect(await workersOnTheList(scene)).toBe(0)
    expect(scene.runtime.timers).toBe(0)
  })

  it.each<Fault>(['before', 'after', 'lost', 'reject', 'hang', 'foreign'])(
    'ends in bounded time also when the store is away, and leaves no timer (%s)',
    async (fault) => {
      const scene = openScene()
      await scene.skep.enqueueMany(mail, many(3))
      const worker = scene.skep.worker(
        [
          mail.handle(async ({ signal }) => {
            await aborted(signal)
            return 1
          }),
        ],
        { drain: '2s' },
      )
      await scene.until(async () => (await scene.counts('mail')).running === 3)
      scene.faults.break(fault)

      await scene.through(worker.stop(), 25_000)

      expect(worker.health().status).toBe('stopped')
      expect(scene.notifier.subscribers).toBe(0)
      scene.faults.heal()
      await scene.advance(10)
      expect(scene.runtime.timers).toBe(0)
    },
  )

  it('ends in bounded time when the store hangs while the worker starts', async () => {
    const scene = openScene()
    scene.faults.break('hang')
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(1_000)

    await scene.through(worker.stop(), 10_000)

    scene.faults.heal()
    await scene.advance(10_000)
    expect(await workersOnTheList(scene)).toBe(0)
    expect(scene.runtime.timers).toBe(0)
  })

  it('is undone again when a start that hung succeeds after the stop', async () => {
    const scene = openScene()
    await scene.skep.ready()
    scene.faults.next('attend', { slowMs: 20_000 })
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(1_000)

    await scene.through(worker.stop(), 10_000)
    await scene.advance(30_000)

    expect(await workersOnTheList(scene)).toBe(0)
    expect(scene.runtime.timers).toBe(0)
    expect(scene.notifier.subscribers).toBe(0)
  })

  it('leaves no timer and no listener after a busy life', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.skep.enqueue(mail, 1, { delay: '1h' })
    await scene.skep.enqueueMany(mail, many(50))
    await scene.until(async () => (await scene.counts('mail')).done === 50)

    await scene.through(worker.stop())

    expect(scene.runtime.timers).toBe(0)
    expect(scene.notifier.subscribers).toBe(0)
  })
})
