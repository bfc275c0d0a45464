import { describe, expect, it } from 'vitest'
import { queue, snooze } from '../../src/index.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'

const mail = queue<number, number>('mail')
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

describe('metrics of a Skep', () => {
  it('count what is enqueued in every way', async () => {
    const scene = openScene()
    const next = queue<number>('next')
    scene.skep.worker([
      mail.handle(async (job) => {
        await job.enqueue(next, 1)
        return 1
      }),
      next.handle(() => {}),
    ])
    await scene.skep.enqueue(mail, 1)
    await scene.skep.enqueueMany(mail, [2, 3])
    await scene.skep.enqueue(mail, 4, { unique: 'once', delay: '1h' })
    await scene.skep.enqueue(mail, 4, { unique: 'once', delay: '1h' })
    await scene.until(async () => (await scene.counts('next')).done === 3)

    const count = async (name: string): Promise<number> =>
      sum((await scene.skep.metrics.series({ queue: name, range: '15m' })).enqueued)

    expect(await count('next')).toBe(3)
    expect(await count('mail')).toBe(4)
  })

  it('tell how long jobs waited and ran', async () => {
    const scene = openScene()
    const first = scene.skep.enqueue(mail, 1)
    await scene.through(first)
    await scene.advance(10_000)
    scene.skep.worker([
      mail.handle(async () => {
        await scene.skep.ready()
        await new Promise<void>((resolve) => void scene.runtime.timer(2_000, resolve))
        return 1
      }),
    ])
    await scene.until(async () => (await scene.counts('mail')).done === 1)

    const { waitP50, runP99 } = await scene.skep.metrics.series({ queue: 'mail', range: '15m' })

    const [wait, run] = [waitP50, runP99].map((values) => values.find((value) => value !== null) as number)
    expect(wait).toBeGreaterThan(8_000)
    expect(wait).toBeLessThan(13_000)
    expect(run).toBeGreaterThan(1_600)
    expect(run).toBeLessThan(2_500)
  })

  it('count snoozes and cancels as what they are', async () => {
    const scene = openScene()
    let calls = 0
    scene.skep.worker([mail.handle(() => (++calls === 1 ? (snooze('1s', 'later') as never) : 1))])
    await scene.through((await scene.skep.enqueue(mail, 1)).result())

    const { done, failed, retried } = await scene.skep.metrics.series({ range: '1h' })
    expect([sum(done), sum(failed), sum(retried)]).toEqual([1, 0, 0])
    expect(await scene.skep.metrics.prometheus()).toContain('outcome="snoozed"} 1\n')
  })

  it('are of one space', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 1)
    await scene.advance(10_000)
    const records = await scene.truth.listRecords({ scope: 'other', kind: 'metric', limit: 10 })

    expect(records.records).toEqual([])
    expect(sum((await scene.skep.metrics.series({ range: '15m' })).enqueued)).toBe(1)
  })

  it('are not written without a history, and counted all the same', async () => {
    const scene = openScene({ history: false })
    await scene.skep.enqueue(mail, 1)
    await scene.advance(60_000)

    expect(scene.faults.calls.filter(({ operation }) => operation === 'putRecords')).toEqual([])
    expect(await scene.skep.metrics.prometheus()).toContain(
      'skep_jobs_enqueued_total{space="default",queue="mail"} 1\n',
    )
  })

  it('are read once for all who ask for rates at about the same time', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 1)
    await scene.advance(60_000)
    const reads = (): number =>
      scene.faults.calls.filter(({ operation }) => operation === 'listRecords').length
    const before = reads()

    await Promise.all([
      scene.skep.metrics.rates(),
      scene.skep.metrics.rates(),
      scene.skep.metrics.prometheus(),
    ])
    expect(reads() - before).toBe(1)
    await scene.advance(3_000)
    scene.faults.next('listRecords', 'before')
    expect(await codeOf(scene.skep.metrics.rates())).toBe('STORE_UNAVAILABLE')
    expect(await scene.skep.metrics.rates()).toHaveLength(1)
  })

  it('refuse what is no range and no queue', async () => {
    const { skep } = openScene()

    expect(await codeOf(skep.metrics.series({ range: '2h' as never }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.metrics.deploys({ range: 'x' as never }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.metrics.series({ range: '1h', queue: '*' }))).toBe('NAME_INVALID')
  })

  it('disturb no job when they cannot be written', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    scene.faults.break('hang', ['putRecords'])

    for (let i = 0; i < 5; i++) {
      const job = await scene.skep.enqueue(mail, i)
      expect(await scene.through(job.result(), 5_000)).toBe(i)
      await scene.advance(7_000)
    }

    expect(scene.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })
})
