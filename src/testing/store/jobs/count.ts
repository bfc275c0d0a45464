import assert from 'node:assert/strict'
import { JOB_STATES, type JobState } from '../../../core/jobs/job.ts'
import type { Where } from '../../../store/store.ts'
import {
  HOUR,
  idsOf,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  verdict,
} from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

export function countCases(test: StoreCase): void {
  const count = async (scene: Scene, state: JobState, where?: Where): Promise<number> => {
    const call = { space: SPACE, queue: QUEUE, state, ...(where === undefined ? {} : { where }) }
    return (await scene.store.count(call)).count
  }

  test('counts the jobs of one queue in one state', async (scene) => {
    for (const [n, state] of JOB_STATES.entries()) await scene.inState(sample(n + 1), state)
    await scene.insert(sample(20, { queue: OTHER_QUEUE }), sample(21, { space: OTHER_SPACE }), sample(22))

    for (const state of JOB_STATES) assert.equal(await count(scene, state), state === 'ready' ? 2 : 1, state)
    const none = await scene.store.count({ space: SPACE, queue: 'nothing', state: 'ready' })
    assert.equal(none.count, 0)
  })

  test('counts what a list with the same filter shows', async (scene) => {
    for (const n of [1, 2, 3]) {
      await scene.inState(sample(n), 'done')
      await scene.inState(sample(n + 10, { payload: `"é%_${n}"` }), 'dead')
      await scene.insert(sample(n + 20, { priority: n }), sample(n + 30, { delayMs: n * HOUR }))
      await scene.running(sample(n + 40))
      scene.pass(10)
    }
    const wheres: Where[] = [
      {},
      { after: START + 10 },
      { before: START + 20 },
      { after: START + 10, before: START + 11 },
      { after: START + HOUR, before: START + 3 * HOUR },
      { lane: '' },
      { lane: 'none' },
      { text: 'é%' },
      { text: '3' },
      { after: START + HOUR + 1, text: '3' },
    ]

    for (const where of wheres) {
      for (const state of JOB_STATES) {
        const listed = await scene.list(state, { where })
        const about = `${state} ${JSON.stringify(where)}`
        assert.equal(await count(scene, state, where), listed.length, about)
        const capped = await scene.store.count({ space: SPACE, queue: QUEUE, state, where, limit: 2 })
        assert.equal(capped.count, Math.min(2, listed.length), about)
      }
    }
  })

  test('looks at the first so many jobs of the list, if that is all it may', async (scene) => {
    await scene.insert(
      sample(1, { priority: 5 }),
      sample(2, { lane: 'b' }),
      sample(3, { lane: 'a', strict: true }),
    )
    scene.pass(10)
    await scene.insert(sample(4), sample(5, { lane: 'a' }), sample(6, { lane: 'b' }))
    for (const n of [11, 12, 13]) {
      scene.pass(10)
      await scene.inState(sample(n, { lane: n === 12 ? 'a' : null }), 'done')
      await scene.insert(sample(n + 10, { delayMs: n * HOUR, lane: n === 12 ? 'a' : null }))
    }
    const wheres: Where[] = [
      {},
      { after: START + 10 },
      { before: START + 10 },
      { lane: '' },
      { lane: 'a' },
      { after: START + 30, before: START + 13 * HOUR, lane: '' },
    ]

    for (const state of ['ready', 'delayed', 'done', 'dead', 'running'] as const) {
      const all = idsOf(await scene.list(state))
      for (const where of wheres) {
        const fitting = idsOf(await scene.list(state, { where }))
        for (const look of [1, 2, 4, 100]) {
          const looked = all.slice(0, look)
          const found = looked.filter((id) => fitting.includes(id)).length
          const call = { space: SPACE, queue: QUEUE, state, where, look }
          const about = `${look} of ${state} ${JSON.stringify(where)}`
          assert.deepEqual(await scene.store.count(call), { count: found, looked: looked.length }, about)
          const { count } = await scene.store.count({ ...call, limit: 1 })
          assert.equal(count, Math.min(1, found), about)
        }
      }
    }
    const none = await scene.store.count({ space: SPACE, queue: 'nothing', state: 'ready', look: 5 })
    assert.deepEqual(none, { count: 0, looked: 0 })
  })

  test('finds a text in the failure as well', async (scene) => {
    await scene.ended(sample(1), verdict('dead', { failure: '{"kind":"error","message":"no route"}' }))
    await scene.inState(sample(2), 'dead')

    assert.equal(await count(scene, 'dead', { text: 'no route' }), 1)
  })

  test('counts more jobs than one step or page holds', async (scene) => {
    await scene.insert(...samples(4_500))

    assert.equal(await count(scene, 'ready'), 4_500)
    assert.equal(await count(scene, 'ready', { text: '"n":4500' }), 1)
    assert.equal(await count(scene, 'ready', { text: '"n":' }), 4_500)
  })
}
