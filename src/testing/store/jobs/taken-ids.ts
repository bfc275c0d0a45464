import assert from 'node:assert/strict'
import type { Run } from '../../../core/flows/runs.ts'
import type { ClaimedJob } from '../../../core/jobs/job.ts'
import { takenIn, takenRunsIn } from '../../../core/jobs/taken-ids.ts'
import { REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import { groupOf, group as groupSample, move, run, runOf } from '../flows/group-samples.ts'
import { HOUR, idOf, idsOf, OTHER_QUEUE, QUEUE, SPACE, sample, samples, unique, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

/** Ids that belong to jobs of other queues. */
export function takenCases(test: StoreCase): void {
  for (const state of ['delayed', 'ready', 'running', 'done', 'dead', 'cancelled'] as const) {
    test(`refuses a job whose id is that of a ${state} one in another queue`, async (scene) => {
      await scene.inState(sample(1), state)
      const before = await scene.job(idOf(1))

      for (const again of [false, true]) {
        const jobs = [sample(2), sample(1, { queue: OTHER_QUEUE }), sample(3, { queue: OTHER_QUEUE })]
        const refusal = await scene.store
          .insert({ jobs, again, now: scene.now })
          .catch((error: unknown) => error)

        assert.deepEqual(takenIn(refusal), [{ id: idOf(1), queue: QUEUE }])
        assert.match((refusal as Error).message, /jobIdOf/)
      }
      assert.deepEqual(await scene.states(idOf(2), idOf(3)), ['none', 'none'])
      assert.deepEqual(await scene.job(idOf(1)), before)
      const { queues } = await scene.store.counts({ space: SPACE, queues: [OTHER_QUEUE] })
      assert.ok(queues.every(({ states }) => Object.values(states).every((jobs) => jobs === 0)))
    })
  }

  test('refuses one id in two queues of one call', async (scene) => {
    const jobs = [sample(1), sample(2), sample(1, { queue: OTHER_QUEUE })]

    const refusal = await scene.store.insert({ jobs, now: scene.now }).catch((error: unknown) => error)

    assert.deepEqual(takenIn(refusal), [{ id: idOf(1), queue: QUEUE }])
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['none', 'none'])
  })

  test('takes no unique key, and changes no holder of one, for a call that is refused', async (scene) => {
    await scene.insert(sample(1), sample(2, { unique: unique('held'), delayMs: HOUR, queue: OTHER_QUEUE }))
    const other = { queue: OTHER_QUEUE }
    const replace = unique('held', { onConflict: 'replace' })

    const refused = [
      sample(3, { ...other, unique: unique('free') }),
      sample(4, { ...other, unique: replace, payload: '"new"' }),
      sample(1, other),
    ]
    await assert.rejects(scene.insert(...refused), { code: 'ID_TAKEN' })

    const [free] = await scene.insert(sample(5, { ...other, unique: unique('free') }))
    assert.equal(free?.status, 'ok')
    assert.equal((await scene.job(idOf(2))).payload, '{"n":2}')
  })

  test('says of a job that it was known, and of no other', async (scene) => {
    await scene.insert(sample(1))

    const results = await scene.insert(sample(1), sample(2), sample(3, { delayMs: HOUR }))

    assert.deepEqual(results, [
      { status: 'ok', state: 'ready', dueAt: scene.now, known: true },
      { status: 'ok', state: 'ready', dueAt: scene.now },
      { status: 'ok', state: 'delayed', dueAt: scene.now + HOUR },
    ])
  })

  test('remembers a removed job in its own queue alone', async (scene) => {
    for (const n of [1, 2]) await scene.ended(sample(n), verdict('done', { keepMs: null }))
    for (const n of [3, 4]) {
      await scene.insert(sample(n))
      assert.equal(await scene.changeOne('remove', idOf(n)), 'ok')
    }

    const same = await scene.insertAgain(sample(1), sample(3))
    const other = await scene.insertAgain(
      ...samples(2, { queue: OTHER_QUEUE }, 2),
      sample(4, { queue: OTHER_QUEUE }),
    )

    assert.deepEqual(
      same.map((result) => result.status === 'ok' && result.known),
      [true, true],
    )
    assert.deepEqual(
      other.map((result) => result.status === 'ok' && [result.state, result.known]),
      [
        ['ready', undefined],
        ['ready', undefined],
        ['ready', undefined],
      ],
    )
    assert.deepEqual(await scene.states(...[1, 2, 3, 4].map(idOf)), ['none', 'ready', 'ready', 'ready'])
  })

  test('forgets a removed job after a while, in its own queue too', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: null }))
    scene.pass(REMEMBER_DISCARDED_MS)
    await scene.prune()

    const [result] = await scene.insertAgain(sample(1))

    assert.deepEqual(result, { status: 'ok', state: 'ready', dueAt: scene.now })
  })

  test('refuses a settlement that enqueues a job with a taken id, and nothing of it happens', async (scene) => {
    await scene.insert(sample(9, { queue: OTHER_QUEUE }))
    const [one, two] = [await scene.running(sample(1)), await scene.running(sample(2))]
    const before = await scene.job(idOf(1))

    const results = await scene.settleAll([
      { ...held(one), verdict: verdict('done'), enqueue: [sample(3), sample(9)] },
      { ...held(two), verdict: verdict('done'), enqueue: [sample(4)] },
    ])

    const inserted = [{ status: 'ok', state: 'ready', dueAt: scene.now }]
    assert.deepEqual(results, [
      { status: 'refused', reason: 'taken', taken: [{ id: idOf(9), queue: OTHER_QUEUE }] },
      { status: 'ok', state: 'done', inserted },
    ])
    assert.deepEqual(await scene.states(...[2, 3, 4].map(idOf)), ['done', 'none', 'ready'])
    assert.deepEqual(await scene.job(idOf(1)), before)
    assert.equal((await scene.settle(one, verdict('delayed', { count: 'errors' }))).status, 'ok')
  })

  test('refuses so among many that end alike, and claims in the same call', async (scene) => {
    await scene.insert(sample(90, { queue: OTHER_QUEUE }), ...samples(8))
    const jobs = await scene.take({ limit: 7 })
    const { now: _, ...claim } = scene.call()

    const { results, claimed } = await scene.store.settle({
      settlements: jobs.map((job, n) => ({
        ...held(job),
        verdict: verdict('done', { keepMs: n % 2 ? null : HOUR }),
        enqueue: [sample(n === 3 || n === 4 ? 90 : 20 + n)],
        handsOn: true,
      })),
      claim,
      now: scene.now,
    })

    const refused = results.flatMap((result, n) => (result.status === 'refused' ? [[n, result.reason]] : []))
    assert.deepEqual(refused, [
      [3, 'taken'],
      [4, 'taken'],
    ])
    assert.equal(results.filter(({ status }) => status === 'ok').length, 5)
    assert.deepEqual(idsOf(claimed?.jobs ?? []), [8, 20, 21, 22, 25, 26].map(idOf))
    assert.deepEqual(await scene.states(idOf(4), idOf(5)), ['running', 'running'])
  })

  test('refuses the second of two settlements that enqueue one id in two queues', async (scene) => {
    const jobs = [await scene.running(sample(1)), await scene.running(sample(2))]

    const results = await scene.settleAll(
      jobs.map((job, n) => ({
        ...held(job),
        verdict: verdict('done'),
        enqueue: [sample(9, { queue: n === 0 ? QUEUE : OTHER_QUEUE })],
      })),
    )

    assert.deepEqual(
      results.map((result) => (result.status === 'refused' ? result.reason : result.status)),
      ['ok', 'taken'],
    )
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['done', 'running'])
    assert.equal((await scene.job(idOf(9))).queue, QUEUE)
  })

  test('tells a holder that lost its lease of that, whatever it enqueues', async (scene) => {
    await scene.insert(sample(9, { queue: OTHER_QUEUE }))
    const lost = await scene.running(sample(1))
    const early = await scene.running(sample(2))

    const results = await scene.settleAll([
      { space: SPACE, id: lost.id, token: scene.token(), verdict: verdict('done'), enqueue: [sample(9)] },
      { ...held(early), verdict: verdict('done'), enqueue: [sample(9)], onlyIfExpired: true },
    ])

    assert.deepEqual(results, [
      { status: 'refused', reason: 'lost' },
      { status: 'refused', reason: 'not-expired' },
    ])
  })

  test('lets a job that goes away hand its id to one in another queue', async (scene) => {
    const [gone, kept] = [await scene.running(sample(1)), await scene.running(sample(2))]

    const results = await scene.settleAll([
      {
        ...held(gone),
        verdict: verdict('done', { keepMs: null }),
        enqueue: [sample(1, { queue: OTHER_QUEUE })],
      },
      { ...held(kept), verdict: verdict('done'), enqueue: [sample(2, { queue: OTHER_QUEUE })] },
    ])

    assert.deepEqual(
      results.map((result) => (result.status === 'refused' ? result.reason : result.status)),
      ['ok', 'taken'],
    )
    assert.equal((await scene.job(idOf(1))).queue, OTHER_QUEUE)
    assert.equal(await scene.state(idOf(2)), 'running')
  })

  test('makes no group and no run with a job that is refused', async (scene) => {
    await scene.insert(sample(1))
    const group = groupSample(1)

    const call = {
      jobs: [sample(1, { queue: OTHER_QUEUE })],
      groups: [group],
      runs: [run(1)],
      now: scene.now,
    }
    await assert.rejects(scene.store.insert(call), { code: 'ID_TAKEN' })

    assert.deepEqual((await scene.store.getGroups({ space: SPACE, ids: [group.id] })).groups, [null])
    assert.deepEqual((await scene.store.getRuns({ space: SPACE, ids: [runOf(1)] })).runs, [null])
  })

  for (const status of ['running', 'done', 'failed', 'cancelled'] as const) {
    test(`refuses a run whose id is that of a ${status} one of another flow`, async (scene) => {
      await scene.store.insert({ jobs: [], runs: [run(1)], now: scene.now })
      const ends = status === 'running' ? { state: '{"begun":1}' } : { status, keepMs: HOUR }
      await scene.store.moveRuns({ moves: [move(1, 0, ends)], now: scene.now })
      const before = await runs(scene, 1)

      for (const again of [false, true]) {
        const call = { jobs: [sample(1)], groups: [groupSample(1)], again, now: scene.now }
        const made = [run(2), run(1, { flow: 'other' }), run(3, { flow: 'other' })]
        const refusal = await scene.store.insert({ ...call, runs: made }).catch((error: unknown) => error)

        assert.deepEqual(takenRunsIn(refusal), [{ id: runOf(1), flow: 'access' }])
        assert.deepEqual(takenIn(refusal), [])
        assert.match((refusal as Error).message, /a run of flow "access"/)
      }
      assert.deepEqual(await runs(scene, 1), before)
      assert.deepEqual(await runs(scene, 2, 3), [null, null])
      assert.deepEqual((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups, [null])
      assert.equal(await scene.find(idOf(1)), null)
    })
  }

  test('refuses one id for runs of two flows in one call', async (scene) => {
    const made = [run(1), run(2), run(1, { flow: 'other' })]

    await assert.rejects(scene.store.insert({ jobs: [], runs: made, now: scene.now }), { code: 'ID_TAKEN' })

    assert.deepEqual(await runs(scene, 1, 2), [null, null])
  })

  test('says of a run that it was known, also of another version of its flow, and of no other', async (scene) => {
    const first = await scene.store.insert({ jobs: [], runs: [run(1), run(2)], now: scene.now })
    assert.equal(first.knownRuns, undefined)
    await scene.store.moveRuns({ moves: [move(2, 0, { status: 'done', keepMs: HOUR })], now: scene.now })
    const before = await runs(scene, 1, 2)

    const made = [run(3), run(1, { version: 2 }), run(4, { attributes: ['a:1'] }), run(4), run(2)]
    const { knownRuns } = await scene.store.insert({
      jobs: [sample(1)],
      runs: made,
      again: true,
      now: scene.now,
    })

    assert.deepEqual(knownRuns, [1, 3, 4])
    assert.deepEqual(await runs(scene, 1, 2), before)
    assert.deepEqual((await runs(scene, 4))[0]?.attributes, ['a:1'])
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('lets another space have the id of a run', async (scene) => {
    await scene.store.insert({ jobs: [], runs: [run(1)], now: scene.now })

    const { knownRuns } = await scene.store.insert({
      jobs: [],
      runs: [run(1, { space: 'other', flow: 'other' })],
      now: scene.now,
    })

    assert.equal(knownRuns, undefined)
  })
}

async function runs(scene: Scene, ...ns: readonly number[]): Promise<readonly (Run | null)[]> {
  return (await scene.store.getRuns({ space: SPACE, ids: ns.map(runOf) })).runs
}

function held({ space, id, token }: ClaimedJob): Pick<ClaimedJob, 'space' | 'id' | 'token'> {
  return { space, id, token }
}
