import assert from 'node:assert/strict'
import { HOUR, idOf, idsOf, QUEUE, SPACE, sample, samples, tokenOf, verdict } from './samples.ts'
import { type StoreCase, source } from './scene.ts'

export function lifecycleCases(test: StoreCase): void {
  test('says how durable it is, however often it is asked', async (scene) => {
    const first = await scene.store.ready()
    const second = await scene.store.ready()

    assert.ok(['memory', 'process', 'disk'].includes(first.level))
    assert.ok(first.detail.length > 0)
    assert.deepEqual(second, first)
  })

  test('has nothing to migrate once it is up to date', async (scene) => {
    await scene.insert(sample(1))

    assert.deepEqual(await scene.store.migrate(), { applied: [] })

    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('offers its transactions and its notifier as its capabilities say', async (scene) => {
    const { store } = scene

    const { transactions, processes, liveness } = store.capabilities
    for (const fact of [transactions, processes, liveness]) assert.equal(typeof fact, 'boolean')
    assert.equal(typeof store.within === 'function', transactions)
    assert.equal(store.notifier?.(), store.notifier?.())
  })

  test('uses one clock of its own when it is given no time', async (scene) => {
    const { store } = scene

    const { now: first } = await store.claim({ ...own(1), limit: 1 })
    await store.insert({ jobs: [sample(1), sample(2, { delayMs: HOUR })] })
    const { jobs, nextDueAt, now: second } = await store.claim({ ...own(2), limit: 9 })

    const [one, two] = [await scene.job(idOf(1)), await scene.job(idOf(2))]
    scene.now = second
    assert.deepEqual(idsOf(jobs), [idOf(1)])
    assert.ok(first <= one.enqueuedAt && one.enqueuedAt <= second, 'time does not go back between calls')
    assert.deepEqual([one.startedAt, one.leaseUntil], [second, second + 30_000])
    assert.deepEqual([two.dueAt, nextDueAt], [two.enqueuedAt + HOUR, two.enqueuedAt + HOUR])
    for (const time of [first, second, one.enqueuedAt])
      assert.ok(Number.isInteger(time), 'whole milliseconds')
  })

  test('measures leases, ends and retries with the same clock', async (scene) => {
    const { store } = scene
    await store.insert({ jobs: samples(2) })
    const { jobs, now } = await store.claim({ ...own(1), limit: 2, leaseMs: HOUR })
    const [one, two] = jobs
    assert.ok(one && two)

    const early = {
      space: one.space,
      id: one.id,
      token: one.token,
      verdict: verdict('ready'),
      onlyIfExpired: true,
    }
    const { results } = await store.settle({
      settlements: [early, { space: two.space, id: two.id, token: two.token, verdict: verdict('done') }],
    })
    const { leases } = await store.expired({ sources: [source()], workerIds: [], limit: 9 })
    await store.extend({ leases: [{ space: one.space, id: one.id, token: one.token }], leaseMs: HOUR })
    const { pruned } = await store.prune({ limit: 9 })

    const [held, done] = [await scene.job(one.id), await scene.job(two.id)]
    scene.now = now + HOUR
    assert.deepEqual(results[0], { status: 'refused', reason: 'not-expired' })
    assert.deepEqual([leases, pruned], [[], 0])
    assert.ok((held.leaseUntil ?? 0) >= now + HOUR)
    assert.ok((done.finishedAt ?? 0) >= now && (done.finishedAt ?? 0) < now + HOUR)
  })

  function own(n: number): {
    sources: ReturnType<typeof source>[]
    workerId: string
    token: string
    leaseMs: number
  } {
    return {
      sources: [source({ space: SPACE, queue: QUEUE })],
      workerId: 'worker-a',
      token: tokenOf(n),
      leaseMs: 30_000,
    }
  }
}
