import { describe, expect, it } from 'vitest'
import { archive, bury, cancel, discard, never, queue } from '../../src/index.ts'
import { aborted, codeOf, gate, openScene } from '../worker/support/scene.ts'

const sum = queue<number[], number>('sum')
const add = sum.handle(({ payload }) => payload.reduce((a, b) => a + b, 0))

describe('the result of a job', () => {
  it('is what the handler returned, given as soon as it is saved', async () => {
    const scene = openScene()
    scene.skep.worker([add])
    await scene.advance(10)
    const before = scene.runtime.mono()

    const job = await scene.skep.enqueue(sum, [1, 2, 3])

    expect(await scene.through(job.result())).toBe(6)
    expect(scene.runtime.mono()).toBe(before)
  })

  it('is awaited without polling: the store is asked at the beginning, at the hint, and every two seconds at most', async () => {
    const scene = openScene()
    const work = gate<number>()
    scene.skep.worker([sum.handle(() => work.promise)])
    const job = await scene.skep.enqueue(sum, [])
    const result = job.result()
    await scene.advance(10)
    // The first look, and one for the hint that a new subscriber gets.
    expect(scene.faults.count('get')).toBeLessThanOrEqual(2)
    const before = scene.faults.count('get')

    await scene.advance(20_000)
    expect(scene.faults.count('get') - before).toBeLessThanOrEqual(10)
    const waited = scene.faults.count('get')
    work.open(9)

    expect(await scene.through(result)).toBe(9)
    expect(scene.faults.count('get') - waited).toBeLessThanOrEqual(1)
  })

  it('of many jobs is asked for in one call', async () => {
    const scene = openScene()
    const work = gate<number>()
    scene.skep.worker([sum.handle(() => work.promise)], { concurrency: 100 })
    const jobs = await scene.skep.enqueueMany(
      sum,
      Array.from({ length: 100 }, () => []),
    )
    const results = Promise.all(jobs.map((job) => job.result()))
    await scene.advance(10)
    const before = scene.faults.count('get')
    work.open(1)

    expect(await scene.through(results)).toHaveLength(100)
    expect(scene.faults.count('get') - before).toBeLessThanOrEqual(2)
  })

  it('comes also when every hint is lost', async () => {
    const scene = openScene()
    scene.notifier.blackHole = true
    scene.skep.worker([add], { poll: '50ms' })
    const job = await scene.skep.enqueue(sum, [5])

    expect(await scene.through(job.result(), 2_500)).toBe(5)
  })

  it('comes also after the store was away, and nobody is told of the outage', async () => {
    const scene = openScene()
    const work = gate<number>()
    scene.skep.worker([sum.handle(() => work.promise)])
    const job = await scene.skep.enqueue(sum, [])
    const result = job.result()
    await scene.advance(100)

    scene.faults.break('before')
    work.open(3)
    await scene.advance(10_000)
    scene.faults.heal()

    expect(await scene.through(result)).toBe(3)
  })

  it('is not asked for because jobs of other spaces end', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(sum, [], { delay: '1h' })
    const result = job.result()
    result.catch(() => {})
    await scene.advance(100)
    const before = scene.faults.count('get')

    for (let n = 0; n < 20; n++) {
      scene.notifier.tell({ kind: 'settled', space: 'elsewhere', queue: 'sum' })
      await scene.runtime.settle()
    }

    expect(scene.faults.count('get')).toBe(before)
  })

  it('can be awaited by many at once, also after it has ended', async () => {
    const scene = openScene()
    scene.skep.worker([add])
    const job = await scene.skep.enqueue(sum, [1, 1])

    const both = await scene.through(
      Promise.all([job.result(), job.result(), scene.skep.jobs.handle(job.id).result()]),
    )

    expect(both).toEqual([2, 2, 2])
    expect(await scene.through(job.result())).toBe(2)
  })

  it('that was nothing is undefined', async () => {
    const scene = openScene()
    const quiet = queue<number>('quiet')
    scene.skep.worker([quiet.handle(() => {})])

    const job = await scene.skep.enqueue(quiet, 1)

    expect(await scene.through(job.result())).toBeUndefined()
  })

  it('leaves no timer and no subscription behind', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([add])
    const job = await scene.skep.enqueue(sum, [1])
    await scene.through(job.result({ timeout: '1h' }))
    await scene.through(worker.stop())

    expect(scene.runtime.timers).toBe(0)
    expect(scene.notifier.subscribers).toBe(0)
  })
})

