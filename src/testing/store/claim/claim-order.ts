import assert from 'node:assert/strict'
import { PRIORITY_STEP_MS, rankOf } from '../../../core/jobs/job.ts'
import { PROMOTE_LIMIT } from '../../../store/store.ts'
import { HOUR, idOf, idsOf, MINUTE, OTHER_QUEUE, START, sample, samples, verdict } from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'

export function claimOrderCases(test: StoreCase): void {
  test('takes jobs first in, first out', async (scene) => {
    for (const n of [2, 1, 3]) {
      await scene.insert(sample(n))
      scene.pass(1)
    }

    assert.deepEqual(idsOf(await scene.take()), [idOf(2), idOf(1), idOf(3)])
  })

  test('takes jobs of the same moment by id', async (scene) => {
    await scene.insert(sample(3), sample(1), sample(2))

    assert.deepEqual(idsOf(await scene.take()), [idOf(1), idOf(2), idOf(3)])
  })

  test('takes the higher priority first', async (scene) => {
    await scene.insert(
      sample(1),
      sample(2, { priority: -1 }),
      sample(3, { priority: 100 }),
      sample(4, { priority: 1 }),
      sample(5, { priority: -100 }),
    )

    assert.deepEqual(idsOf(await scene.take()), [3, 4, 1, 2, 5].map(idOf))
  })

  test('lets a job that has waited long enough go before a higher priority', async (scene) => {
    await scene.insert(sample(9))
    scene.pass(PRIORITY_STEP_MS - 1)
    await scene.insert(sample(2, { priority: 1 }))
    scene.pass(1)
    await scene.insert(sample(3, { priority: 1 }))
    scene.pass(1)
    await scene.insert(sample(1, { priority: 1 }))

    // Number 3 has the very rank of number 9, so the lower id decides.
    assert.deepEqual(idsOf(await scene.take()), [2, 3, 9, 1].map(idOf))
  })

  test('orders a delayed job by its due time, not by its insert', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }), sample(2, { delayMs: MINUTE / 2 }))
    scene.pass(MINUTE * 0.75)
    await scene.insert(sample(3))
    scene.pass(MINUTE)

    assert.deepEqual(idsOf(await scene.take()), [2, 3, 1].map(idOf))
  })

  test('never hands out a delayed job early', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }), sample(2, { runAt: START + MINUTE, priority: 100 }))

    scene.pass(MINUTE - 1)
    const early = await scene.take()
    scene.pass(1)
    const due = await scene.take()

    assert.deepEqual(early, [])
    assert.deepEqual(idsOf(due), [idOf(2), idOf(1)])
  })

  test('tells when the next delayed job of its sources is due', async (scene) => {
    await scene.insert(
      sample(1),
      sample(2, { delayMs: HOUR }),
      sample(3, { delayMs: MINUTE }),
      sample(4, { queue: OTHER_QUEUE, delayMs: 1 }),
    )

    const one = await scene.claim()
    const two = await scene.claim({ sources: [source(), source({ queue: OTHER_QUEUE })] })

    assert.deepEqual([one.jobs.length, one.nextDueAt], [1, START + MINUTE])
    assert.deepEqual([two.jobs.length, two.nextDueAt], [0, START + 1])
  })

  test('tells no due time when it found as many jobs as it may take', async (scene) => {
    await scene.insert(...samples(2), sample(3, { delayMs: MINUTE }))

    const full = await scene.claim({ limit: 2 })

    assert.deepEqual([full.jobs.length, full.nextDueAt], [2, null])
  })

  test('does not tell of jobs that are due and ready already', async (scene) => {
    await scene.insert(...samples(2, { delayMs: MINUTE }))
    scene.pass(MINUTE)
    await scene.claim({ limit: 1 })

    const reply = await scene.claim()

    assert.deepEqual([idsOf(reply.jobs), reply.nextDueAt], [[idOf(2)], null])
  })

  test('makes a limited number of due jobs ready per claim, those due first', async (scene) => {
    const early = samples(PROMOTE_LIMIT, { payload: '0', delayMs: 1 }, 100)
    await scene.insert(...early.slice(0, 500))
    await scene.insert(...early.slice(500), sample(1, { delayMs: 2 }))
    scene.pass(MINUTE)

    const first = await scene.claim({
      limit: PROMOTE_LIMIT + 5,
      sources: [source({ limit: PROMOTE_LIMIT + 5 })],
    })
    const second = await scene.claim()

    assert.equal(first.jobs.length, PROMOTE_LIMIT)
    assert.equal(first.nextDueAt, START + 2)
    assert.deepEqual(idsOf(second.jobs), [idOf(1)])
  })

  test('puts a job that is handed back where it was, and a retried one behind', async (scene) => {
    await scene.insert(...samples(2))
    const [one, two] = await scene.take()
    assert.ok(one && two)
    scene.pass(MINUTE)
    await scene.insert(sample(3))
    scene.pass(MINUTE)

    await scene.settle(two, verdict('ready', { keepPlace: true, refund: true }))
    await scene.settle(one, verdict('ready', { count: 'errors' }))

    assert.deepEqual(idsOf(await scene.take()), [2, 3, 1].map(idOf))
  })

  test('finds the same jobs whatever rank a hint told of', async (scene) => {
    await scene.insert(...samples(3))
    scene.pass(MINUTE)
    await scene.take({ limit: 1 })
    await scene.insert(sample(4, { priority: 5 }), sample(5))

    const hinted = await scene.take({ sources: [source({ hintedRank: scene.now })], limit: 2 })
    const rest = await scene.take({ sources: [source({ hintedRank: rankOf(scene.now, 5) })] })

    assert.deepEqual(idsOf(hinted), [4, 2].map(idOf))
    assert.deepEqual(idsOf(rest), [3, 5].map(idOf))
  })
}
