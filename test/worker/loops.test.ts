import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import type { Fault, Operation } from './support/faulty-store.ts'
import { gate, openScene } from './support/scene.ts'

const mail = queue<number, number>('mail')

describe('the loops of a worker', () => {
  it.each<[Operation, string, Fault]>([
    ['prune', 'prune', 'before'],
    ['prune', 'prune', 'reject'],
    ['expired', 'rescue', 'foreign'],
  ])('go on without each other: %s fails, and only %s says so (%s)', async (operation, name, fault) => {
    const scene = openScene()
    scene.faults.break(fault, [operation])
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(20_000)

    const job = await scene.skep.enqueue(mail, 5)

    expect(await scene.through(job.result(), 1_000)).toBe(5)
    const { loops, status } = worker.health()
    expect(loops.filter(({ lastError }) => lastError !== null).map((loop) => loop.name)).toEqual([name])
    expect(status).toBe('degraded')

    scene.faults.heal()
    await scene.until(() => worker.health().status === 'running', 15_000)
    expect(scene.logged('warn', new RegExp(`The ${name} loop failed and will retry`))).toBe(true)
    expect(scene.logged('info', new RegExp(`The ${name} loop has recovered`))).toBe(true)
  })

  it('warn once when the notifier stays down, and again after it was up', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(() => 1)])
    const warnings = (): readonly string[] =>
      scene.log.filter(({ level }) => level === 'warn').map(({ message }) => message)
    const lasts = async (status: 'up' | 'down', ms: number): Promise<void> => {
      scene.notifier.status = status
      await scene.advance(ms)
    }

    await lasts('up', 10_000)
    await lasts('down', 4_000)
    await lasts('up', 10_000)
    expect(warnings()).toEqual([])
    await lasts('down', 60_000)
    expect(warnings()).toEqual(['The notifier is down, so work is found by polling. a test'])
    await lasts('up', 10_000)
    await lasts('down', 60_000)

    expect(warnings()).toHaveLength(2)
  })

  it('tick on, and say how long ago they last did', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(30_000)
    const before = worker.health().loops

    await scene.advance(120_000)

    const after = worker.health().loops
    expect(after.map(({ name }) => name)).toEqual([
      'heartbeat',
      'deadlines',
      'poll',
      'rescue',
      'prune',
      'schedules',
      'sweep',
      'bulk',
      'overdue',
    ])
    after.forEach((loop, n) => {
      expect(loop.ticks).toBeGreaterThan(before[n]!.ticks)
      expect(loop.quietMs).toBeLessThanOrEqual(120_000)
    })
  })

  it('tell what the worker is doing', async () => {
    const scene = openScene()
    const work = gate<number>()
    const worker = scene.skep.worker([mail.handle(() => work.promise)], { concurrency: 2 })
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    await scene.until(() => worker.health().running === 2)
    await scene.advance(15_000)

    expect(worker.health()).toMatchObject({
      status: 'running',
      running: 2,
      buffered: 0,
      unsaved: 0,
      zombies: 0,
      notifier: { status: 'up' },
    })
    // What others see of it comes with its heartbeat.
    expect(await scene.skep.workers.list()).toMatchObject([{ id: worker.id, running: 2 }])
    work.open(1)
  })

  it('ask the store for nothing but signs of life while there is nothing to do', async () => {
    const scene = openScene()
    await scene.skep.worker([mail.handle(() => 1)]).ready
    await scene.advance(10_000)
    const before = scene.faults.calls.length

    await scene.advance(600_000)

    // Ten minutes: a look for work and for the dead every five seconds, a heartbeat, a look for orders and one for bulk actions every ten,
    // one for overdue jobs every twenty, and the upkeep.
    const calls = scene.faults.calls.slice(before)
    const count = (operation: Operation): number =>
      calls.filter((call) => call.operation === operation).length
    expect(count('claim')).toBeLessThanOrEqual(121)
    expect(count('extend')).toBe(0)
    expect(count('settle')).toBe(0)
    expect(calls.length).toBeLessThan(520)
  })

  it('look more often when the notifier is down', async () => {
    const scene = openScene()
    scene.notifier.broken = true
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(10_000)

    const job = await scene.skep.enqueue(mail, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'done', 300)
  })
})
