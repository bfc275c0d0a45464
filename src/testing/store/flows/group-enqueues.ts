import assert from 'node:assert/strict'
import { DAY, failure, idOf, OTHER_QUEUE, SPACE, sample, unique, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { end, group, groupOf, make, members, outcomesOf, readGroup } from './group-samples.ts'

/** What groups enqueue, what they tell of it, and what unique keys and schedules do to it. */
export function groupEnqueueCases(test: StoreCase): void {
  test('tells of the queues in which it has enqueued, with the settlement that fired it', async (scene) => {
    const jobs = { success: sample(1_000, { queue: OTHER_QUEUE }) }
    await make(scene, [group(1, { jobs })], members(1))
    const [job] = await scene.take()
    assert.ok(job)

    const settlements = [{ space: job.space, id: job.id, token: job.token, verdict: verdict('done') }]
    const reply = await scene.store.settle({ settlements, now: scene.now })

    assert.deepEqual(
      reply.enqueued?.map(({ space, queue, dueAt }) => [space, queue, dueAt]),
      [[SPACE, OTHER_QUEUE, scene.now]],
    )
  })

  test('counts a member whose unique key is held by another as one that has ended', async (scene) => {
    await scene.insert(sample(99, { unique: unique('a') }))
    const [first, second] = members(2)
    await make(
      scene,
      [group(2, { need: 0, jobs: { settled: sample(1_000) } })],
      [
        { ...(first as NonNullable<typeof first>), unique: unique('a') },
        second as NonNullable<typeof second>,
      ],
    )

    const [outcome] = await outcomesOf(scene)
    assert.deepEqual([outcome?.n, outcome?.state], [0, 'cancelled'])
    assert.deepEqual(JSON.parse(outcome?.failure ?? ''), {
      kind: 'duplicate',
      message: `Its unique key is held by job "${idOf(99)}".`,
    })
    await end(scene, 'done', 2)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('counts such a member once, however often it is sent', async (scene) => {
    await scene.insert(sample(99, { unique: unique('a') }))
    const jobs = members(1, groupOf(1), 1, { unique: unique('a') })
    const groups = [group(2, { jobs: { settled: sample(1_000) } })]

    for (let n = 0; n < 3; n++) await scene.store.insert({ jobs, groups, again: n > 0, now: scene.now })

    assert.equal((await readGroup(scene)).failed, 1)
    assert.equal(await scene.state(idOf(1_000)), 'none')
  })

  test('enqueues once, also when what it enqueued is long gone', async (scene) => {
    await make(scene, [group(3, { need: 1 })], members(3))
    await end(scene, 'done', 1)
    const [job] = await scene.take({ ids: [idOf(1_000)] })
    assert.ok(job)
    await scene.settle(job, verdict('done', { keepMs: null }))
    scene.pass(DAY)
    await scene.prune()

    await end(scene, 'done', 2)
    await end(scene, 'dead', 3)

    assert.equal(await scene.state(idOf(1_000)), 'none')
  })

  test('enqueues a job with the key that its last member held', async (scene) => {
    const key = { unique: unique('a') }
    await make(scene, [group(1, { jobs: { success: sample(1_000, key) } })], members(1, groupOf(1), 1, key))

    await end(scene, 'done', 1)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('counts a job that another group enqueues in vain, and fires for it in the same call', async (scene) => {
    await scene.insert(sample(99, { unique: unique('a'), queue: OTHER_QUEUE }))
    const link = sample(1_000, {
      unique: unique('a'),
      queue: OTHER_QUEUE,
      member: { group: groupOf(2), n: 0 },
    })
    const groups = [
      group(1, { jobs: { success: link } }),
      group(1, { id: groupOf(2), jobs: { failure: sample(1_001), settled: sample(1_002) } }),
    ]
    await make(scene, groups, members(1))

    await end(scene, 'done', 1)

    assert.deepEqual(await scene.states(...[1_000, 1_001, 1_002].map(idOf)), ['none', 'ready', 'ready'])
    const [outcome] = await outcomesOf(scene, groupOf(2))
    assert.deepEqual([outcome?.id, outcome?.state], [idOf(1_000), 'cancelled'])
  })

  test('tells of a job that it has replaced instead of enqueuing another', async (scene) => {
    const replacing = { unique: unique('a', { onConflict: 'replace' }), queue: OTHER_QUEUE }
    await scene.insert(sample(99, { ...replacing, delayMs: DAY }))
    await make(scene, [group(1, { jobs: { success: sample(1_000, replacing) } })], members(1))
    const [job] = await scene.take({ ids: [idOf(1)] })
    assert.ok(job)

    const settlements = [{ space: job.space, id: job.id, token: job.token, verdict: verdict('done') }]
    const reply = await scene.store.settle({ settlements, now: scene.now })

    assert.deepEqual(
      reply.enqueued?.map(({ queue, dueAt }) => [queue, dueAt]),
      [[OTHER_QUEUE, scene.now]],
    )
    assert.deepEqual(await scene.states(idOf(99), idOf(1_000)), ['ready', 'none'])
  })

  test('says nothing of a job that it could not enqueue', async (scene) => {
    const held = { unique: unique('a'), queue: OTHER_QUEUE }
    await scene.insert(sample(99, held))
    await make(scene, [group(1, { jobs: { success: sample(1_000, held) } })], members(1))
    const [job] = await scene.take({ ids: [idOf(1)] })
    assert.ok(job)

    const settlements = [{ space: job.space, id: job.id, token: job.token, verdict: verdict('done') }]
    const reply = await scene.store.settle({ settlements, now: scene.now })

    assert.equal(reply.enqueued, undefined)
    assert.deepEqual((await readGroup(scene)).fired, ['success', 'settled'])
  })

  test('counts a member that a schedule replaces, and tells of what it enqueued', async (scene) => {
    const jobs = { settled: sample(1_000, { queue: OTHER_QUEUE }) }
    await make(scene, [group(1, { need: 0, jobs })], [])
    const nightly = { space: SPACE, id: 'nightly', revision: 'a' }
    const put = { ...nightly, spec: '{}', dynamic: false, declaredBy: null, nextAt: scene.now, expect: null }
    await scene.store.putSchedules({ schedules: [put], now: scene.now })
    const fire = { ...nightly, skipped: 0, failure: failure('too long'), keepMs: DAY }
    const due = { slot: scene.now, upTo: scene.now, nextAt: scene.now + 1_000 }
    await scene.store.fireSchedules({
      fires: [{ ...fire, ...due, jobs: members(1), overlap: 'allow' }],
      now: scene.now,
    })
    scene.pass(1_000)
    const next = { slot: scene.now, upTo: scene.now, nextAt: null }

    const reply = await scene.store.fireSchedules({
      fires: [{ ...fire, ...next, jobs: [sample(2)], overlap: 'replace' }],
      now: scene.now,
    })

    assert.deepEqual(
      reply.enqueued?.map(({ queue, dueAt }) => [queue, dueAt]),
      [[OTHER_QUEUE, scene.now]],
    )
    assert.equal((await outcomesOf(scene))[0]?.state, 'cancelled')
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })
}
