import assert from 'node:assert/strict'
import { chained, nextInChain } from '../../../core/flows/chains.ts'
import { DAY, idOf, SPACE, sample, unique, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { end, group, groupOf, make, members, outcomesOf, readGroup } from './group-samples.ts'

/** The place of a member in its group goes from job to job, and the group hears of the last. */
export function chainCases(test: StoreCase): void {
  test('hears of the job to which a member handed its place on, and not of that member', async (scene) => {
    await make(scene, [group(2)], members(2))
    const [job, other] = await scene.take()
    assert.ok(job && other)
    const next = sample(50, { member: { group: groupOf(1), n: 0 } })

    for (const keepMs of [DAY, null]) {
      // The second time it is a repetition.
      const settlement = {
        space: job.space,
        id: job.id,
        token: job.token,
        verdict: verdict('done', { keepMs }),
        enqueue: [next],
      }
      const { results } = await scene.store.settle({
        settlements: [{ ...settlement, handsOn: true }],
        now: scene.now,
      })
      assert.equal(results[0]?.status, 'ok')
    }
    await scene.settle(other, verdict('done'))
    assert.deepEqual(
      [(await readGroup(scene)).done, await outcomesOf(scene).then(({ length }) => length)],
      [1, 1],
    )
    const { members: open } = await scene.store.openMembers({
      space: SPACE,
      group: groupOf(1),
      from: 0,
      limit: 10,
    })
    assert.deepEqual(open, [{ n: 0, id: next.id, kind: 'job' }])

    // Whoever handed on is a member no more: to do it again changes nothing for the group.
    await scene.change('retry', { ids: [job.id] })
    await end(scene, 'done', 50)
    assert.equal((await readGroup(scene)).done, 2)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('is carried on once: a job of a chain that was done and is retried carries nothing', async (scene) => {
    const jobs = [1, 2].map((n) => sample(n))
    await make(scene, [group(1)], [chained(jobs, { group: groupOf(1), n: 0 })])
    const [job] = await scene.take()
    assert.ok(job)
    const next = nextInChain(job, '1')
    assert.equal(next?.id, idOf(2))

    await scene.settle(job, verdict('dead', { keepMs: DAY }))
    await scene.change('retry', { ids: [job.id] })
    const [again] = await scene.take()
    assert.equal(nextInChain(again as typeof job, '1')?.id, idOf(2))

    await scene.settle(again as typeof job, verdict('done', { keepMs: DAY }))
    await scene.change('retry', { ids: [job.id] })
    const [last] = await scene.take()
    assert.equal(nextInChain(last as typeof job, '1'), null)
  })

  test('hears of a place that many hand on at once, and of the end of one that could not', async (scene) => {
    await make(scene, [group(3, { need: 2 })], members(3))
    const jobs = await scene.take()
    await scene.insert(sample(99, { unique: unique('held') }))
    const settlements = jobs.map((job, n) => ({
      space: job.space,
      id: job.id,
      token: job.token,
      verdict: verdict('done', { keepMs: null }),
      enqueue: [
        sample(50 + n, { member: { group: groupOf(1), n }, unique: n === 2 ? unique('held') : null }),
      ],
      handsOn: true,
    }))

    const { results } = await scene.store.settle({ settlements, now: scene.now })

    const inserted = results.map((result) => result.status === 'ok' && result.inserted?.[0]?.status)
    assert.deepEqual(inserted, ['ok', 'ok', 'duplicate'])
    assert.deepEqual([(await readGroup(scene)).done, (await readGroup(scene)).failed], [0, 1])
    await end(scene, 'done', 50, 51)
    assert.deepEqual((await readGroup(scene)).fired, ['success', 'settled'])
  })
}
