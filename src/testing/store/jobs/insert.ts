import assert from 'node:assert/strict'
import { REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import { groupOf } from '../flows/group-samples.ts'
import { DAY, HOUR, idOf, idsOf, MINUTE, OTHER_QUEUE, START, sample, samples, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

export function insertCases(test: StoreCase): void {
  test('keeps every field of a new job', async (scene) => {
    const fields = { headers: '{"trace":"7"}', overrides: '{"timeoutMs":5}', lane: 'a', cost: 2 }
    const member = { group: groupOf(1), n: 4 }
    const job = sample(1, { priority: 3, member, ...fields })

    const results = await scene.insert(job)

    assert.deepEqual(results, [{ status: 'ok', state: 'ready', dueAt: START }])
    assert.deepEqual(await scene.job(job.id), {
      id: job.id,
      space: job.space,
      queue: job.queue,
      state: 'ready',
      payload: job.payload,
      headers: job.headers,
      priority: 3,
      overrides: job.overrides,
      lane: 'a',
      strict: false,
      cost: 2,
      member,
      dueAt: START,
      enqueuedAt: START,
      startedAt: null,
      finishedAt: null,
      expiresAt: null,
      generation: 0,
      starts: 0,
      errors: 0,
      timeouts: 0,
      lost: 0,
      snoozes: 0,
      token: null,
      worker: null,
      leaseUntil: null,
      cancelReason: null,
      uniqueKey: null,
      uniqueScope: null,
      result: null,
      failure: null,
    })
  })

  test('inserts nothing when there is nothing to insert', async (scene) => {
    assert.deepEqual(await scene.insert(), [])
  })

  test('answers for each job in the order given', async (scene) => {
    await scene.insert(sample(2, { delayMs: HOUR }))

    const results = await scene.insert(
      sample(3, { delayMs: MINUTE }),
      sample(2),
      sample(1),
      sample(4, { queue: OTHER_QUEUE, runAt: START + DAY }),
    )

    assert.deepEqual(results, [
      { status: 'ok', state: 'delayed', dueAt: START + MINUTE },
      { status: 'ok', state: 'delayed', dueAt: START + HOUR, known: true },
      { status: 'ok', state: 'ready', dueAt: START },
      { status: 'ok', state: 'delayed', dueAt: START + DAY },
    ])
  })

  test('delays a job by its delay or to its moment, whichever is later', async (scene) => {
    const results = await scene.insert(
      sample(1, { delayMs: HOUR, runAt: START + MINUTE }),
      sample(2, { delayMs: MINUTE, runAt: START + HOUR }),
      sample(3, { delayMs: 1 }),
      sample(4, { runAt: START + 1 }),
    )

    const dues = results.map((result) => (result.status === 'ok' ? [result.state, result.dueAt - START] : []))
    assert.deepEqual(dues, [
      ['delayed', HOUR],
      ['delayed', HOUR],
      ['delayed', 1],
      ['delayed', 1],
    ])
  })

  test('takes a moment in the past, or this very one, for now', async (scene) => {
    const results = await scene.insert(
      sample(1, { runAt: START - DAY }),
      sample(2, { runAt: START }),
      sample(3, { runAt: 0 }),
    )

    const now = { status: 'ok', state: 'ready', dueAt: START }
    assert.deepEqual(results, [now, now, now])
  })

  test('holds a job that is due in a hundred years', async (scene) => {
    const century = 100 * 365 * DAY

    await scene.insert(sample(1, { delayMs: century }))

    assert.equal((await scene.job(idOf(1))).dueAt, START + century)
  })

  test('leaves a job as it is when its id is inserted a second time', async (scene) => {
    await scene.insert(sample(1, { payload: '"first"', priority: 1 }))
    const before = await scene.job(idOf(1))
    scene.pass(HOUR)

    const results = await scene.insert(sample(1, { payload: '"second"', delayMs: HOUR }))

    assert.deepEqual(results, [{ status: 'ok', state: 'ready', dueAt: START, known: true }])
    assert.deepEqual(await scene.job(idOf(1)), before)
  })

  test('inserts an id once when a batch names it twice', async (scene) => {
    const results = await scene.insert(sample(1, { payload: '"first"' }), sample(1, { payload: '"second"' }))

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok'],
    )
    assert.equal((await scene.job(idOf(1))).payload, '"first"')
    assert.equal((await scene.list('ready')).length, 1)
  })

  test('does not start a running or finished job anew when its id is inserted again', async (scene) => {
    await scene.inState(sample(1), 'running')
    await scene.inState(sample(2), 'done')
    await scene.inState(sample(3), 'dead')

    const plain = await scene.insert(sample(1), sample(2), sample(3))
    const again = await scene.insertAgain(sample(1), sample(2), sample(3))

    const states = (results: typeof plain): unknown[] =>
      results.map((result) => (result.status === 'ok' ? result.state : result.status))
    assert.deepEqual(states(plain), ['running', 'done', 'dead'])
    assert.deepEqual(states(again), ['running', 'done', 'dead'])
    assert.deepEqual(await scene.take(), [])
  })

  test('does not insert a discarded job anew when the call is repeated', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: null }))
    scene.pass(REMEMBER_DISCARDED_MS - 1)
    await scene.prune()

    const results = await scene.insertAgain(sample(1), sample(2))

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok'],
    )
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['none', 'ready'])
  })

  test('inserts every job of a repeated call that is not there yet', async (scene) => {
    await scene.insert(sample(1))

    await scene.insertAgain(...samples(3))

    assert.deepEqual(idsOf(await scene.take()), [idOf(1), idOf(2), idOf(3)])
  })

  test('inserts a thousand jobs in one call', async (scene) => {
    const batch = samples(1_000, { payload: '"x"' })

    const results = await scene.insert(...batch)

    assert.equal(results.length, 1_000)
    assert.ok(results.every(({ status }) => status === 'ok'))
    assert.deepEqual(idsOf(await scene.take()), idsOf(batch))
  })
}
