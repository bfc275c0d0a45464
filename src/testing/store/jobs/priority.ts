import assert from 'node:assert/strict'
import { rankOf } from '../../../core/jobs/job.ts'
import { storedPriority } from '../../../core/jobs/priority.ts'
import {
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  verdict,
} from '../samples.ts'
import { type Scene, type StoreCase, source } from '../scene.ts'

const YEAR = 365 * 24 * HOUR
const strict = (priority: number): number => storedPriority(priority, 'strict')

/** The place of each ready job, first to last. */
async function line(scene: Scene): Promise<string[]> {
  return idsOf(await scene.list('ready'))
}

export function priorityCases(test: StoreCase): void {
  test('takes the higher strict priority first, however long others have waited', async (scene) => {
    await scene.insert(sample(1), sample(2, { priority: strict(-1) }), sample(3, { priority: strict(1) }))
    scene.pass(10 * YEAR)
    await scene.insert(sample(4), sample(5, { priority: strict(2) }), sample(6, { priority: strict(1) }))

    assert.deepEqual(await line(scene), [5, 3, 6, 1, 4, 2].map(idOf))
    assert.deepEqual(idsOf(await scene.take()), [5, 3, 6, 1, 4, 2].map(idOf))
  })

  test('lets a job that waited long go before a head start, and not before a strict priority', async (scene) => {
    await scene.insert(sample(1), sample(1, { id: idOf(11), queue: OTHER_QUEUE }))
    scene.pass(HOUR)
    await scene.insert(sample(2, { priority: 1 }), sample(12, { queue: OTHER_QUEUE, priority: strict(1) }))

    assert.deepEqual(idsOf(await scene.take()), [1, 2].map(idOf))
    const others = await scene.take({ sources: [source({ queue: OTHER_QUEUE })] })
    assert.deepEqual(idsOf(others), [12, 11].map(idOf))
  })

  test('keeps the largest strict priorities exactly, wherever a job goes', async (scene) => {
    const highest = await scene.running(sample(1, { priority: strict(100) }))
    const lowest = await scene.running(sample(2, { priority: strict(-100), delayMs: 0 }))
    assert.deepEqual([highest.priority, lowest.priority], [100_000_000, -100_000_000])

    const enqueue = [sample(3, { priority: strict(-99) }), sample(4, { priority: strict(99) })]
    await scene.settle(highest, verdict('done'), { enqueue })
    await scene.settle(lowest, verdict('dead'))
    await scene.changeOne('retry', idOf(2))

    assert.deepEqual(await line(scene), [4, 3, 2].map(idOf))
    const { jobs } = await scene.store.get({ space: SPACE, ids: [1, 2, 3, 4].map(idOf) })
    assert.deepEqual(
      jobs.map((job) => job?.priority),
      [100, -100, -99, 99].map(strict),
    )
    const pages: string[] = []
    let cursor: string | null = null
    do {
      const page = await scene.store.list({ space: SPACE, queue: QUEUE, state: 'ready', limit: 1, cursor })
      pages.push(...idsOf(page.jobs))
      cursor = page.cursor
    } while (cursor !== null)
    assert.deepEqual(pages, [4, 3, 2].map(idOf))
  })

  test('takes a job of a higher priority that was delayed as soon as it is due', async (scene) => {
    await scene.insert(...samples(3), sample(9, { delayMs: MINUTE, priority: strict(1) }))
    await scene.take({ limit: 1 })
    scene.pass(MINUTE)

    assert.deepEqual(idsOf(await scene.take({ limit: 1 })), [idOf(9)])
  })
}

