import assert from 'node:assert/strict'
import { type ClaimedJob, rankOf } from '../../../core/jobs/job.ts'
import { HOUR, idOf, idsOf, OTHER_QUEUE, QUEUE, SPACE, sample, samples, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

/** What every store promises about a waiting job that is given another moment. */
export function rescheduleCases(test: StoreCase): void {
  test('puts a ready job off until its moment, and then it starts', async (scene) => {
    await scene.insert(...samples(2))
    assert.equal(await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now + HOUR }), 'ok')

    assert.equal((await scene.job(idOf(1))).state, 'delayed')
    assert.equal((await scene.job(idOf(1))).dueAt, scene.now + HOUR)
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
    scene.pass(HOUR - 1)
    assert.deepEqual(idsOf(await scene.take()), [])
    scene.pass(1)
    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
  })

  test('brings a delayed job nearer, puts it off, and makes it due', async (scene) => {
    await scene.insert(...[1, 2, 3].map((n) => sample(n, { delayMs: HOUR })))
    await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now + HOUR / 2 })
    await scene.changeOne('reschedule', idOf(2), { dueAt: scene.now + 2 * HOUR })
    await scene.changeOne('reschedule', idOf(3), { dueAt: scene.now })

    assert.equal((await scene.job(idOf(3))).state, 'ready')
    assert.deepEqual(idsOf(await scene.take()), [idOf(3)])
    scene.pass(HOUR / 2)
    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
    scene.pass(HOUR)
    assert.deepEqual(idsOf(await scene.take()), [])
    scene.pass(HOUR / 2)
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('counts what waits and what is ready', async (scene) => {
    await scene.insert(...samples(3), sample(4, { delayMs: HOUR }))
    await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now + HOUR })
    await scene.changeOne('reschedule', idOf(2), { dueAt: scene.now - HOUR })
    await scene.changeOne('reschedule', idOf(4), { dueAt: scene.now })

    const { queues } = await scene.store.counts({ space: SPACE, queues: [QUEUE], now: scene.now })
    assert.deepEqual([queues[0]?.states.delayed, queues[0]?.states.ready], [1, 3])
  })

  test('gives a ready job the place of its moment', async (scene) => {
    await scene.insert(...samples(3))
    scene.pass(1_000)
    await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now })

    assert.deepEqual(idsOf(await scene.take()), [2, 3, 1].map(idOf))
  })

  test('is refused for what runs, is over or is not there, and for what is in strict order', async (scene) => {
    await scene.insert(sample(1))
    await scene.take()
    await scene.insert(sample(2), sample(3, { lane: 'a', strict: true }))
    await scene.changeOne('cancel', idOf(2))

    for (const n of [1, 2, 3]) {
      assert.equal(await scene.changeOne('reschedule', idOf(n), { dueAt: scene.now + HOUR }), 'state')
    }
    assert.equal(await scene.changeOne('reschedule', idOf(9), { dueAt: scene.now }), 'unknown')
    assert.equal((await scene.job(idOf(3))).state, 'ready')
  })

  for (const from of ['ready', 'delayed'] as const) {
    test(`page by page reaches each ${from} job of a selection once`, async (scene) => {
      const delayMs = from === 'ready' ? 0 : HOUR
      await scene.insert(...samples(25).map((one, n) => ({ ...one, delayMs: delayMs && delayMs + n })))
      for (const dueAt of [scene.now + 2 * HOUR, scene.now + 3 * HOUR]) {
        const state = dueAt === scene.now + 2 * HOUR ? from : 'delayed'
        assert.deepEqual(
          await pages(scene, state, dueAt),
          samples(25).map(({ id }) => id),
        )
        assert.deepEqual(await pages(scene, 'delayed', dueAt), [])
      }
    })
  }

  test('moves a job of a lane out of the line and back', async (scene) => {
    await scene.limit({ laneConcurrency: 1 })
    await scene.insert(sample(1, { lane: 'a' }), sample(2, { lane: 'a' }), sample(3, { lane: 'b' }))
    await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now + HOUR })
    const taken = await scene.take()
    assert.deepEqual(idsOf(taken).sort(), [2, 3].map(idOf))
    const second = taken.find(({ id }) => id === idOf(2))

    // Its lane is full: it waits in its place.
    await scene.changeOne('reschedule', idOf(1), { dueAt: scene.now })
    assert.deepEqual(idsOf(await scene.take()), [])
    assert.deepEqual(await scene.states(idOf(1)), ['ready'])
    await scene.settle(second as ClaimedJob, verdict('done'))
    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
  })

  test('tells where the jobs that moved wait now, for hints', async (scene) => {
    await scene.insert(...samples(2), sample(4, { queue: OTHER_QUEUE, priority: 2 }))
    const moved = await scene.store.change({
      action: 'reschedule',
      space: SPACE,
      target: { ids: [1, 4].map(idOf) },
      failure: null,
      keepMs: 0,
      dueAt: scene.now + 5,
      now: scene.now,
    })

    assert.deepEqual(moved.waiting, [
      { queue: QUEUE, dueAt: scene.now + 5, rank: rankOf(scene.now + 5, 0) },
      { queue: OTHER_QUEUE, dueAt: scene.now + 5, rank: rankOf(scene.now + 5, 2) },
    ])
  })
}

async function pages(scene: Scene, state: 'ready' | 'delayed', dueAt: number): Promise<readonly string[]> {
  const changed: string[] = []
  let cursor: string | null = null
  let left = 100
  do {
    const reply: Awaited<ReturnType<typeof scene.store.change>> = await scene.store.change({
      action: 'reschedule',
      space: SPACE,
      target: { queue: QUEUE, state, limit: 4, cursor },
      failure: null,
      keepMs: 0,
      dueAt,
      now: scene.now,
    })
    changed.push(...idsOf(reply.results))
    cursor = reply.cursor
    left--
  } while (cursor !== null && left > 0)
  assert.ok(left > 0)
  return changed
}
