import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { Audit } from './support/audit.ts'
import { gate, openScene } from './support/scene.ts'

const mail = queue<number, number>('mail')

const HOUR = 3_600_000
const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe('when the clock of the store jumps', () => {
  it('forward, all leases are over at once: jobs may run twice, but each ends once', async () => {
    const audit = new Audit()
    const scene = openScene({ wrap: (store) => audit.wrap(store) })
    const work = gate<number>()
    const jobs = await scene.skep.enqueueMany(mail, many(20))
    scene.skep.worker([mail.handle(() => work.promise)], { concurrency: 10 })
    scene.client().worker([mail.handle(() => work.promise)], { concurrency: 10 })
    await scene.until(async () => (await scene.counts('mail')).running === 20)

    scene.runtime.jump(HOUR)
    await scene.advance(20_000)
    work.open(1)
    await scene.until(async () => (await scene.counts('mail')).done === 20)

    expect(audit.faults).toEqual([])
    expect(jobs.map(({ id }) => audit.ends.get(id))).toEqual(jobs.map(() => ['done']))
  })

  it('forward, what has become due starts at the next look', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 7, { delay: '30m' })
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(1_000)

    scene.runtime.jump(HOUR)

    expect(await scene.through(job.result(), 6_000)).toBe(7)
  })

  it('back, nothing stalls: new jobs run at once and leases are kept', async () => {
    const scene = openScene()
    const work = gate<number>()
    const long = await scene.skep.enqueue(mail, 0)
    scene.skep.worker([mail.handle(({ payload }) => (payload === 0 ? work.promise : payload))])
    await scene.until(async () => (await scene.state(long.id)) === 'running')

    scene.runtime.jump(-HOUR)
    const before = scene.runtime.mono()
    const job = await scene.skep.enqueue(mail, 3)
    expect(await scene.through(job.result())).toBe(3)
    expect(scene.runtime.mono()).toBe(before)
    await scene.advance(120_000)
    work.open(9)

    expect(await scene.through(long.result())).toBe(9)
    expect(await scene.job(long.id)).toMatchObject({ starts: 1, lost: 0 })
  })

  it('back, a delayed job does not start early and is not forgotten', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1, { delay: '10s' })
    const { dueAt } = await scene.job(job.id)
    let startedAt = 0
    scene.skep.worker([
      mail.handle(() => {
        startedAt = scene.runtime.now()
        return 1
      }),
    ])
    await scene.advance(1_000)

    scene.runtime.jump(-60_000)
    await scene.until(() => startedAt > 0)

    expect(startedAt).toBeGreaterThanOrEqual(dueAt)
    expect(startedAt).toBeLessThanOrEqual(dueAt + 10)
  })
})

describe('when the store answers late', () => {
  it('a job that is there is asked for at once, whatever the worker thinks of the clock', async () => {
    const scene = openScene()
    const started: number[] = []
    scene.faults.break({ slowMs: 50 }, ['claim', 'settle'])
    scene.skep.worker([mail.handle(({ payload }) => started.push(payload))])
    await scene.skep.enqueue(mail, 1)
    await scene.until(() => started.length === 1)
    await scene.advance(1_000)
    const asked = scene.faults.count('claim')

    await scene.skep.enqueue(mail, 2)
    await scene.runtime.settle()

    expect(scene.faults.count('claim')).toBe(asked + 1)
    await scene.until(() => started.length === 2)
  })
})
