import assert from 'node:assert/strict'
import type { JobState } from '../../core/job.ts'
import { auditStore } from '../invariants.ts'
import {
  HOUR,
  idOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  unique,
  verdict,
} from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

/** The states of a queue that are not zero. */
async function countsOf(
  scene: Scene,
  queue: string,
  space: string = SPACE,
): Promise<Partial<Record<JobState, number>>> {
  const { queues } = await scene.store.counts({ space })
  const states: Partial<Record<JobState, number>> =
    queues.find((entry) => entry.queue === queue)?.states ?? {}
  return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0))
}

export function countsCases(test: StoreCase): void {
  test('counts nothing where nothing is', async (scene) => {
    assert.deepEqual(await countsOf(scene, QUEUE), {})
  })

  test('counts each queue of a space by itself', async (scene) => {
    await scene.insert(
      ...samples(3),
      sample(4, { delayMs: HOUR }),
      sample(5, { queue: OTHER_QUEUE }),
      sample(6, { space: OTHER_SPACE }),
    )

    assert.deepEqual(await countsOf(scene, QUEUE), { ready: 3, delayed: 1 })
    assert.deepEqual(await countsOf(scene, OTHER_QUEUE), { ready: 1 })
    assert.deepEqual(await countsOf(scene, QUEUE, OTHER_SPACE), { ready: 1 })
    assert.deepEqual(await countsOf(scene, OTHER_QUEUE, OTHER_SPACE), {})
  })

  test('counts only the queues asked for', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))

    const { queues } = await scene.store.counts({ space: SPACE, queues: [OTHER_QUEUE] })

    assert.deepEqual(
      queues.map(({ queue, states }) => [queue, states.ready]),
      [[OTHER_QUEUE, 1]],
    )
  })

  test('tells the due time of the ready job that is next', async (scene) => {
    const oldest = async (): Promise<number | null> => {
      const { queues } = await scene.store.counts({ space: SPACE })
      return queues.find(({ queue }) => queue === QUEUE)?.oldestDueAt ?? null
    }
    await scene.insert(sample(1, { delayMs: HOUR }))
    const before = await oldest()
    scene.pass(MINUTE)
    await scene.insert(sample(2))
    scene.pass(MINUTE)
    await scene.insert(sample(3, { priority: 5 }))
    const both = await oldest()
    await scene.take({ ids: [idOf(3)] })
    const one = await oldest()
    await scene.take()

    assert.deepEqual([before, both, one, await oldest()], [null, START + 2 * MINUTE, START + MINUTE, null])
  })

  test('agrees with the jobs after every step of many lives', async (scene) => {
    const queues = [QUEUE, OTHER_QUEUE]
    const check = async (expected: Partial<Record<JobState, number>>): Promise<void> => {
      assert.deepEqual(await countsOf(scene, QUEUE), expected)
      await auditStore(scene.store, { [SPACE]: queues, [OTHER_SPACE]: queues }, scene.now)
    }

    await scene.insert(...samples(8), ...samples(2, { delayMs: MINUTE }, 11))
    await check({ ready: 8, delayed: 2 })
    await scene.insert(sample(1), sample(20, { unique: unique('k') }), sample(21, { unique: unique('k') }))
    await check({ ready: 9, delayed: 2 })
    await scene.insert(sample(22, { delayMs: HOUR, unique: unique('k', { onConflict: 'replace' }) }))
    await check({ ready: 8, delayed: 3 })
    scene.pass(MINUTE)
    const held = await scene.take({ limit: 6 })
    await check({ ready: 4, delayed: 1, running: 6 })
    const verdicts = [
      verdict('done'),
      verdict('done', { keepMs: null }),
      verdict('failed'),
      verdict('dead'),
      verdict('ready'),
      verdict('delayed'),
    ]
    await scene.settleAll(
      held.map(({ id, token }, n) => ({ id, token, verdict: verdicts[n] ?? verdict('done') })),
    )
    await check({ ready: 5, delayed: 2, done: 1, failed: 1, dead: 1 })
    await scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 2 })
    await check({ ready: 3, delayed: 2, done: 1, failed: 1, dead: 1, cancelled: 2 })
    await scene.change('redrive', { queue: QUEUE, state: 'dead', limit: 9 })
    await scene.change('promote', { queue: QUEUE, state: 'delayed', limit: 1 })
    await scene.change('remove', { queue: QUEUE, state: 'cancelled', limit: 1 })
    await check({ ready: 5, delayed: 1, done: 1, failed: 1, cancelled: 1 })
    scene.pass(30 * 24 * HOUR)
    await scene.prune()
    await check({ ready: 5, delayed: 1 })
  })

  test('counts right when many change the same queue at once', async (scene) => {
    await scene.insert(...samples(40))

    await Promise.all([
      scene.insert(...samples(20, {}, 101)),
      scene.insert(...samples(20, { delayMs: HOUR }, 201)),
      scene
        .take({ limit: 10 })
        .then((held) =>
          scene.settleAll(held.map(({ id, token }) => ({ id, token, verdict: verdict('done') }))),
        ),
      scene.take({ limit: 10 }),
      scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 10 }),
    ])

    const counts = await countsOf(scene, QUEUE)
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    assert.equal(total, 80)
    assert.equal(counts.delayed, 20)
  })
}
