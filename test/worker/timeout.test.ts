import { describe, expect, it } from 'vitest'
import { archive, fixed, never, queue, retry, snooze } from '../../src/index.ts'
import { aborted, gate, openScene } from './support/scene.ts'

const slow = queue<number, unknown>('slow', { timeout: '10s', onTimeout: retry(1, fixed('1h')) })

describe('a time limit', () => {
  it('is told to the handler as a deadline and aborts its signal when it is over', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(slow, 1)
    let deadline: Date | null = null
    let abortedAt = 0
    let reason: unknown
    const startedAt = scene.runtime.now()
    scene.skep.worker([
      slow.handle(async (context) => {
        deadline = context.deadline
        await aborted(context.signal)
        abortedAt = scene.runtime.now()
        reason = context.signal.reason
        throw new Error('stopped')
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'delayed')

    expect(deadline).toEqual(new Date(startedAt + 10_000))
    expect(abortedAt).toBe(startedAt + 10_000)
    expect(reason).toMatchObject({ name: 'StopSignal', kind: 'timeout' })
    expect(await scene.job(job.id)).toMatchObject({ timeouts: 1, errors: 0 })
    expect(scene.toldOf(job.id)).toEqual(['received', 'timeout'])
  })

  it('has a budget of its own, after which its own ending comes', async () => {
    const scene = openScene()
    const hurried = queue<number>('hurried', {
      timeout: '1s',
      onTimeout: retry(2, fixed('1s'), { ending: archive() }),
      onError: never(),
    })
    const job = await scene.skep.enqueue(hurried, 1)
    scene.skep.worker([hurried.handle(({ signal }) => aborted(signal))])

    await scene.until(async () => (await scene.state(job.id)) === 'failed')

    expect(await scene.job(job.id)).toMatchObject({ timeouts: 3, starts: 3, errors: 0 })
    await expect(scene.through(job.result())).rejects.toMatchObject({ code: 'JOB_FAILED' })
  })

  it('makes a result that came too late worthless', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(slow, 1)
    scene.skep.worker([
      slow.handle(async ({ signal }) => {
        await aborted(signal)
        return 'just in time?'
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'delayed')

    expect(await scene.job(job.id)).toMatchObject({ timeouts: 1, result: null })
  })

  it('makes a snooze that came too late worthless', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(slow, 1)
    scene.skep.worker([
      slow.handle(async ({ signal }) => {
        await aborted(signal)
        return snooze('1d')
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'delayed')

    expect(await scene.job(job.id)).toMatchObject({ timeouts: 1, snoozes: 0 })
  })

  it('gives the slot of a handler that ignores its signal to others after the grace, and drops its late result', async () => {
    const scene = openScene()
    const [stubborn, next] = await scene.skep.enqueueMany(slow, [1, 2])
    const late = gate<string>()
    const handler = slow.handle(({ payload }) => (payload === 1 ? late.promise : 'fine'))
    const worker = scene.skep.worker([handler], { concurrency: 1, grace: '5s' })

    await scene.until(async () => (await scene.state(stubborn!.id)) === 'running')
    await scene.advance(14_900)
    expect(await scene.state(next!.id)).not.toBe('done')
    await scene.until(async () => (await scene.state(next!.id)) === 'done', 200)
    expect(worker.health()).toMatchObject({ running: 0, zombies: 1 })
    expect(await scene.job(stubborn!.id)).toMatchObject({ state: 'delayed', timeouts: 1 })

    const before = await scene.job(stubborn!.id)
    late.open('at last')
    await scene.runtime.settle()

    expect(await scene.job(stubborn!.id)).toEqual(before)
    expect(worker.health().zombies).toBe(0)
    expect(scene.toldOf(stubborn!.id)).toEqual(['received', 'timeout'])
  })

  it('can be set, raised or lifted for one job', async () => {
    const scene = openScene()
    const [usual, longer, none] = await Promise.all([
      scene.skep.enqueue(slow, 1),
      scene.skep.enqueue(slow, 2, { timeout: '30s' }),
      scene.skep.enqueue(slow, 3, { timeout: 'none' }),
    ])
    const deadlines = new Map<number, Date | null>()
    const abortedAt = new Map<number, number>()
    const start = scene.runtime.mono()
    scene.skep.worker([
      slow.handle(async ({ payload, signal, deadline }) => {
        deadlines.set(payload, deadline)
        await aborted(signal)
        abortedAt.set(payload, scene.runtime.mono() - start)
      }),
    ])

    await scene.advance(120_000)

    expect([...abortedAt]).toEqual([
      [1, 10_000],
      [2, 30_000],
    ])
    expect(deadlines.get(3)).toBeNull()
    expect(await scene.state(usual.id)).toBe('delayed')
    expect(await scene.state(longer.id)).toBe('delayed')
    expect(await scene.state(none.id)).toBe('running')
  })

  it('beyond what a timer can hold does not end at once', async () => {
    const scene = openScene()
    const patient = queue<number>('patient', { timeout: '60d' })
    const job = await scene.skep.enqueue(patient, 1)
    scene.skep.worker([patient.handle(({ signal }) => aborted(signal))])

    await scene.advance(60_000)

    expect(await scene.state(job.id)).toBe('running')
  })
})

describe('the options of one job', () => {
  it("that cannot be read leave the queue's own in force, and harm nobody", async () => {
    const scene = openScene()
    const bad = ['{', 'null', '7', '"x"']
    for (const overrides of bad) {
      await scene.truth.insert({
        jobs: [
          {
            id: scene.runtime.uuid(),
            space: 'default',
            queue: 'slow',
            payload: '1',
            headers: null,
            priority: 0,
            delayMs: 0,
            runAt: null,
            unique: null,
            overrides,
            lane: null,
            strict: false,
            cost: 1,
            member: null,
          },
        ],
      })
    }
    await scene.skep.enqueue(slow, 2)

    scene.skep.worker([slow.handle(() => 'ok')])

    await scene.until(async () => (await scene.counts('slow')).done === bad.length + 1)
  })
})
