// Counts and ages go by the clock: what is due shows as ready, however long no worker has claimed from its queue.
import { describe, expect, it } from 'vitest'
import { exponential, queue, retry } from '../../src/index.ts'
import { gate, openScene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<number>('mail')
const MINUTE = 60_000

describe.each(STORES)('on %s, a delayed job that is due is ready', (name) => {
  it('in a queue without a worker: in counts, metrics and the doctor', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueue(mail, 1, { runAt: new Date(Date.now() - 20 * MINUTE), lane: 'a' })
    await skep.enqueueMany(mail, [2, 3], { delay: 30 })
    await skep.enqueue(mail, 4, { delay: '1h' })

    await expect
      .poll(async () => (await skep.queues.list([mail]))[0], { timeout: 20_000 })
      .toMatchObject({ delayed: 1, ready: 3 })

    expect((await skep.queues.list())[0]?.oldestMs).toBeGreaterThan(0)
    expect(await skep.jobs.count('state:ready queue:mail')).toEqual({ count: 3, isExact: true })
    const { findings } = await skep.doctor()
    expect(findings.map(({ text }) => text)).toContain('mail: 3 jobs ready, but no worker handles the queue')
    const exposed = await skep.metrics.prometheus()
    expect(exposed).toMatch(/skep_jobs\{.*queue="mail",state="ready"\} 3\n/)
    expect(Number(/skep_oldest_ready_seconds\{.*queue="mail"\} (.*)\n/.exec(exposed)?.[1])).toBeGreaterThan(0)
    // Lists show jobs as they are stored, and do not lose any meanwhile.
    expect((await skep.jobs.list({ queue: 'mail' })).jobs).toHaveLength(4)
    expect((await skep.queues.purge('mail', { dryRun: true })).jobs).toBe(4)
  })

  it('in a paused queue, and it starts as soon as the pause ends', { timeout: 90_000 }, async () => {
    const skep = openSkep(await openStore(name))
    const started: number[] = []
    let startedAt = 0
    // Nothing but hints and what claims tell wakes this worker.
    const worker = skep.worker(
      [
        mail.handle(({ payload }) => {
          startedAt ||= performance.now()
          started.push(payload)
        }),
      ],
      { poll: '10m' },
    )
    await worker.ready
    await skep.enqueue(mail, 0)
    await expect.poll(() => started, { timeout: 20_000 }).toEqual([0])

    const waits: number[] = []
    for (let round = 1; round <= 3; round++) {
      started.length = 0
      startedAt = 0
      await skep.queues.pause(mail, { wait: true })
      await skep.enqueueMany(mail, [1, 2, 3], { delay: 100 })
      await expect
        .poll(async () => (await skep.queues.list([mail]))[0], { timeout: 20_000 })
        .toMatchObject({ delayed: 0, ready: 3, hold: 'pause' })
      expect(started).toEqual([])
      await skep.queues.resume(mail)
      const resumedAt = performance.now()

      await expect.poll(() => started.toSorted((a, b) => a - b), { timeout: 20_000 }).toEqual([1, 2, 3])
      waits.push(startedAt - resumedAt)
    }
    // By a hint it takes milliseconds, by any of the loops seconds. A busy machine delays one round, and hardly all of them.
    expect(Math.min(...waits), `started after ${waits.join(', ')} ms`).toBeLessThan(1_000)
  })
})

describe('with a clock of its own', () => {
  it('a retry that is due while all slots are taken counts as ready, with its age', async () => {
    const scene = openScene()
    const busy = gate()
    const slow = queue<string>('slow', { onError: retry(3, exponential('10s')) })
    scene.skep.worker(
      [
        slow.handle(async ({ payload }) => {
          if (payload === 'fails') throw new Error('no')
          await busy.promise
        }),
      ],
      { concurrency: 1 },
    )
    await scene.skep.enqueue(slow, 'fails')
    await scene.until(async () => (await scene.counts('slow')).delayed === 1)
    await scene.skep.enqueue(slow, 'blocks')
    await scene.until(async () => (await scene.counts('slow')).running === 1)

    await scene.advance(5 * MINUTE)

    const [counts] = await scene.skep.queues.list([slow])
    expect(counts).toMatchObject({ ready: 1, delayed: 0, running: 1 })
    expect(counts?.oldestMs).toBeGreaterThan(4 * MINUTE)
    busy.open()
  })

  it.each([
    ['a queue', mail],
    ['a lane', { queue: mail, lane: 'a' }],
    ['everything', {}],
  ])(
    'what came due while %s was held starts when the hold is released, and not at the next poll',
    async (_, target) => {
      const scene = openScene()
      const started: number[] = []
      const worker = scene.skep.worker([mail.handle(({ payload }) => void started.push(payload))], {
        poll: '10m',
      })
      await scene.through(worker.ready)
      await scene.through(scene.skep.queues.pause(target))
      await scene.through(scene.skep.enqueueMany(mail, [1, 2, 3], { delay: 100, lane: 'a' }))
      await scene.advance(5_000)
      expect(started).toEqual([])

      await scene.through(scene.skep.queues.resume(target))
      await scene.advance(100)

      expect(started.toSorted((a, b) => a - b)).toEqual([1, 2, 3])
    },
  )

  it('the oldest job is the one of the paused lane, not the one that is next', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 1, { lane: 'slow' })
    await scene.skep.queues.pause({ queue: mail, lane: 'slow' })
    scene.skep.worker([mail.handle(() => {})])
    for (let n = 0; n < 12; n++) {
      await scene.skep.enqueue(mail, n, { lane: `fast-${n}` })
      await scene.advance(MINUTE)
    }

    expect((await scene.skep.queues.list([mail]))[0]).toMatchObject({ ready: 1, oldestMs: 12 * MINUTE })
    const { findings } = await scene.skep.doctor()
    expect(findings.map(({ text }) => text)).toContain('mail: the oldest job has been due for 12m')
  })

  it('overdue jobs of any queue are made ready by workers of another, beyond what counts look at', async () => {
    const scene = openScene()
    const many = 2_500
    await scene.skep.enqueueMany(
      mail,
      Array.from({ length: many }, (_, n) => n),
      { delay: '1m' },
    )
    await scene.skep.queues.pause(mail)
    const other = queue('other')
    scene.skep.worker([other.handle(() => {})])

    await scene.advance(MINUTE + 1)
    expect((await scene.counts('mail')).ready).toBeGreaterThanOrEqual(1_000)
    await scene.advance(60_000)

    expect(await scene.counts('mail')).toEqual({ ready: many })
    const { queues } = await scene.truth.counts({ space: scene.space })
    expect(queues.find((one) => one.queue === 'mail')?.overdue).toBe(0)
    expect((await scene.skep.queues.list([mail]))[0]?.oldestMs).toBe(60_001)
    const { jobs } = await scene.truth.list({
      space: scene.space,
      queue: 'mail',
      state: 'ready',
      limit: 10,
      cursor: null,
    })
    expect(jobs.map(({ payload }) => Number(payload))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