export function prioritizeCases(test: StoreCase): void {
  const prioritize = (scene: Scene, ids: readonly number[], priority: number) =>
    scene.change('prioritize', { ids: ids.map(idOf) }, { priority })

  test('moves jobs up and down the line, by id', async (scene) => {
    await scene.insert(...samples(4))

    assert.deepEqual(await prioritize(scene, [3], 1), [{ id: idOf(3), status: 'ok' }])
    await prioritize(scene, [1], -1)
    assert.deepEqual(await line(scene), [3, 2, 4, 1].map(idOf))
    await prioritize(scene, [4], strict(1))
    await prioritize(scene, [3], 0)

    assert.deepEqual(await line(scene), [4, 2, 3, 1].map(idOf))
    assert.deepEqual(idsOf(await scene.take()), [4, 2, 3, 1].map(idOf))
  })

  test('changes nothing of a job but its priority', async (scene) => {
    await scene.insert(sample(1, { headers: '{"a":"b"}', overrides: '{"timeoutMs":1}' }))
    const before = await scene.job(idOf(1))
    scene.pass(MINUTE)

    await prioritize(scene, [1], 7)

    assert.deepEqual(await scene.job(idOf(1)), { ...before, priority: 7 })
  })

  test('leaves delayed jobs their time, and gives them their place when they are due', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: HOUR }), sample(3, { delayMs: HOUR + 1 }))

    await prioritize(scene, [3], 50)
    assert.deepEqual(idsOf(await scene.list('delayed')), [2, 3].map(idOf))
    assert.equal((await scene.job(idOf(3))).dueAt, START + HOUR + 1)
    scene.pass(HOUR)
    assert.deepEqual(idsOf(await scene.take()), [1, 2].map(idOf))
    await scene.insert(sample(4))
    scene.pass(1)

    assert.deepEqual(idsOf(await scene.take()), [3, 4].map(idOf))
  })

  test('can be repeated, and takes a job that has the priority already for changed, by id', async (scene) => {
    await scene.insert(sample(1))

    const once = await prioritize(scene, [1, 1], 5)
    const again = await prioritize(scene, [1], 5)

    assert.deepEqual(
      [...once, ...again].map(({ status }) => status),
      ['ok', 'ok', 'ok'],
    )
    assert.equal((await scene.job(idOf(1))).priority, 5)
  })

  test('does not touch a job of another space', async (scene) => {
    await scene.insert(sample(1, { space: OTHER_SPACE }))

    assert.equal(await scene.changeOne('prioritize', idOf(1), { priority: 5 }), 'unknown')
    assert.equal((await scene.job(idOf(1), OTHER_SPACE)).priority, 0)
  })

  test('keeps its priority through a retry and a retry', async (scene) => {
    await scene.insert(sample(1))
    await prioritize(scene, [1], strict(3))
    const held = await scene.running(sample(2), { ids: [idOf(1)] })

    await scene.settle(held, verdict('delayed', { delayMs: 1 }))
    assert.equal((await scene.job(idOf(1))).priority, strict(3))
    await scene.changeOne('bury', idOf(1))
    await scene.changeOne('retry', idOf(1))

    assert.deepEqual(await line(scene), [1, 2].map(idOf))
  })

  test('by selection changes those that fit, and passes over what has the priority already', async (scene) => {
    await scene.insert(
      sample(1, { payload: '"urgent"' }),
      sample(2),
      sample(3, { payload: '"urgent"', priority: 9 }),
      sample(4, { payload: '"urgent"', queue: OTHER_QUEUE }),
    )

    const target = { queue: QUEUE, state: 'ready', where: { text: 'urgent' }, limit: 10 } as const
    const results = await scene.change('prioritize', target, { priority: 9 })

    assert.deepEqual(results, [{ id: idOf(1), status: 'ok' }])
    assert.deepEqual(await line(scene), [1, 3, 2].map(idOf))
    assert.equal((await scene.job(idOf(4))).priority, 0)
  })

  for (const priority of [strict(5), strict(-5), 1, -1]) {
    test(`page by page reaches each job of a selection once (${priority})`, async (scene) => {
      await scene.insert(...samples(25))
      const changed: string[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const reply: Awaited<ReturnType<typeof scene.store.change>> = await scene.store.change({
          action: 'prioritize',
          space: SPACE,
          target: { queue: QUEUE, state: 'ready', limit: 4, cursor },
          failure: null,
          keepMs: 0,
          priority,
          now: scene.now,
        })
        changed.push(...idsOf(reply.results))
        cursor = reply.cursor
        pages++
      } while (cursor !== null && pages < 100)

      assert.deepEqual(
        changed,
        samples(25).map(({ id }) => id),
      )
      assert.ok(pages < 100)
    })
  }

  test('tells where the jobs that moved wait now, for hints', async (scene) => {
    await scene.insert(
      ...samples(2),
      sample(3, { delayMs: HOUR }),
      sample(4, { queue: OTHER_QUEUE, priority: strict(1) }),
    )
    const call = { space: SPACE, failure: null, keepMs: HOUR }

    const ids = [1, 3, 4].map(idOf)
    scene.pass(1)
    const moved = await scene.store.change({
      ...call,
      action: 'prioritize',
      target: { ids },
      priority: 2,
      now: scene.now,
    })
    const promoted = await scene.store.change({
      ...call,
      action: 'promote',
      target: { queue: QUEUE, state: 'delayed', limit: 9 },
      now: scene.now,
    })
    const removed = await scene.store.change({
      ...call,
      action: 'remove',
      target: { ids },
      now: scene.now,
    })

    const place = (queue: string, dueAt: number) => ({ queue, dueAt, rank: rankOf(dueAt, 2) })
    assert.deepEqual(moved.waiting, [place(QUEUE, START), place(OTHER_QUEUE, START)])
    assert.deepEqual(promoted.waiting, [place(QUEUE, scene.now)])
    assert.deepEqual(removed.waiting, [])
  })
}
