import assert from 'node:assert/strict'
import { FORGET_WORKER_MS, REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import { DAY, HOUR, idOf, MINUTE, OTHER_SPACE, SPACE, START, sample, unique, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

export function pruneCases(test: StoreCase): void {
  test('removes a finished job when its time is over, and not before', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: HOUR }))

    scene.pass(HOUR - 1)
    const early = await scene.prune()
    const before = await scene.state(idOf(1))
    scene.pass(1)
    const due = await scene.prune()

    assert.deepEqual([early, before], [0, 'done'])
    assert.deepEqual([due, await scene.state(idOf(1))], [1, 'none'])
  })

  test('removes finished jobs of every kind and space, and never one that waits or runs', async (scene) => {
    const states = ['delayed', 'ready', 'running', 'done', 'failed', 'dead', 'cancelled'] as const
    for (const [n, state] of states.entries()) await scene.inState(sample(n + 1), state)
    await scene.inState(sample(11, { space: OTHER_SPACE }), 'done')
    scene.pass(365 * DAY)

    const pruned = await scene.prune()

    assert.equal(pruned, 5)
    assert.deepEqual(await scene.states(...states.map((_, n) => idOf(n + 1))), [
      'delayed',
      'ready',
      'running',
      'none',
      'none',
      'none',
      'none',
    ])
    assert.equal(await scene.state(idOf(11), OTHER_SPACE), 'none')
  })

  test('removes at most as many as asked, the oldest first', async (scene) => {
    for (const n of [3, 1, 4, 2]) {
      await scene.ended(sample(n), verdict(n % 2 ? 'done' : 'dead', { keepMs: HOUR }))
      scene.pass(MINUTE)
    }
    scene.pass(DAY)

    const counts = [
      await scene.prune(3),
      (await scene.states(...[1, 2, 3, 4].map(idOf))).join(),
      await scene.prune(3),
    ]

    assert.deepEqual(counts, [3, 'none,dead,none,none', 1])
  })

  test('says that there was nothing to remove', async (scene) => {
    assert.equal(await scene.prune(), 0)
  })

  test('spares a job that was retried in time', async (scene) => {
    await scene.ended(sample(1), verdict('dead', { keepMs: HOUR }))
    await scene.changeOne('retry', idOf(1))
    scene.pass(DAY)

    await scene.prune()

    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('keeps a unique key inside its window, although its job is gone', async (scene) => {
    const window = unique('k', { scope: 'window', windowMs: DAY })
    await scene.ended(sample(1, { unique: window }), verdict('done', { keepMs: 0 }))
    scene.pass(HOUR)
    assert.equal(await scene.prune(), 1)

    const [inside] = await scene.insert(sample(2, { unique: window }))
    scene.pass(DAY)
    await scene.prune()
    const [after] = await scene.insert(sample(3, { unique: window }))

    assert.deepEqual(inside, { status: 'duplicate', id: idOf(1), action: 'ignored' })
    assert.equal(after?.status, 'ok')
  })

  test('keeps the unique keys of jobs that wait or run, however old', async (scene) => {
    await scene.insert(
      sample(1, { unique: unique('a') }),
      sample(2, { unique: unique('b', { scope: 'queued' }) }),
    )
    await scene.take({ ids: [idOf(1)] })
    scene.pass(365 * DAY)

    await scene.prune()

    const results = await scene.insert(sample(3, { unique: unique('a') }), sample(4, { unique: unique('b') }))
    assert.deepEqual(
      results.map((result) => result.status === 'duplicate' && result.id),
      [idOf(1), idOf(2)],
    )
  })

  test('forgets discarded ids some time after', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: null }))
    scene.pass(REMEMBER_DISCARDED_MS)
    await scene.prune()

    const [result] = await scene.insertAgain(sample(1))

    assert.deepEqual(result, { status: 'ok', state: 'ready', dueAt: scene.now })
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  for (const to of ['done', 'failed', 'dead', 'cancelled'] as const) {
    test(`does not let a ${to} job come back that was pruned soon after its end`, async (scene) => {
      await scene.ended(sample(1), verdict(to, { keepMs: MINUTE }))
      scene.pass(MINUTE)
      assert.equal(await scene.prune(), 1)
      scene.pass(REMEMBER_DISCARDED_MS - 1)
      await scene.prune()

      const [again, other] = await scene.insertAgain(sample(1), sample(2))

      assert.deepEqual([again?.status, other?.status], ['ok', 'ok'])
      assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['none', 'ready'])
    })
  }

  test('remembers pruned ids for some time, and inserts them at once for whoever does not repeat', async (scene) => {
    for (const n of [1, 2]) await scene.ended(sample(n), verdict('done', { keepMs: 0 }))
    await scene.prune()

    const [anew] = await scene.insert(sample(1))
    scene.pass(REMEMBER_DISCARDED_MS)
    await scene.prune()
    const [later] = await scene.insertAgain(sample(2))

    assert.deepEqual([anew?.status, later?.status], ['ok', 'ok'])
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'ready'])
  })

  test('remembers no ids of jobs that had ended long before they were pruned', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: MINUTE }))
    scene.pass(REMEMBER_DISCARDED_MS)
    await scene.prune()

    const [again] = await scene.insertAgain(sample(1))

    assert.deepEqual(again, { status: 'ok', state: 'ready', dueAt: scene.now })
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('does not give a pruned job’s unique key to the insert that is repeated', async (scene) => {
    const job = sample(1, { unique: unique('k') })
    await scene.ended(job, verdict('done', { keepMs: 0 }))
    await scene.prune()

    await scene.insertAgain(job)
    const [next] = await scene.insert(sample(2, { unique: unique('k') }))

    assert.equal(next?.status, 'ok')
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['none', 'ready'])
  })

  test('forgets workers that have not been seen for long', async (scene) => {
    const worker = {
      space: SPACE,
      host: 'h',
      pid: 1,
      queues: [],
      concurrency: 1,
      running: 0,
      startedAt: START,
      vitals: '{}',
    }
    await scene.store.attend({ worker: { ...worker, id: 'old' }, now: scene.now })
    scene.pass(FORGET_WORKER_MS - MINUTE)
    await scene.store.attend({ worker: { ...worker, id: 'new' }, now: scene.now })
    scene.pass(MINUTE)

    await scene.prune()

    const { workers } = await scene.store.workers({ now: scene.now })
    assert.deepEqual(
      workers.map(({ id }) => id),
      ['new'],
    )
  })
}
