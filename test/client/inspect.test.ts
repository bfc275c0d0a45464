import { describe, expect, it } from 'vitest'
import { type JobState, type ListOptions, queue, type Skep } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<unknown, unknown>('mail')
const report = queue<unknown>('report')

/** Every page from the first to the last. */
async function listAll(skep: Skep, options: ListOptions): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = []
  let pages = 0
  for (let cursor: string | null | undefined; cursor !== null && pages < 100; pages++) {
    const page = await skep.jobs.list(cursor === undefined ? options : { ...options, cursor })
    ids.push(...page.jobs.map(({ id }) => id))
    cursor = page.cursor
  }
  return { ids, pages }
}

describe('list', () => {
  it('goes page by page through all queues and states, each job once', async () => {
    const scene = openScene()
    const expected = new Set<string>()
    const add = (jobs: readonly { id: string }[]): void => {
      for (const { id } of jobs) expected.add(id)
    }
    add(await scene.skep.enqueueMany(mail, Array.from({ length: 7 }, String)))
    add(await scene.skep.enqueueMany(mail, Array.from({ length: 5 }, String), { delay: '1h' }))
    add(await scene.skep.enqueueMany(report, Array.from({ length: 4 }, String)))
    await scene.skep.jobs.cancel({ queue: 'report', limit: 2, state: 'ready' })

    for (const limit of [1, 2, 3, 5, 16, 200]) {
      const { ids } = await listAll(scene.skep, { limit })
      expect(ids).toHaveLength(16)
      expect(new Set(ids)).toEqual(expected)
    }
  })

  it('of one queue and state has the jobs in the order in which they start', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, ['a', 'b', 'c'], {
      each: (_item, index) => ({ priority: index }),
    })

    const { ids } = await listAll(scene.skep, { queue: 'mail', state: 'ready', limit: 2 })

    expect(ids).toEqual(jobs.map(({ id }) => id).toReversed())
  })

  it('finds by text, by time and by several states', async () => {
    const scene = openScene()
    const old = await scene.skep.enqueue(mail, 'needle')
    await scene.advance(60_000)
    const between = new Date(scene.runtime.now())
    const young = await scene.skep.enqueue(mail, 'needle')
    const late = await scene.skep.enqueue(mail, 'hay', { delay: '1h' })
    const ids = async (options: ListOptions): Promise<string[]> =>
      (await scene.skep.jobs.list(options)).jobs.map(({ id }) => id)

    expect(await ids({ text: 'needle' })).toEqual([old.id, young.id])
    expect(await ids({ state: 'ready', before: between })).toEqual([old.id])
    expect(await ids({ state: ['delayed', 'ready'], after: between })).toEqual([late.id, young.id])
    expect(await ids({ state: 'dead' })).toEqual([])
  })

  it('goes on behind a queue that has vanished between two pages, and repeats nothing', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        // As stores do that list only queues with jobs in them.
        async counts(call) {
          const { queues, now } = await store.counts(call)
          return {
            now,
            queues: queues.filter(({ states }) => Object.values(states).some((count) => count > 0)),
          }
        },
      }),
    })
    for (const name of ['a', 'b', 'c']) await scene.skep.enqueueMany(queue(name), [1, 2])
    const first = await scene.skep.jobs.list({ limit: 3 })
    expect(first.jobs.map((job) => job.queue)).toEqual(['a', 'a', 'b'])

    await scene.skep.jobs.remove({ queue: 'b', state: 'ready' })
    const second = await scene.skep.jobs.list({ limit: 3, cursor: first.cursor as string })

    expect(second.jobs.map((job) => job.queue)).toEqual(['c', 'c'])
    expect(second.cursor).toBeNull()
  })

  it.each<[string, ListOptions]>([
    ['a page of nothing', { limit: 0 }],
    ['a page that is too long', { limit: 201 }],
    ['a state that is none', { state: 'broken' as JobState }],
    ['a cursor of somebody else', { cursor: 'abc' }],
    ['a cursor with an unknown state', { cursor: Buffer.from('["mail","x",null]').toString('base64url') }],
    [
      'a cursor with parts that are no texts',
      { cursor: Buffer.from('[7,"ready",{}]').toString('base64url') },
    ],
    ['an invalid date', { after: new Date(Number.NaN) }],
  ])('refuses %s', async (_name, options) => {
    const scene = openScene()

    expect(await codeOf(scene.skep.jobs.list(options))).toBe('OPTION_INVALID')
  })

  it('shows a payload that cannot be read as its raw text', async () => {
    const scene = openScene()
    await insertRaw(scene, '{broken')

    const { jobs } = await scene.skep.jobs.list({ queue: 'mail' })

    expect(jobs[0]?.payload).toBe('{broken')
  })
})

describe('get', () => {
  it('gives a job with its dates, or null', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, { deep: [1] }, { delay: '1m', headers: { a: 'b' } })

    const view = await scene.skep.jobs.get(job.id)

    expect(view).toMatchObject({
      payload: { deep: [1] },
      headers: { a: 'b' },
      state: 'delayed',
      startedAt: null,
    })
    expect(view?.dueAt.getTime()).toBe((view?.enqueuedAt.getTime() ?? 0) + 60_000)
    expect(await scene.skep.jobs.get(scene.runtime.uuid())).toBeNull()
    expect(await codeOf(scene.skep.jobs.get('nonsense'))).toBe('OPTION_INVALID')
  })
})

describe('counts', () => {
  it('tells how many jobs each queue has in each state, and how long the next one has been due', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    await scene.skep.enqueue(mail, 4, { delay: '1h' })
    await scene.advance(5_000)

    const [counts] = await scene.skep.queues.list([mail])

    expect(counts).toMatchObject({
      queue: 'mail',
      ready: 3,
      delayed: 1,
      running: 0,
      done: 0,
      oldestMs: 5_000,
    })
    expect((await scene.skep.queues.list(['report']))[0]).toMatchObject({
      queue: 'report',
      ready: 0,
      oldestMs: null,
    })
  })

  it('counts down while jobs are worked off', async () => {
    const scene = openScene()
    const gates = [gate(), gate(), gate()]
    await scene.skep.enqueueMany(mail, [0, 1, 2])
    scene.skep.worker([mail.handle(({ payload }) => gates[payload as number]?.promise)], { concurrency: 1 })
    const left = async (): Promise<number> => {
      const [counts] = await scene.skep.queues.list([mail])
      return (counts?.ready ?? 0) + (counts?.running ?? 0)
    }
    const seen = [await left()]

    for (const each of gates) {
      each.open()
      await scene.runtime.settle()
      seen.push(await left())
    }

    expect(seen).toEqual([3, 2, 1, 0])
  })
})

describe('workers', () => {
  it('are on the list while they live, with what they do', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1), report.handle(() => {})], { concurrency: 7 })
    await worker.ready

    expect(await scene.skep.workers.list()).toMatchObject([
      {
        id: worker.id,
        space: 'default',
        queues: ['mail', 'report'],
        concurrency: 7,
        running: 0,
        pid: process.pid,
      },
    ])

    await scene.through(worker.stop())
    expect(await scene.skep.workers.list()).toEqual([])
  })
})

async function insertRaw(scene: Scene, payload: string): Promise<void> {
  const { jobs } = { jobs: [{ id: scene.runtime.uuid(), payload }] }
  await scene.truth.insert({
    jobs: jobs.map((job) => ({
      ...job,
      space: 'default',
      queue: 'mail',
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
    })),
  })
}
