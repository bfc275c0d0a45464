import { describe, expect, it } from 'vitest'
import { storedPriority } from '../../src/core/jobs/priority.ts'
import { PRIORITY_STEP_MS, queue } from '../../src/index.ts'
import type { Hint } from '../../src/notifier/notifier.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<number>('mail')
const pager = queue<number>('pager', { priorityMode: 'strict' })

/** The payloads in the order in which one worker starts them. */
async function order(scene: Scene, of: typeof mail, count: number): Promise<number[]> {
  const seen: number[] = []
  scene.skep.worker([of.handle(({ payload }) => void seen.push(payload))], { concurrency: 1 })
  await scene.until(() => seen.length === count)
  return seen
}

describe('a strict queue', () => {
  it('starts the higher priority first, however long others have waited; another lets them age', async () => {
    const orders = []
    for (const of of [mail, pager]) {
      const scene = openScene()
      await scene.skep.enqueue(of, 1)
      await scene.advance(50 * PRIORITY_STEP_MS)
      await scene.skep.enqueue(of, 2, { priority: 1 })
      await scene.skep.enqueue(of, 3, { priority: -100 })
      await scene.skep.enqueue(of, 4, { priority: 100 })
      orders.push(await order(scene, of, 4))
    }

    expect(orders).toEqual([
      [4, 1, 2, 3],
      [4, 2, 1, 3],
    ])
  })

  it('takes its own priority for jobs that name none', async () => {
    const scene = openScene()
    const urgent = queue<number>('urgent', { priorityMode: 'strict', priority: 3 })

    const { id } = await scene.skep.enqueue(urgent, 1)

    expect((await scene.job(id)).priority).toBe(storedPriority(3, 'strict'))
    expect(await scene.skep.jobs.get(id)).toMatchObject({ priority: 3 })
  })

  it('shows priorities as they were given: to views, handlers and listeners', async () => {
    const scene = openScene()
    const seen: number[] = []
    const inner = queue<number>('inner', { priorityMode: 'strict' })
    await scene.skep.enqueue(pager, 1, { priority: -7 })
    scene.skep.worker([
      pager.handle(async (job) => {
        seen.push(job.priority)
        await job.enqueue(inner, 1, { priority: 100, delay: '1h' })
      }),
    ])
    await scene.until(() => scene.told.some(({ name }) => name === 'finished'))

    const { jobs } = await scene.skep.jobs.list({})
    expect(seen).toEqual([-7])
    expect(scene.told.map(({ event }) => event.job.priority)).toEqual([-7, -7])
    expect(jobs.map(({ queue: name, priority }) => [name, priority])).toEqual([
      ['inner', 100],
      ['pager', -7],
    ])
  })

  it('refuses a mode that is none, and a priority beyond the limit', async () => {
    const scene = openScene()

    expect(await codeOf((async () => queue('x', { priorityMode: 'loose' as 'strict' }))())).toBe(
      'OPTION_INVALID',
    )
    expect(await codeOf(scene.skep.enqueue(pager, 1, { priority: 101 }))).toBe('OPTION_INVALID')
  })
})

describe('many jobs in a transaction', () => {
  it('are hinted at with a rank that none of them is before', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        capabilities: { ...store.capabilities, transactions: true },
        within: () => store,
      }),
    })
    const heard: Hint[] = []
    scene.notifier.subscribe((hints) => void heard.push(...hints))
    await scene.runtime.settle()
    heard.length = 0

    const jobs = await scene.skep.enqueueMany(pager, [0, 5, 2], {
      tx: {},
      each: (priority) => ({ priority }),
    })
    await scene.advance(5)

    const { dueAt, priority } = await scene.job(jobs[1]!.id)
    expect(heard).toContainEqual({
      kind: 'work',
      space: 'default',
      queue: 'pager',
      dueAt,
      rank: dueAt - priority * PRIORITY_STEP_MS,
    })
  })
})

