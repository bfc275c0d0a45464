import assert from 'node:assert/strict'
import { JOB_STATES, type JobState, PRIORITY_STEP_MS } from '../../../core/jobs/job.ts'
import type { ChangeAction } from '../../../core/jobs/transitions.ts'
import { REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import {
  failure,
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import type { StoreCase } from '../scene.ts'

/** Where each action takes a job from each state; what is not here is refused. */
const MOVES: Readonly<Record<ChangeAction, Partial<Record<JobState, JobState | 'none'>>>> = {
  cancel: { delayed: 'cancelled', ready: 'cancelled', running: 'running' },
  bury: { delayed: 'dead', ready: 'dead' },
  retry: { done: 'ready', failed: 'ready', dead: 'ready', cancelled: 'ready' },
  promote: { delayed: 'ready' },
  prioritize: { delayed: 'delayed', ready: 'ready' },
  reschedule: { delayed: 'ready', ready: 'ready' },
  remove: {
    delayed: 'none',
    ready: 'none',
    done: 'none',
    failed: 'none',
    dead: 'none',
    cancelled: 'none',
  },
}

export function changeCases(test: StoreCase): void {
  for (const [action, moves] of Object.entries(MOVES) as [ChangeAction, (typeof MOVES)['cancel']][]) {
    for (const state of JOB_STATES) {
      const to = moves[state]
      const requested = action === 'cancel' && state === 'running'
      const sentence =
        to === undefined ? `refuses to ${action}` : requested ? 'asks to stop' : `can ${action}`
      test(`${sentence} a ${state} job`, async (scene) => {
        await scene.inState(sample(1), state)
        const before = await scene.job(idOf(1))
        scene.pass(MINUTE)

        const answer = await scene.changeOne(action, idOf(1))

        assert.equal(answer, to === undefined ? 'state' : requested ? 'requested' : 'ok')
        assert.equal(await scene.state(idOf(1)), to ?? state)
        if (to === undefined) assert.deepEqual(await scene.job(idOf(1)), before)
      })
    }
  }

  test('keeps a job it ends with its failure for as long as told', async (scene) => {
    for (const [n, action] of (['cancel', 'bury'] as const).entries()) {
      await scene.insert(sample(n + 1))
      await scene.changeOne(action, idOf(n + 1), { failure: failure(action), keepMs: HOUR })

      const job = await scene.job(idOf(n + 1))
      assert.deepEqual(
        [job.finishedAt, job.expiresAt, job.failure],
        [scene.now, scene.now + HOUR, failure(action)],
      )
    }
  })

  test('keeps the earlier failure of a job it ends without one', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.settle(held, verdict('ready', { count: 'errors', failure: failure('boom') }))

    await scene.changeOne('bury', idOf(1))

    assert.equal((await scene.job(idOf(1))).failure, failure('boom'))
  })

  for (const state of ['delayed', 'ready', 'done', 'failed', 'dead', 'cancelled'] as const) {
    test(`does not let a ${state} job come back that was removed, when its insert is repeated`, async (scene) => {
      await scene.inState(sample(1), state)
      await scene.inState(sample(2), state)
      // However long it was kept.
      scene.pass(2 * HOUR)
      await scene.changeOne('remove', idOf(1))
      await scene.change('remove', { queue: QUEUE, state, limit: 10 })
      scene.pass(REMEMBER_DISCARDED_MS - 1)
      await scene.prune()

      const again = await scene.insertAgain(sample(1), sample(2), sample(3))

      assert.deepEqual(
        again.map(({ status }) => status),
        ['ok', 'ok', 'ok'],
      )
      assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['none', 'none', 'ready'])
    })
  }

  test('inserts a removed job anew for whoever does not repeat, and for everybody some time after', async (scene) => {
    await scene.insert(sample(1), sample(2))
    for (const n of [1, 2]) await scene.changeOne('remove', idOf(n))

    await scene.insert(sample(1))
    scene.pass(REMEMBER_DISCARDED_MS)
    await scene.prune()
    await scene.insertAgain(sample(2))

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'ready'])
  })

  test('never hands out a job that was cancelled, buried or removed', async (scene) => {
    await scene.insert(...samples(3), ...samples(3, { delayMs: MINUTE }, 11))
    for (const [n, action] of (['cancel', 'bury', 'remove'] as const).entries()) {
      await scene.change(action, { ids: [idOf(n + 1), idOf(n + 11)] })
    }

    scene.pass(HOUR)

    const reply = await scene.claim()
    assert.deepEqual([reply.jobs, reply.nextDueAt], [[], null])
    const ids = [1, 2, 3, 11, 12, 13].map(idOf)
    assert.deepEqual(await scene.take({ ids }), [])
  })

  test('leaves a promoted job where it was if it is due already, in its lane and by its priority', async (scene) => {
    await scene.insert(
      sample(1, { delayMs: MINUTE, priority: 1 }),
      sample(2, { delayMs: MINUTE }),
      sample(3, { delayMs: MINUTE, lane: 'a' }),
    )
    scene.pass(2 * MINUTE)
    await scene.insert(sample(4), sample(5, { lane: 'a' }))

    const { results, waiting } = await scene.store.change({
      action: 'promote',
      space: SPACE,
      target: { queue: QUEUE, state: 'delayed', where: { before: scene.now }, limit: 10 },
      failure: null,
      keepMs: 0,
      now: scene.now,
    })

    assert.deepEqual(
      results.map(({ id, status }) => [id, status]),
      [1, 2, 3].map((n) => [idOf(n), 'ok']),
    )
    const rank = START + MINUTE - PRIORITY_STEP_MS
    assert.deepEqual(waiting, [{ queue: QUEUE, dueAt: START + MINUTE, rank }])
    const ready = await scene.list('ready')
    assert.deepEqual(
      ready.map(({ id, dueAt }) => [id, dueAt - START]),
      [
        [idOf(1), MINUTE],
        [idOf(2), MINUTE],
        [idOf(4), 2 * MINUTE],
        [idOf(3), MINUTE],
        [idOf(5), 2 * MINUTE],
      ],
    )
  })

  test('promotes overdue jobs of a strict lane in the order in which they arrived', async (scene) => {
    await scene.limit({ strict: true })
    const strict = { lane: 'a', strict: true } as const
    await scene.insert(
      sample(1, { ...strict, delayMs: 2 * MINUTE }),
      sample(2, { ...strict, delayMs: MINUTE }),
    )
    scene.pass(3 * MINUTE)
    await scene.insert(sample(3, strict))

    await scene.change('promote', { queue: QUEUE, state: 'delayed', limit: 10 })

    const started: string[] = []
    for (let n = 0; n < 3; n++) {
      const [job] = await scene.take()
      if (!job) break
      started.push(job.id)
      await scene.settle(job, verdict('done'))
    }
    assert.deepEqual(started, [1, 2, 3].map(idOf))
  })

  test('makes a promoted job due now, behind those that are due already', async (scene) => {
    await scene.insert(sample(1, { delayMs: HOUR }), sample(2))
    scene.pass(MINUTE)

    await scene.changeOne('promote', idOf(1))

    assert.equal((await scene.job(idOf(1))).dueAt, scene.now)
    assert.deepEqual(idsOf(await scene.take()), [idOf(2), idOf(1)])
  })

  test('retries a job from the beginning, as its next generation', async (scene) => {
    const first = await scene.running(sample(1, { headers: '{"a":"b"}', priority: 4 }))
    await scene.changeOne('cancel', idOf(1))
    await scene.settle(first, verdict('dead', { count: 'errors', failure: failure('boom'), result: '1' }))
    scene.pass(HOUR)

    await scene.changeOne('retry', idOf(1))

    const job = await scene.job(idOf(1))
    assert.deepEqual(job, {
      ...job,
      state: 'ready',
      generation: 1,
      dueAt: scene.now,
      enqueuedAt: scene.now - HOUR,
      priority: 4,
      headers: '{"a":"b"}',
      starts: 0,
      errors: 0,
      startedAt: null,
      finishedAt: null,
      expiresAt: null,
      token: null,
      worker: null,
      cancelReason: null,
      result: null,
      failure: null,
    })
    const [again] = await scene.take()
    assert.deepEqual([again?.generation, again?.starts, again?.errors], [1, 1, 0])
  })

  test('makes the token of an earlier generation worthless', async (scene) => {
    const old = await scene.ended(sample(1), verdict('dead'))
    await scene.changeOne('retry', idOf(1))

    const waiting = await scene.settle(old, verdict('done'))
    const [heir] = await scene.take()
    const running = await scene.settle(old, verdict('done'))
    const extended = await scene.extend([old])

    assert.deepEqual(waiting, { status: 'refused', reason: 'lost' })
    assert.deepEqual(running, { status: 'refused', reason: 'lost' })
    assert.deepEqual(extended, [{ status: 'refused', reason: 'lost' }])
    assert.ok(heir)
    assert.deepEqual(await scene.settle(heir, verdict('done')), { status: 'ok', state: 'done' })
  })

  test('retries each job once when two people do it at once', async (scene) => {
    await scene.insert(...samples(20))
    const ids = idsOf(samples(20))
    await scene.change('bury', { ids })

    const answers = await Promise.all([scene.change('retry', { ids }), scene.change('retry', { ids })])

    assert.equal(answers.flat().filter(({ status }) => status === 'ok').length, 20)
    const jobs = await scene.list('ready')
    assert.deepEqual(
      jobs.map(({ generation }) => generation),
      ids.map(() => 1),
    )
  })

  test('takes the unique key again with a retry, unless another job holds it', async (scene) => {
    await scene.ended(sample(1, { unique: unique('a') }), verdict('dead'))
    await scene.ended(sample(2, { unique: unique('b', { scope: 'queued' }) }), verdict('dead'))
    await scene.insert(sample(3, { unique: unique('b') }))

    const results = await scene.change('retry', { ids: [idOf(1), idOf(2)] })

    assert.deepEqual(results, [
      { id: idOf(1), status: 'ok' },
      { id: idOf(2), status: 'refused', reason: 'unique' },
    ])
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'dead'])
    const [duplicate] = await scene.insert(sample(4, { unique: unique('a') }))
    assert.deepEqual(duplicate, { status: 'duplicate', id: idOf(1), action: 'ignored' })
  })

  test('retries one of two finished jobs that had the same unique key', async (scene) => {
    await scene.ended(sample(1, { unique: unique('k') }), verdict('dead'))
    await scene.ended(sample(2, { unique: unique('k') }), verdict('dead'))

    const results = await scene.change('retry', { ids: [idOf(1), idOf(2)] })

    assert.deepEqual(
      results.map((result) => (result.status === 'refused' ? result.reason : result.status)),
      ['ok', 'unique'],
    )
  })

  test('retries over a window key that has run out', async (scene) => {
    await scene.ended(sample(1, { unique: unique('k') }), verdict('dead'))
    await scene.ended(
      sample(2, { unique: unique('k', { scope: 'window', windowMs: HOUR }) }),
      verdict('done'),
    )

    const inside = await scene.changeOne('retry', idOf(1))
    scene.pass(HOUR)
    const after = await scene.changeOne('retry', idOf(1))

    assert.deepEqual([inside, after], ['unique', 'ok'])
  })

  test('answers for each id in the order given, whatever each comes to', async (scene) => {
    await scene.insert(sample(1), sample(2, { space: OTHER_SPACE }))
    await scene.inState(sample(3), 'done')
    await scene.inState(sample(4), 'running')

    const results = await scene.change('cancel', { ids: [4, 9, 3, 2, 1].map(idOf) })

    assert.deepEqual(results, [
      { id: idOf(4), status: 'requested' },
      { id: idOf(9), status: 'refused', reason: 'unknown' },
      { id: idOf(3), status: 'refused', reason: 'state' },
      { id: idOf(2), status: 'refused', reason: 'unknown' },
      { id: idOf(1), status: 'ok' },
    ])
    assert.equal(await scene.state(idOf(2), OTHER_SPACE), 'ready')
  })

  test('asks a job to stop with the latest reason', async (scene) => {
    const held = await scene.running(sample(1))

    await scene.changeOne('cancel', idOf(1), { failure: '{"kind":"cancel","message":"first"}' })
    await scene.changeOne('cancel', idOf(1), { failure: '{"kind":"cancel","message":"second"}' })

    assert.deepEqual(await scene.extend([held]), [{ status: 'ok', cancelReason: 'second' }])
  })

  test('asks a job to stop although no reason is given', async (scene) => {
    const held = await scene.running(sample(1))

    await scene.changeOne('cancel', idOf(1))

    assert.equal((await scene.job(idOf(1))).cancelReason, '')
    assert.deepEqual(await scene.settle(held, verdict('ready')), { status: 'ok', state: 'cancelled' })
  })
}