describe('a result that does not come', () => {
  it.each([
    [
      'threw',
      'JOB_FAILED',
      (): number => {
        throw new Error('boom')
      },
    ],
    ['was buried', 'JOB_FAILED', () => bury('hopeless')],
    ['cancelled itself', 'JOB_CANCELLED', () => cancel('why not')],
  ] as const)('rejects when the job %s, with its failure', async (_name, code, run) => {
    const scene = openScene()
    const once = queue<number, number>('once', { onError: never() })
    scene.skep.worker([once.handle(run)])
    const job = await scene.skep.enqueue(once, 1)

    const result = job.result()
    result.catch(() => {})

    await expect(scene.through(result)).rejects.toMatchObject({ code, facts: { id: job.id } })
  })

  it('rejects when the job is cancelled while it waits', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(sum, [], { delay: '1h' })
    const result = job.result()
    result.catch(() => {})
    await scene.advance(10)
    const before = scene.runtime.mono()

    await job.cancel('no need')

    await expect(scene.through(result)).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    expect(scene.runtime.mono()).toBe(before)
  })

  it('rejects after its own time limit, and the job goes on', async () => {
    const scene = openScene()
    const work = gate<number>()
    scene.skep.worker([sum.handle(() => work.promise)])
    const job = await scene.skep.enqueue(sum, [])

    const result = job.result({ timeout: '5s' })
    result.catch(() => {})

    await expect(scene.through(result, 6_000)).rejects.toMatchObject({ code: 'RESULT_TIMEOUT' })
    work.open(1)
    expect(await scene.through(job.result())).toBe(1)
  })

  it("rejects with the reason of the caller's signal, before or while it waits", async () => {
    const scene = openScene({ history: false })
    const job = await scene.skep.enqueue(sum, [], { delay: '1h' })
    const reason = new Error('the client went away')
    const controller = new AbortController()
    const waiting = job.result({ signal: controller.signal })
    waiting.catch(() => {})
    await scene.advance(10)

    controller.abort(reason)

    await expect(waiting).rejects.toBe(reason)
    await expect(job.result({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(scene.notifier.subscribers).toBe(0)
    expect(scene.runtime.timers).toBe(0)
  })

  it('rejects at once when the queue discards its jobs, unless this one is kept', async () => {
    const scene = openScene()
    const spool = queue<number, number>('spool', { onSuccess: discard() })
    scene.skep.worker([spool.handle(({ payload }) => payload)])

    const gone = await scene.skep.enqueue(spool, 1)
    const goneToo = await scene.skep.enqueue(spool, 2, { timeout: '1m' })
    const kept = await scene.skep.enqueue(spool, 3, { retention: '1h' })

    expect(await codeOf(gone.result())).toBe('RESULT_DISCARDED')
    expect(await codeOf(goneToo.result())).toBe('RESULT_DISCARDED')
    expect(await scene.through(kept.result())).toBe(3)
  })

  it('rejects when there is no such job, or not any more', async () => {
    const scene = openScene()
    const brief = queue<number, number>('brief', { onSuccess: archive(0) })
    scene.skep.worker([brief.handle(() => 1)])
    const job = await scene.skep.enqueue(brief, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'done')
    await scene.skep.jobs.prune()

    expect(await codeOf(scene.through(job.result()))).toBe('JOB_NOT_FOUND')
    expect(await codeOf(scene.through(scene.skep.jobs.handle(scene.runtime.uuid()).result()))).toBe(
      'JOB_NOT_FOUND',
    )
  })

  it('rejects promptly when a failed job is removed at once', async () => {
    const scene = openScene()
    const dropping = queue<number, number>('dropping', { onError: never(discard()) })
    const work = gate<number>()
    scene.skep.worker([dropping.handle(() => work.promise)])
    const job = await scene.skep.enqueue(dropping, 1)
    const result = job.result()
    result.catch(() => {})
    await scene.advance(500)
    const before = scene.runtime.mono()

    work.fail(new Error('no'))

    expect(await codeOf(scene.through(result))).toBe('JOB_NOT_FOUND')
    expect(scene.runtime.mono()).toBe(before)
  })

  it('rejects when the last try timed out', async () => {
    const scene = openScene()
    const slow = queue<number, number>('slow', { timeout: '1s', onTimeout: never() })
    scene.skep.worker([
      slow.handle(async ({ signal }) => {
        await aborted(signal)
        return 1
      }),
    ])
    const job = await scene.skep.enqueue(slow, 1)

    const result = job.result()
    result.catch(() => {})

    await expect(scene.through(result)).rejects.toMatchObject({
      code: 'JOB_FAILED',
      facts: { failure: { kind: 'timeout' } },
    })
  })
})
