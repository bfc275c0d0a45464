import assert from 'node:assert/strict'
import { idOf, idsOf, MINUTE, OTHER_QUEUE, sample, samples, verdict } from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'

/** Claims by id, as workers with notices make them: the same guard as ever, and no search. */
export function claimNamedCases(test: StoreCase): void {
  test('takes named jobs of several queues in one claim, source by source', async (scene) => {
    await scene.insert(...samples(3), ...samples(3, { queue: OTHER_QUEUE }, 11))

    const reply = await scene.claim({
      sources: [source({ limit: 2 }), source({ queue: OTHER_QUEUE, limit: 1 })],
      limit: 3,
      ids: [idOf(12), idOf(3), idOf(1)],
    })

    assert.deepEqual(idsOf(reply.jobs).toSorted(), [idOf(1), idOf(3), idOf(12)])
    assert.equal(reply.nextDueAt, null)
    assert.deepEqual(await scene.states(idOf(2), idOf(11), idOf(13)), ['ready', 'ready', 'ready'])
  })

  test('leaves named jobs of a held queue as they are, and says when a hold ends that ends by itself', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: MINUTE / 2 }))
    const { until } = await scene.hold('pause', { forMs: MINUTE })
    scene.pass(MINUTE / 2)
    const ids = [idOf(1), idOf(2)]

    const held = await scene.claim({ ids, limit: 2 })
    scene.pass(MINUTE / 2)
    const later = await scene.claim({ ids, limit: 2 })

    assert.deepEqual(held, { jobs: [], nextDueAt: until, now: scene.now - MINUTE / 2 })
    assert.deepEqual(idsOf(later.jobs), ids)
  })

  test('takes the named jobs of other queues beside one that is held', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))
    await scene.hold('block')

    const jobs = await scene.take({
      ids: [idOf(1), idOf(2)],
      sources: [source(), source({ queue: OTHER_QUEUE })],
    })

    assert.deepEqual(idsOf(jobs), [idOf(2)])
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('says when to look again if not all that were named could be taken', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: MINUTE }))

    const some = await scene.claim({ ids: [idOf(1), idOf(2)], limit: 2 })
    const none = await scene.claim({ ids: [idOf(9)], limit: 1 })

    assert.deepEqual([idsOf(some.jobs), some.nextDueAt], [[idOf(1)], scene.now + MINUTE])
    assert.deepEqual([none.jobs, none.nextDueAt], [[], scene.now + MINUTE])
  })

  test('tells of limits in the answer to a claim by ids, and keeps to them', async (scene) => {
    await scene.limit({ concurrency: 2 })
    await scene.insert(...samples(4), sample(11, { queue: OTHER_QUEUE }))
    const sources = [source({ queue: OTHER_QUEUE }), source()]

    const first = await scene.claim({ ids: [idOf(4), idOf(2), idOf(1), idOf(11)], sources })
    const second = await scene.claim({ ids: [idOf(3)] })

    assert.equal(first.jobs.length, 3)
    assert.deepEqual(first.limited, [1])
    assert.deepEqual([second.jobs, second.limited], [[], [0]])
  })

  test('claims by id along with settlements, and gives what the settlement made ready', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.insert(...samples(3, {}, 2))
    const { now, ...claim } = scene.call({ ids: [idOf(1), idOf(3)], limit: 2 })

    const settlements = [{ space: held.space, id: held.id, token: held.token, verdict: verdict('ready') }]
    const { results, claimed } = await scene.store.settle({ settlements, claim, now })

    assert.deepEqual(results, [{ status: 'ok', state: 'ready' }])
    assert.deepEqual(idsOf(claimed?.jobs ?? []).toSorted(), [idOf(1), idOf(3)])
    assert.deepEqual(await scene.states(idOf(2), idOf(4)), ['ready', 'ready'])
  })

  test('takes named jobs whatever their rank, and leaves the others in their order', async (scene) => {
    await scene.insert(sample(1), sample(2, { priority: -5 }), sample(3, { priority: 5 }), sample(4))

    const named = await scene.take({ ids: [idOf(2), idOf(4)], limit: 2 })

    assert.deepEqual(idsOf(named).toSorted(), [idOf(2), idOf(4)])
    assert.deepEqual(idsOf(await scene.take()), [idOf(3), idOf(1)])
  })

  test('gives the named jobs to a repeated claim that its first call took', async (scene) => {
    await scene.insert(...samples(3))
    const call = scene.call({ ids: [idOf(2), idOf(3)], limit: 2 })
    await scene.store.claim(call)

    const again = await scene.claim({ ...call, again: true })

    assert.deepEqual(idsOf(again.jobs), [idOf(2), idOf(3)])
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('names hundreds at once', async (scene) => {
    const jobs = samples(500)
    await scene.insert(...jobs)

    const taken = await scene.take({ ids: idsOf(jobs), limit: 500 })

    assert.deepEqual(idsOf(taken).toSorted(), idsOf(jobs))
  })

  test('shares named jobs among claimers that name the same ones', async (scene) => {
    const jobs = samples(40)
    await scene.insert(...jobs)

    const batches = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        scene.take({ ids: idsOf(jobs), limit: 10, workerId: `worker-${n}` }),
      ),
    )
    const rest = await scene.take({ ids: idsOf(jobs) })

    assert.deepEqual([...batches.flat(), ...rest].map(({ id }) => id).toSorted(), idsOf(jobs))
  })
}
