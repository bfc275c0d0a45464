import { describe, expect, it } from 'vitest'
import { fixed, never, queue, retry } from '../../src/index.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<number, unknown>('mail', { onError: never() })

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** Jobs that died, by a worker that is stopped again. */
async function dead(scene: Scene, count: number, unique = false): Promise<string[]> {
  const jobs = await scene.skep.enqueueMany(mail, many(count), {
    each: (_item, index) => (unique ? { unique: `key ${index}` } : {}),
  })
  const worker = scene.skep.worker([
    mail.handle(({ payload }) => {
      throw new Error(`broken ${payload}`)
    }),
  ])
  await scene.until(async () => (await scene.counts('mail')).dead === count)
  await scene.through(worker.stop())
  return jobs.map(({ id }) => id)
}

describe('retry', () => {
  it('starts one dead job anew, as its next generation', async () => {
    const scene = openScene()
    const [id] = (await dead(scene, 1)) as [string]

    expect(await scene.skep.jobs.retry(id)).toEqual({ changed: 1, requested: 0, refused: [] })

    expect(await scene.job(id)).toMatchObject({
      state: 'ready',
      generation: 1,
      errors: 0,
      starts: 0,
      failure: null,
    })
    scene.skep.worker([mail.handle(() => 'better')])
    expect(await scene.through(scene.skep.jobs.handle(id).result())).toBe('better')
  })

  it('takes all dead jobs of a queue, or those that fit', async () => {
    const scene = openScene()
    await dead(scene, 20)

    expect(await scene.skep.jobs.retry({ queue: 'mail', text: 'broken 7' })).toMatchObject({ changed: 1 })
    expect(await scene.skep.jobs.retry({ queue: 'mail', limit: 5 })).toMatchObject({ changed: 5 })
    expect(await scene.skep.jobs.retry({ queue: 'mail' })).toMatchObject({ changed: 14 })

    expect(await scene.counts('mail')).toEqual({ ready: 20 })
  })

  it('of more jobs than one page takes them all', async () => {
    const scene = openScene()
    await dead(scene, 1_050)

    expect(await scene.skep.jobs.retry({ queue: 'mail' })).toMatchObject({ changed: 1_050 })
  })

  it('of more jobs than one page goes on past those whose unique key is held, and names each of them once', async () => {
    const scene = openScene()
    const ids = await dead(scene, 700, true)
    // New jobs took over the keys of the last ones, which are listed first.
    await scene.skep.enqueueMany(mail, many(10), { each: (item) => ({ unique: `key ${690 + item}` }) })

    const summary = await scene.skep.jobs.retry({ queue: 'mail' })

    expect(summary.changed).toBe(690)
    expect(summary.refused.map(({ id }) => id).toSorted()).toEqual(ids.slice(690).toSorted())
    expect(summary.refused.every(({ reason }) => reason === 'unique')).toBe(true)
  })

  it('of jobs that die again at once comes to an end, and each was retried once', async () => {
    const scene = openScene()
    await dead(scene, 700)
    const broken = mail.handle(() => {
      throw new Error('still broken')
    })
    await scene.client(scene.truth).worker([broken], { poll: '10ms' }).ready
    scene.faults.break({ slowMs: 200 }, ['change'])

    const summary = await scene.through(scene.skep.jobs.retry({ queue: 'mail' }))

    expect(summary.changed).toBe(700)
    await scene.until(async () => (await scene.counts('mail')).dead === 700)
    const { jobs } = await scene.truth.list({
      space: 'default',
      queue: 'mail',
      state: 'dead',
      limit: 2_000,
      cursor: null,
    })
    expect(jobs.every(({ generation }) => generation === 1)).toBe(true)
  })

  it('twice at the same time retries each once', async () => {
    const scene = openScene()
    const ids = await dead(scene, 50)

    const both = await Promise.all([scene.skep.jobs.retry(ids), scene.skep.jobs.retry({ queue: 'mail' })])

    expect(both.reduce((sum, { changed }) => sum + changed, 0)).toBe(50)
    expect(
      (await Promise.all(ids.map((id) => scene.job(id)))).every(({ generation }) => generation === 1),
    ).toBe(true)
  })

  it('takes finished jobs of another state when that is named', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1, { delay: '1h' })
    await job.cancel()

    expect(await scene.skep.jobs.retry({ queue: 'mail' })).toMatchObject({ changed: 0 })
    expect(await scene.skep.jobs.retry({ queue: 'mail', state: 'cancelled' })).toMatchObject({ changed: 1 })
  })
})