describe('prioritize', () => {
  it('counts as the queue does that it is given', async () => {
    const scene = openScene()
    const [plain, strict] = [await scene.skep.enqueue(mail, 1), await scene.skep.enqueue(pager, 1)]

    await scene.skep.jobs.prioritize(mail, 5)
    await scene.skep.jobs.prioritize({ queue: pager, text: '1' }, 5)

    expect((await scene.job(plain.id)).priority).toBe(5)
    expect((await scene.job(strict.id)).priority).toBe(storedPriority(5, 'strict'))
    expect((await scene.skep.jobs.get(strict.id))?.priority).toBe(5)
  })

  it('by id or name wants to be told the mode, and changes nothing otherwise', async () => {
    const scene = openScene()
    const { id } = await scene.skep.enqueue(pager, 1)
    const prioritize = scene.skep.jobs.prioritize.bind(scene.skep) as (...args: unknown[]) => Promise<unknown>

    for (const target of [id, [id], { queue: 'pager' }]) {
      expect(await codeOf(prioritize(target, 5))).toBe('OPTION_INVALID')
    }
    expect(await codeOf(prioritize(id, 5, { priorityMode: 'loose' }))).toBe('OPTION_INVALID')
    expect(await codeOf(prioritize(id, 5.5, { priorityMode: 'strict' }))).toBe('OPTION_INVALID')
    expect(scene.faults.count('change')).toBe(0)
    await scene.skep.jobs.prioritize(id, 2, { priorityMode: 'strict' })

    expect((await scene.job(id)).priority).toBe(storedPriority(2, 'strict'))
  })

  it('reaches all waiting jobs of a queue, up and down, each once', async () => {
    const scene = openScene()
    const payloads = Array.from({ length: 1_600 }, (_, n) => n)
    await scene.skep.enqueueMany(mail, payloads, { each: (n) => ({ delay: n % 2 === 0 ? 0 : '1h' }) })

    expect(await scene.skep.jobs.prioritize(mail, 3)).toEqual({ changed: 1_600, requested: 0, refused: [] })
    expect(await scene.skep.jobs.prioritize(mail, -3)).toMatchObject({ changed: 1_600 })
    expect(await scene.skep.jobs.prioritize(mail, -3)).toMatchObject({ changed: 0 })
    expect(await scene.skep.jobs.prioritize({ queue: mail, limit: 700 }, 1)).toMatchObject({ changed: 700 })
  })

  it('moves an urgent job ahead of a backlog', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3, 4])

    await scene.skep.jobs.prioritize(jobs[3]!.id, 1, { priorityMode: 'head-start' })

    expect(await order(scene, mail, 4)).toEqual([4, 1, 2, 3])
  })

  it('refuses what runs or has ended, and names it', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    await job.cancel()

    expect(await scene.skep.jobs.prioritize(job.id, 1, { priorityMode: 'strict' })).toEqual({
      changed: 0,
      requested: 0,
      refused: [{ id: job.id, reason: 'state' }],
    })
    expect(await codeOf(scene.skep.jobs.prioritize({ queue: mail, state: 'running' }, 1))).toBe(
      'OPTION_INVALID',
    )
  })

  it('hints at the lowest rank, so that a claimer that remembers its place goes back far enough', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(pager, [1, 2], { each: (n) => ({ delay: n - 1 }) })
    const heard: Hint[] = []
    scene.notifier.subscribe((hints) => void heard.push(...hints))
    await scene.runtime.settle()
    heard.length = 0

    await scene.skep.jobs.prioritize(pager, 9)
    await scene.runtime.settle()

    const { dueAt } = await scene.job(jobs[0]!.id)
    const rank = dueAt - storedPriority(9, 'strict') * PRIORITY_STEP_MS
    const hinted = heard.filter(({ kind }) => kind === 'work')
    expect(hinted.length).toBeGreaterThan(0)
    expect(Math.min(...hinted.map((hint) => (hint.kind === 'work' ? hint.rank : Infinity)))).toBe(rank)
    expect(heard.some(({ kind }) => kind === 'sync')).toBe(false)
  })

  it('keeps what it did when the store fails on the way, and goes on when it is called again', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(
      mail,
      Array.from({ length: 1_200 }, (_, n) => n),
    )
    let calls = 0
    const change = scene.truth.change.bind(scene.truth)
    const flaky = scene.client({
      ...scene.truth,
      change: (call) => {
        if (++calls === 3) throw new Error('The line went dead.')
        return change(call)
      },
    })

    await expect(flaky.jobs.prioritize(mail, 5)).rejects.toThrow('The line went dead.')
    const rest = await flaky.jobs.prioritize(mail, 5)

    expect(rest.changed).toBe(700)
  })
})
