import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bury, cancel, fixed, LeaseLostError, queue, retry, snooze } from '../../src/index.ts'
import { aborted, gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, unknown>('mail', { onError: retry(3, fixed('1h')) })

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

async function states(scene: Scene, jobs: readonly { readonly id: string }[]): Promise<string[]> {
  return Promise.all(jobs.map(({ id }) => scene.state(id)))
}

/** Writes a payload as a program of another version, or a hand, would. */
async function insertRaw(scene: Scene, name: string, payload: string): Promise<string> {
  const id = scene.runtime.uuid()
  await scene.truth.insert({
    jobs: [
      {
        id,
        space: 'default',
        queue: name,
        payload,
        headers: null,
        priority: 0,
        delayMs: 0,
        runAt: null,
        unique: null,
        overrides: null,
        lane: null,
        strict: false,
        cost: 1,
        member: null,
      },
    ],
  })
  return id
}

describe('a handler for batches', () => {
  it('gets many jobs in one call, at most as many as it asked for', async () => {
    const scene = openScene()
    const sizes: number[] = []
    await scene.skep.enqueueMany(mail, many(25))

    scene.skep.worker([mail.handleBatch({ size: 10 }, (jobs) => void sizes.push(jobs.length))])
    await scene.until(async () => (await scene.counts('mail')).done === 25)

    expect(sizes).toEqual([10, 10, 5])
  })

  it('gets a single job at once when there is only one', async () => {
    const scene = openScene()
    const sizes: number[] = []
    scene.skep.worker([mail.handleBatch({ size: 10 }, (jobs) => void sizes.push(jobs.length))])
    const job = await scene.skep.enqueue(mail, 1)
    const before = scene.runtime.mono()

    await scene.through(job.result())

    expect(sizes).toEqual([1])
    expect(scene.runtime.mono()).toBe(before)
  })

  it('takes one slot for a whole batch', async () => {
    const scene = openScene()
    const work = gate()
    await scene.skep.enqueueMany(mail, many(50))
    let calls = 0
    const handler = mail.handleBatch({ size: 10 }, async () => {
      calls++
      await work.promise
    })

    const worker = scene.skep.worker([handler], { concurrency: 2 })
    await scene.until(() => calls === 2)
    await scene.advance(5_000)

    expect(calls).toBe(2)
    expect(worker.health().running).toBe(2)
    expect(await scene.counts('mail')).toEqual({ running: 20, ready: 30 })
    work.open()
    await scene.until(async () => (await scene.counts('mail')).done === 50)
  })

  it('answers for each job: a result, an instruction or an error', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(7))
    scene.skep.worker([
      mail.handleBatch({ size: 10 }, async () => [
        'fine',
        undefined,
        new Error('no'),
        snooze('5m'),
        cancel('stop'),
        bury('dead'),
        () => 'unstorable',
      ]),
    ])

    await scene.until(async () => !(await states(scene, jobs)).includes('running'))

    expect(await states(scene, jobs)).toEqual([
      'done',
      'done',
      'delayed',
      'delayed',
      'cancelled',
      'dead',
      'delayed',
    ])
    expect((await scene.job(jobs[0]!.id)).result).toBe('"fine"')
    expect(await scene.job(jobs[2]!.id)).toMatchObject({ errors: 1, snoozes: 0 })
    expect(await scene.job(jobs[3]!.id)).toMatchObject({ errors: 0, snoozes: 1 })
    expect(await scene.job(jobs[6]!.id)).toMatchObject({ errors: 1 })
  })

  it('that throws fails all of its jobs', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(3))
    scene.skep.worker([
      mail.handleBatch({ size: 10 }, async () => {
        throw new Error('all of it')
      }),
    ])

    await scene.until(async () => (await scene.counts('mail')).delayed === 3)

    expect((await Promise.all(jobs.map(({ id }) => scene.job(id)))).map(({ errors }) => errors)).toEqual([
      1, 1, 1,
    ])
  })

  it.each<[string, unknown]>([
    ['too few answers', [1]],
    ['too many answers', [1, 2, 3, 4]],
    ['no list', 'done'],
    ['null', null],
  ])('that returns %s fails all of its jobs, and says why', async (_name, answer) => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(3))
    scene.skep.worker([mail.handleBatch({ size: 10 }, () => answer as undefined)])

    await scene.until(async () => (await scene.counts('mail')).delayed === 3)

    expect((await scene.job(jobs[0]!.id)).failure).toContain('one answer for each job')
  })

  it.each<[string, () => unknown]>([
    ['answers', () => ['a', 'b']],
    ['returns nothing', () => undefined],
  ])('is called without a poisoned job, which alone is buried, when it %s', async (_name, answer) => {
    const scene = openScene()
    const good = await scene.skep.enqueue(mail, 1)
    const poison = await insertRaw(scene, 'mail', '{not json')
    const better = await scene.skep.enqueue(mail, 2)
    const seen: number[] = []
    scene.skep.worker([
      mail.handleBatch({ size: 10 }, (jobs) => {
        seen.push(...jobs.map(({ payload }) => payload))
        return answer() as undefined
      }),
    ])

    await scene.until(async () => (await scene.counts('mail')).done === 2)

    expect(seen).toEqual([1, 2])
    expect(await scene.job(poison)).toMatchObject({ state: 'dead', payload: '{not json', errors: 0 })
    expect(await states(scene, [good, better])).toEqual(['done', 'done'])
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['returns too few answers', () => [1]],
    ['returns null', () => null],
  ])('buries a poisoned job, and only that one, also when it %s', async (_name, answer) => {
    const scene = openScene()
    const good = await scene.skep.enqueue(mail, 1)
    const poison = await insertRaw(scene, 'mail', '{not json')
    const better = await scene.skep.enqueue(mail, 2)
    scene.skep.worker([mail.handleBatch({ size: 10 }, () => answer() as undefined)])

    await scene.until(
      async () => !(await scene.counts('mail')).running && !(await scene.counts('mail')).ready,
    )

    expect(await states(scene, [good, better])).toEqual(['delayed', 'delayed'])
    expect(await scene.state(poison)).toBe('dead')
  })

  it('is not called when all of its jobs are poisoned', async () => {
    const scene = openScene()
    await insertRaw(scene, 'mail', '{')
    await insertRaw(scene, 'mail', '[')
    let calls = 0
    scene.skep.worker([mail.handleBatch({ size: 10 }, () => void calls++)])

    await scene.until(async () => (await scene.counts('mail')).dead === 2)

    expect(calls).toBe(0)
  })

  it('has each of its results checked by the schema of results', async () => {
    const scene = openScene()
    const strict = queue('strict', {
      payload: z.number(),
      result: z.object({ ok: z.boolean() }),
      onError: retry(3, fixed('1h')),
    })
    const jobs = await scene.skep.enqueueMany(strict, many(3))
    scene.skep.worker([
      strict.handleBatch({ size: 10 }, () => [
        { ok: true },
        { ok: 'no' } as unknown as { ok: boolean },
        cancel('x'),
      ]),
    ])

    await scene.until(async () => !(await states(scene, jobs)).includes('running'))

    expect(await states(scene, jobs)).toEqual(['done', 'delayed', 'cancelled'])
  })

  it('loses one lease alone: the other jobs of the batch are judged by themselves', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(3))
    scene.skep.worker([
      mail.handleBatch({ size: 10 }, async (contexts) => {
        throw new LeaseLostError(contexts[1]!.id)
      }),
    ])

    await scene.until(async () => (await scene.counts('mail')).delayed === 2)

    expect(await states(scene, jobs)).toEqual(['delayed', 'running', 'delayed'])
  })

  it("sees one cancelled job at that job's own signal, and answers for the others", async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(3))
    const left = gate()
    scene.skep.worker([
      mail.handleBatch({ size: 10 }, async (contexts) => {
        await aborted(contexts[1]!.signal)
        left.open()
        return contexts.map(({ signal }) => (signal.aborted ? cancel('as asked') : 'done'))
      }),
    ])
    await scene.until(async () => (await scene.counts('mail')).running === 3)

    await scene.skep.jobs.cancel(jobs[1]!.id)
    await scene.through(left.promise)
    await scene.runtime.settle()

    expect(await states(scene, jobs)).toEqual(['done', 'cancelled', 'done'])
  })

  it('frees its slot only when the last of its jobs is over', async () => {
    const scene = openScene()
    const slow = queue<number>('slow', { timeout: '10s', onTimeout: retry(1, fixed('1h')) })
    await scene.skep.enqueue(slow, 1, { timeout: '1s' })
    await scene.skep.enqueue(slow, 2)
    const late = gate()
    const worker = scene.skep.worker([slow.handleBatch({ size: 2 }, () => late.promise)], { grace: '1s' })

    await scene.until(async () => (await scene.counts('slow')).delayed === 1)
    expect(worker.health()).toMatchObject({ running: 1, zombies: 1 })
    await scene.until(async () => (await scene.counts('slow')).delayed === 2)
    expect(worker.health()).toMatchObject({ running: 0, zombies: 2 })
    late.open()
    await scene.runtime.settle()

    expect(worker.health().zombies).toBe(0)
    expect(await scene.counts('slow')).toEqual({ delayed: 2 })
  })
})