describe('bury, promote and remove', () => {
  it('bury puts waiting jobs among the dead, with the reason', async () => {
    const scene = openScene()
    const [now, later] = [
      await scene.skep.enqueue(mail, 1),
      await scene.skep.enqueue(mail, 2, { delay: '1h' }),
    ]

    expect(await scene.skep.jobs.bury({ queue: 'mail' }, { reason: 'a bad deploy' })).toMatchObject({
      changed: 2,
    })

    expect(await now.get()).toMatchObject({
      state: 'dead',
      failure: { kind: 'bury', message: 'a bad deploy' },
    })
    expect((await later.get())?.state).toBe('dead')
  })

  it('remove deletes finished jobs, and others when their state is named', async () => {
    const scene = openScene()
    await dead(scene, 3)
    const waiting = await scene.skep.enqueue(mail, 1)

    expect(await scene.skep.jobs.remove({ queue: 'mail' })).toMatchObject({ changed: 3 })
    expect(await scene.counts('mail')).toEqual({ ready: 1 })
    expect(await scene.skep.jobs.remove(waiting.id)).toMatchObject({ changed: 1 })
    expect(await scene.counts('mail')).toEqual({})
  })

  it('promote makes delayed jobs due now', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, many(3), { delay: '1d' })

    expect(await scene.skep.jobs.promote({ queue: 'mail' })).toMatchObject({ changed: 3 })

    expect(await scene.counts('mail')).toEqual({ ready: 3 })
  })

  it('says why a change is not possible', async () => {
    const scene = openScene()
    const [id] = (await dead(scene, 1)) as [string]
    const unknown = scene.runtime.uuid()

    expect(await scene.skep.jobs.promote([id, unknown])).toEqual({
      changed: 0,
      requested: 0,
      refused: [
        { id, reason: 'state' },
        { id: unknown, reason: 'unknown' },
      ],
    })
  })

  it('tells workers of what became ready', async () => {
    const scene = openScene()
    const [id] = (await dead(scene, 1)) as [string]
    const seen: string[] = []
    scene.skep.worker([mail.handle((job) => void seen.push(job.id))])
    await scene.advance(100)
    const before = scene.runtime.mono()

    await scene.skep.jobs.retry(id)
    await scene.runtime.settle()

    expect(seen).toEqual([id])
    expect(scene.runtime.mono()).toBe(before)
  })
})

describe('what is refused', () => {
  it.each<[string, (scene: Scene) => Promise<unknown>, string]>([
    ['an id that is none', (scene) => scene.skep.jobs.cancel('order-1'), 'OPTION_INVALID'],
    ['a queue name that is none', (scene) => scene.skep.jobs.cancel({ queue: 'a b' }), 'NAME_INVALID'],
    [
      'a state that is none',
      (scene) => scene.skep.jobs.retry({ queue: 'mail', state: 'broken' as 'dead' }),
      'OPTION_INVALID',
    ],
    [
      'a state the change cannot be made in',
      (scene) => scene.skep.jobs.promote({ queue: 'mail', state: 'done' }),
      'OPTION_INVALID',
    ],
    ['a limit of nothing', (scene) => scene.skep.jobs.retry({ queue: 'mail', limit: 0 }), 'OPTION_INVALID'],
    [
      'a limit that is not whole',
      (scene) => scene.skep.jobs.retry({ queue: 'mail', limit: 1.5 }),
      'OPTION_INVALID',
    ],
    [
      'an invalid date',
      (scene) => scene.skep.jobs.retry({ queue: 'mail', after: new Date(Number.NaN) }),
      'OPTION_INVALID',
    ],
  ])('%s', async (_name, call, code) => {
    const scene = openScene()

    expect(await codeOf(call(scene))).toBe(code)
    expect(scene.faults.count('change')).toBe(0)
  })
})

describe('prune', () => {
  it('removes finished jobs whose time is over, and nothing else', async () => {
    const scene = openScene()
    const brief = queue<number>('brief', { keepCancelled: '1m', onError: retry(1, fixed(0)) })
    const [gone, kept] = await scene.skep.enqueueMany(brief, [1, 2])
    await scene.skep.jobs.cancel(gone!.id, { keep: '1m' })
    await scene.advance(120_000)

    expect(await scene.skep.jobs.prune()).toBe(1)

    expect(await scene.state(gone!.id)).toBe('absent')
    expect(await scene.state(kept!.id)).toBe('ready')
  })

  it('removes however many there are', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, many(3_500))
    await scene.skep.jobs.cancel({ queue: 'mail' }, { keep: 0 })
    await scene.advance(1)

    expect(await scene.skep.jobs.prune()).toBe(3_500)
  })
})
