import assert from 'node:assert/strict'
import type { Job, JobState } from '../../../core/jobs/job.ts'
import { listAll } from '../../invariants.ts'
import {
  failure,
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
import { type StoreCase, source } from '../scene.ts'

export function listCases(test: StoreCase): void {
  test('lists ready jobs as they will be claimed', async (scene) => {
    await scene.insert(sample(3), sample(1, { priority: -5 }), sample(4, { priority: 2 }))
    scene.pass(MINUTE)
    await scene.insert(sample(2))

    const listed = idsOf(await scene.list('ready'))

    assert.deepEqual(listed, [4, 3, 2, 1].map(idOf))
    assert.deepEqual(idsOf(await scene.take()), listed)
  })

  test('lists delayed jobs by their due time, whatever their priority', async (scene) => {
    await scene.insert(
      sample(1, { delayMs: HOUR, priority: 100 }),
      sample(2, { delayMs: MINUTE }),
      sample(3, { delayMs: MINUTE, priority: -100 }),
    )

    assert.deepEqual(idsOf(await scene.list('delayed')), [2, 3, 1].map(idOf))
  })

  test('lists running jobs by their start', async (scene) => {
    for (const n of [3, 1, 2]) {
      await scene.running(sample(n), { leaseMs: n * 1_000 })
      if (n !== 1) scene.pass(1)
    }

    assert.deepEqual(idsOf(await scene.list('running')), [3, 1, 2].map(idOf))
  })

  for (const state of ['done', 'failed', 'dead', 'cancelled'] as const) {
    test(`lists ${state} jobs, the newest first`, async (scene) => {
      await scene.inState(sample(1), state)
      await scene.inState(sample(4), state)
      scene.pass(1)
      await scene.inState(sample(3), state)
      scene.pass(1)
      await scene.inState(sample(2), state)

      assert.deepEqual(idsOf(await scene.list(state)), [2, 3, 4, 1].map(idOf))
    })
  }

  test('lists the jobs of one space, queue and state', async (scene) => {
    await scene.insert(
      sample(1),
      sample(2, { queue: OTHER_QUEUE }),
      sample(3, { space: OTHER_SPACE }),
      sample(4, { delayMs: HOUR }),
    )

    assert.deepEqual(idsOf(await scene.list('ready')), [idOf(1)])
    assert.deepEqual(idsOf(await scene.list('ready', { queue: OTHER_QUEUE })), [idOf(2)])
    assert.deepEqual(idsOf(await scene.list('ready', { space: OTHER_SPACE })), [idOf(3)])
    assert.deepEqual(await scene.list('dead'), [])
    assert.deepEqual(await scene.list('ready', { queue: 'unknown' }), [])
  })

  test('gives a cursor as long as there is more, and none with the last page', async (scene) => {
    await scene.insert(...samples(4))
    const page = { space: SPACE, queue: QUEUE, state: 'ready', limit: 2 } as const

    const first = await scene.store.list({ ...page, cursor: null })
    const second = await scene.store.list({ ...page, cursor: first.cursor })

    assert.deepEqual(
      [first, second].map(({ jobs }) => idsOf(jobs)),
      [
        [idOf(1), idOf(2)],
        [idOf(3), idOf(4)],
      ],
    )
    assert.equal(typeof first.cursor, 'string')
    assert.equal(second.cursor, null)
  })

  for (const state of ['ready', 'delayed', 'running', 'done'] as const) {
    test(`pages through ${state} jobs of equal and different times without gap or repeat`, async (scene) => {
      const delayMs = state === 'delayed' ? HOUR : 0
      for (let n = 1; n <= 12; n++) {
        const job = sample(n % 2 ? n : 100 - n, { delayMs, priority: n % 3 })
        if (state === 'ready' || state === 'delayed') await scene.insert(job)
        else await scene.inState(job, state)
        if (n % 4 === 0) scene.pass(1)
      }
      const whole = await listAll(scene.store, { space: SPACE, queue: QUEUE, state }, 200)

      for (const pageJobs of [1, 2, 3, 5, 11, 12, 13]) {
        const paged = await listAll(scene.store, { space: SPACE, queue: QUEUE, state }, pageJobs)
        assert.deepEqual(idsOf(paged), idsOf(whole))
      }
    })
  }

  test('goes on where a page ended although its jobs have moved meanwhile', async (scene) => {
    await scene.insert(...samples(6))
    const page = { space: SPACE, queue: QUEUE, state: 'ready', limit: 2 } as const

    const first = await scene.store.list({ ...page, cursor: null })
    await scene.take({ ids: [idOf(1), idOf(2), idOf(4)] })
    await scene.insert(sample(9))
    const second = await scene.store.list({ ...page, cursor: first.cursor })
    await scene.change('remove', { ids: [idOf(5), idOf(6)] })
    const third = await scene.store.list({ ...page, cursor: second.cursor })

    assert.deepEqual(
      [first, second, third].map(({ jobs }) => idsOf(jobs)),
      [[idOf(1), idOf(2)], [idOf(3), idOf(5)], [idOf(9)]],
    )
  })

  test('shows every field of a job, in every state', async (scene) => {
    const states: JobState[] = ['delayed', 'ready', 'running', 'done', 'failed', 'dead', 'cancelled']
    for (const [n, state] of states.entries()) await scene.inState(sample(n + 1), state)

    const listed: Job[] = []
    for (const state of states) listed.push(...(await scene.list(state)))

    const { jobs } = await scene.store.get({ space: SPACE, ids: states.map((_, n) => idOf(n + 1)) })
    assert.deepEqual(listed, jobs)
  })

  test('filters by due, start or finish time, the beginning included and the end not', async (scene) => {
    const where = { after: START + MINUTE, before: START + 3 * MINUTE }
    for (const n of [0, 1, 2, 3]) {
      await scene.insert(sample(n + 1, { priority: n }), sample(n + 11, { runAt: START + HOUR + n * MINUTE }))
      await scene.inState(sample(n + 21, { queue: OTHER_QUEUE }), 'running')
      await scene.inState(sample(n + 31), 'dead')
      scene.pass(MINUTE)
    }

    const later = { after: where.after + HOUR, before: where.before + HOUR }
    assert.deepEqual(idsOf(await scene.list('ready', { where })), [3, 2].map(idOf))
    assert.deepEqual(idsOf(await scene.list('delayed', { where: later })), [12, 13].map(idOf))
    assert.deepEqual(idsOf(await scene.list('running', { queue: OTHER_QUEUE, where })), [22, 23].map(idOf))
    assert.deepEqual(idsOf(await scene.list('dead', { where })), [33, 32].map(idOf))
    assert.deepEqual(idsOf(await scene.list('dead', { where: { after: where.before } })), [idOf(34)])
    assert.deepEqual(idsOf(await scene.list('dead', { where: { before: where.after } })), [idOf(31)])
  })

  test('finds text in the payload or the failure, letter by letter', async (scene) => {
    await scene.ended(
      sample(1, { payload: '{"to":"Ann_%"}' }),
      verdict('dead', { failure: failure('100% off') }),
    )
    await scene.ended(sample(2, { payload: '{"to":"ann"}' }), verdict('dead', { failure: failure("it's é") }))
    await scene.ended(sample(3, { headers: '{"to":"Ann"}' }), verdict('dead'))

    const found = async (text: string): Promise<string[]> =>
      idsOf(await scene.list('dead', { where: { text } })).toSorted()

    assert.deepEqual(await found('Ann'), [idOf(1)])
    assert.deepEqual(await found('ann'), [idOf(2)])
    assert.deepEqual(await found('_%'), [idOf(1)])
    assert.deepEqual(await found('%'), [idOf(1)])
    assert.deepEqual(await found('"to":"'), [idOf(1), idOf(2)])
    assert.deepEqual(await found("it's"), [idOf(2)])
    assert.deepEqual(await found('e\u0301'), [])
    assert.deepEqual(await found('n}n'), [])
    assert.deepEqual(await found('\\'), [])
  })

  test('fills pages with jobs that match, and pages through them', async (scene) => {
    await scene.insert(...samples(20).map((job, n) => ({ ...job, payload: n % 3 ? '"no"' : '"yes"' })))
    const page = { space: SPACE, queue: QUEUE, state: 'ready', limit: 3, where: { text: 'yes' } } as const

    const first = await scene.store.list({ ...page, cursor: null })
    const second = await scene.store.list({ ...page, cursor: first.cursor })
    const third = await scene.store.list({ ...page, cursor: second.cursor })

    assert.deepEqual(
      [first, second, third].map(({ jobs }) => idsOf(jobs)),
      [[1, 4, 7].map(idOf), [10, 13, 16].map(idOf), [19].map(idOf)],
    )
    assert.equal(third.cursor, null)
  })

  test('reads jobs by id in the order asked, with null where there is none in that space', async (scene) => {
    await scene.insert(sample(1), sample(2, { space: OTHER_SPACE }), sample(3))

    const { jobs } = await scene.store.get({ space: SPACE, ids: [3, 9, 2, 1, 3].map(idOf) })

    assert.deepEqual(
      jobs.map((job) => job?.id ?? null),
      [idOf(3), null, null, idOf(1), idOf(3)],
    )
    assert.deepEqual((await scene.store.get({ space: SPACE, ids: [] })).jobs, [])
  })

  test('shows a due job as delayed until a claim has made it ready', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }), sample(2, { delayMs: MINUTE }))
    scene.pass(HOUR)
    await scene.take({ sources: [source({ queue: OTHER_QUEUE })] })
    const before = await scene.states(idOf(1), idOf(2))

    await scene.take({ limit: 1 })

    assert.deepEqual(before, ['delayed', 'delayed'])
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['running', 'ready'])
  })
}
