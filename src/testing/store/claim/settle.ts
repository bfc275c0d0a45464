import assert from 'node:assert/strict'
import type { Verdict } from '../../../core/policies/policy.ts'
import { DAY, failure, HOUR, idOf, MINUTE, START, sample, samples, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

export function settleCases(test: StoreCase): void {
  for (const to of ['done', 'failed', 'dead', 'cancelled'] as const) {
    test(`ends a job as ${to} and keeps it as long as told`, async (scene) => {
      const held = await scene.running(sample(1))
      scene.pass(MINUTE)
      const said = to === 'done' ? { result: '{"ok":true}' } : { failure: failure('boom') }

      const result = await scene.settle(held, verdict(to, { keepMs: HOUR, ...said }))

      assert.deepEqual(result, { status: 'ok', state: to })
      const job = await scene.job(idOf(1))
      assert.deepEqual(
        [job.state, job.finishedAt, job.expiresAt, job.leaseUntil, job.result, job.failure],
        [to, scene.now, scene.now + HOUR, null, said.result ?? null, said.failure ?? null],
      )
      assert.deepEqual([job.token, job.worker, job.startedAt], [held.token, 'worker-a', START])
      assert.deepEqual(await scene.take(), [])
    })

    test(`removes a job that ends as ${to} when it is not to be kept`, async (scene) => {
      const held = await scene.running(sample(1))

      const result = await scene.settle(held, verdict(to, { keepMs: null }))

      assert.deepEqual(result, { status: 'ok', state: to })
      assert.equal(await scene.find(idOf(1)), null)
    })
  }

  test('keeps a job that is to be kept for no time until it is pruned', async (scene) => {
    const held = await scene.running(sample(1))

    await scene.settle(held, verdict('done', { keepMs: 0 }))

    assert.equal((await scene.job(idOf(1))).expiresAt, scene.now)
  })

  test('makes a job ready again, due now', async (scene) => {
    const held = await scene.running(sample(1))
    scene.pass(MINUTE)

    const result = await scene.settle(held, verdict('ready', { count: 'errors', failure: failure('boom') }))

    assert.deepEqual(result, { status: 'ok', state: 'ready' })
    const job = await scene.job(idOf(1))
    assert.deepEqual(
      [job.state, job.dueAt, job.starts, job.errors, job.failure, job.leaseUntil],
      ['ready', scene.now, 1, 1, failure('boom'), null],
    )
  })

  test('delays a job from now', async (scene) => {
    const held = await scene.running(sample(1))
    scene.pass(MINUTE)

    const result = await scene.settle(held, verdict('delayed', { delayMs: HOUR, count: 'snoozes' }))

    assert.deepEqual(result, { status: 'ok', state: 'delayed' })
    const job = await scene.job(idOf(1))
    assert.deepEqual([job.state, job.dueAt, job.snoozes], ['delayed', scene.now + HOUR, 1])
    assert.equal((await scene.claim()).nextDueAt, scene.now + HOUR)
  })

  test('raises the counter that is named, and no other', async (scene) => {
    const counts: Verdict['count'][] = ['errors', 'timeouts', 'lost', 'snoozes', null]
    const seen = []

    await scene.insert(sample(1))
    for (const count of counts) {
      const [held] = await scene.take()
      assert.ok(held)
      await scene.settle(held, verdict('ready', { count }))
      const { starts, errors, timeouts, lost, snoozes } = await scene.job(idOf(1))
      seen.push([starts, errors, timeouts, lost, snoozes])
    }

    assert.deepEqual(seen, [
      [1, 1, 0, 0, 0],
      [2, 1, 1, 0, 0],
      [3, 1, 1, 1, 0],
      [4, 1, 1, 1, 1],
      [5, 1, 1, 1, 1],
    ])
  })

  test('tells the next worker how often each thing has happened', async (scene) => {
    const first = await scene.running(sample(1))
    await scene.settle(first, verdict('ready', { count: 'timeouts' }))

    const [second] = await scene.take()

    assert.deepEqual(
      [second?.starts, second?.errors, second?.timeouts, second?.lost, second?.snoozes],
      [2, 0, 1, 0, 0],
    )
  })

  test('takes the start off again and keeps the place when a job goes back unrun', async (scene) => {
    const held = await scene.running(sample(1, { priority: 5 }))
    scene.pass(MINUTE)

    await scene.settle(held, verdict('ready', { refund: true, keepPlace: true }))

    const job = await scene.job(idOf(1))
    assert.deepEqual([job.state, job.starts, job.dueAt, job.priority], ['ready', 0, START, 5])
  })

  test('keeps the latest failure when a later run says nothing about it', async (scene) => {
    const first = await scene.running(sample(1))
    await scene.settle(first, verdict('ready', { count: 'errors', failure: failure('first') }))
    const [second] = await scene.take()
    assert.ok(second)

    await scene.settle(second, verdict('delayed', { count: 'snoozes' }))

    assert.equal((await scene.job(idOf(1))).failure, failure('first'))
  })

  test('forgets earlier failures of a job that is done', async (scene) => {
    const first = await scene.running(sample(1))
    await scene.settle(first, verdict('ready', { count: 'errors', failure: failure('first') }))
    const [second] = await scene.take()
    assert.ok(second)

    await scene.settle(second, verdict('done', { result: '1' }))

    const job = await scene.job(idOf(1))
    assert.deepEqual([job.failure, job.result, job.errors], [null, '1', 1])
  })

  for (const to of ['ready', 'delayed'] as const) {
    test(`cancels a job that was to be ${to} when somebody asked it to stop`, async (scene) => {
      const held = await scene.running(sample(1))
      await scene.changeOne('cancel', idOf(1), { failure: '{"kind":"cancel","message":"not needed"}' })
      scene.pass(MINUTE)

      const verdictOfWorker = verdict(to, {
        count: 'errors',
        failure: failure('boom'),
        keepCancelledMs: HOUR,
      })
      const result = await scene.settle(held, verdictOfWorker)

      assert.deepEqual(result, { status: 'ok', state: 'cancelled' })
      const job = await scene.job(idOf(1))
      assert.deepEqual([job.state, job.expiresAt], ['cancelled', scene.now + HOUR])
      assert.equal(job.failure, '{"kind":"cancel","message":"not needed"}')
      scene.pass(DAY)
      assert.deepEqual(await scene.take(), [])
    })
  }

  test('lets a job end as its handler says although somebody asked it to stop', async (scene) => {
    const done = await scene.running(sample(1))
    const dead = await scene.running(sample(2))
    await scene.change('cancel', { ids: [idOf(1), idOf(2)] })

    await scene.settle(done, verdict('done', { result: '1' }))
    await scene.settle(dead, verdict('dead', { failure: failure('boom') }))

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['done', 'dead'])
    assert.equal((await scene.job(idOf(2))).failure, failure('boom'))
  })

  test('settles a batch of different verdicts, each by itself', async (scene) => {
    await scene.insert(...samples(5))
    const held = await scene.take()
    const verdicts = [
      verdict('done', { result: '"a"' }),
      verdict('ready', { count: 'errors' }),
      verdict('delayed', { count: 'snoozes' }),
      verdict('done', { keepMs: null }),
      verdict('dead', { failure: failure('boom') }),
    ]

    const settlements = held.map(({ space, id, token }, i) => ({
      space,
      id,
      token,
      verdict: verdicts[i] as Verdict,
    }))
    const results = await scene.settleAll(settlements)

    assert.deepEqual(
      results.map((result) => (result.status === 'ok' ? result.state : result.status)),
      ['done', 'ready', 'delayed', 'done', 'dead'],
    )
    assert.deepEqual(await scene.states(...held.map(({ id }) => id)), [
      'done',
      'ready',
      'delayed',
      'none',
      'dead',
    ])
  })

  test('settles nothing when there is nothing to settle', async (scene) => {
    const reply = await scene.store.settle({ settlements: [], now: scene.now })

    assert.deepEqual(reply, { results: [], claimed: null })
  })
}
