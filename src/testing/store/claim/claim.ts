import assert from 'node:assert/strict'
import {
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  START,
  sample,
  samples,
  verdict,
} from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'

export function claimCases(test: StoreCase): void {
  test('gives the jobs that its token holds to a claim that is repeated, and takes nothing new', async (scene) => {
    await scene.insert(...samples(5), sample(6, { delayMs: MINUTE }))
    const call = scene.call({ limit: 3, leaseMs: 30_000 })
    const { jobs } = await scene.store.claim(call)
    scene.pass(10_000)

    const again = await scene.claim({ ...call, again: true, now: scene.now })

    assert.deepEqual(again, { jobs, nextDueAt: null, now: scene.now })
    assert.deepEqual(await scene.states(...[3, 4, 5, 6].map(idOf)), ['running', 'ready', 'ready', 'delayed'])
    const { starts, startedAt, leaseUntil } = await scene.job(idOf(1))
    assert.deepEqual([starts, startedAt, leaseUntil], [1, scene.now - 10_000, scene.now + 30_000])
  })

  test('gives nothing to a repeated claim whose first call never arrived, and says when more is due', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: MINUTE }))
    await scene.take({ ids: [idOf(1)] })

    const again = await scene.claim({ again: true })

    assert.deepEqual(again, { jobs: [], nextDueAt: scene.now + MINUTE, now: scene.now })
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['running', 'delayed'])
  })

  test('gives all that is held to a repeated claim, whatever its limits, and only what is still held', async (scene) => {
    await scene.insert(...samples(6))
    const call = scene.call()
    const held = await scene.take(call)
    const [done, back, lost] = held
    assert.ok(done && back && lost)
    await scene.settle(done, verdict('done'))
    await scene.settle(back, verdict('ready'))
    await scene.settle(lost, verdict('ready', { count: 'lost' }), { rescue: true })
    await scene.take({ ids: [lost.id], workerId: 'worker-b' })
    scene.pass(2 * MINUTE)

    const again = await scene.take({
      ...call,
      again: true,
      limit: 1,
      sources: [source({ limit: 1 })],
      now: scene.now,
    })

    assert.deepEqual(again, held.slice(3))
    assert.deepEqual(idsOf(await scene.expired()), [lost.id])
  })

  test('gives a repeated claim the jobs of its sources alone, source by source', async (scene) => {
    const other = source({ queue: OTHER_QUEUE })
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }), sample(3, { priority: 5 }))
    const call = scene.call({ sources: [other, source()] })
    const first = await scene.take(call)

    const all = await scene.take({ ...call, again: true })
    const some = await scene.take({ ...call, sources: [source()], again: true })

    assert.deepEqual(idsOf(first), [2, 3, 1].map(idOf))
    assert.deepEqual(all, first)
    assert.deepEqual(some, first.slice(1))
  })

  test('repeats the claim that went with a settle', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.insert(...samples(3, {}, 2))
    const { now, ...claim } = scene.call({ limit: 2 })
    const settlements = [{ space: held.space, id: held.id, token: held.token, verdict: verdict('done') }]
    const first = await scene.store.settle({ settlements, claim, now })

    const again = await scene.store.settle({ settlements, claim: { ...claim, again: true }, now })

    assert.deepEqual(again.results, [{ status: 'ok', state: 'done' }])
    assert.deepEqual(again.claimed?.jobs, first.claimed?.jobs)
    assert.equal(first.claimed?.jobs.length, 2)
    assert.equal(await scene.state(idOf(4)), 'ready')
  })

  test('gives a worker all it needs to run a job', async (scene) => {
    const headers = '{"trace":"7"}'
    await scene.insert(sample(1, { headers, priority: 2, overrides: '{"timeoutMs":5}' }))
    scene.pass(MINUTE)

    const reply = await scene.claim({ token: scene.token() })

    const [claimed] = reply.jobs
    assert.deepEqual(reply, {
      jobs: [
        {
          id: idOf(1),
          space: 'acme',
          queue: QUEUE,
          payload: '{"n":1}',
          headers,
          priority: 2,
          overrides: '{"timeoutMs":5}',
          lane: null,
          dueAt: START,
          enqueuedAt: START,
          generation: 0,
          starts: 1,
          errors: 0,
          timeouts: 0,
          lost: 0,
          snoozes: 0,
          token: claimed?.token,
        },
      ],
      nextDueAt: null,
      now: START + MINUTE,
    })
  })

  test('records who holds the lease, since when and until when', async (scene) => {
    await scene.insert(sample(1))
    scene.pass(MINUTE)
    const token = scene.token()

    await scene.take({ token, workerId: 'worker-b', leaseMs: 5_000 })

    const job = await scene.job(idOf(1))
    const { state, worker, startedAt, leaseUntil, starts } = job
    assert.deepEqual(
      { state, token: job.token, worker, startedAt, leaseUntil, starts },
      {
        state: 'running',
        token,
        worker: 'worker-b',
        startedAt: scene.now,
        leaseUntil: scene.now + 5_000,
        starts: 1,
      },
    )
  })

  test('answers an empty claim with the time and nothing else', async (scene) => {
    assert.deepEqual(await scene.claim(), { jobs: [], nextDueAt: null, now: START })
  })

  test('does not hand out a job that is leased, even long after its lease is over', async (scene) => {
    await scene.running(sample(1))

    scene.pass(MINUTE * 60)

    assert.deepEqual(await scene.take(), [])
    assert.deepEqual(await scene.take({ ids: [idOf(1)] }), [])
  })

  test('takes at most as many as asked in all', async (scene) => {
    await scene.insert(...samples(5))

    const first = await scene.take({ limit: 2 })
    const second = await scene.take({ limit: 2 })
    const third = await scene.take({ limit: 2 })

    assert.deepEqual([first, second, third].map(idsOf), [[idOf(1), idOf(2)], [idOf(3), idOf(4)], [idOf(5)]])
  })

  test('takes at most as many from a source as the source allows', async (scene) => {
    await scene.insert(...samples(3), ...samples(3, { queue: OTHER_QUEUE }, 11))

    const jobs = await scene.take({
      sources: [source({ limit: 2 }), source({ queue: OTHER_QUEUE, limit: 1 })],
      limit: 10,
    })

    assert.deepEqual(idsOf(jobs), [idOf(1), idOf(2), idOf(11)])
  })

  test('serves sources in the order given, whatever their jobs rank', async (scene) => {
    await scene.insert(...samples(2, { queue: OTHER_QUEUE, priority: 100 }, 11))
    scene.pass(MINUTE)
    await scene.insert(...samples(2))

    const jobs = await scene.take({ sources: [source(), source({ queue: OTHER_QUEUE })], limit: 3 })

    assert.deepEqual(idsOf(jobs), [idOf(1), idOf(2), idOf(11)])
  })

  test('takes nothing from a source with no room', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))

    const jobs = await scene.take({ sources: [source({ limit: 0 }), source({ queue: OTHER_QUEUE })] })

    assert.deepEqual(idsOf(jobs), [idOf(2)])
  })

  test('takes nothing when it may take nothing', async (scene) => {
    await scene.insert(sample(1))

    const jobs = await scene.take({ limit: 0 })

    assert.deepEqual(jobs, [])
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('takes jobs only from the queues and spaces named', async (scene) => {
    await scene.insert(
      sample(1, { queue: OTHER_QUEUE }),
      sample(2, { space: OTHER_SPACE }),
      sample(3, { space: OTHER_SPACE, queue: OTHER_QUEUE }),
    )

    const mine = await scene.take()
    const theirs = await scene.take({ sources: [source({ space: OTHER_SPACE })] })

    assert.deepEqual(mine, [])
    assert.deepEqual(idsOf(theirs), [idOf(2)])
  })

  test('takes the jobs named, and no other', async (scene) => {
    await scene.insert(...samples(4))

    const jobs = await scene.take({ ids: [idOf(3), idOf(2)] })

    assert.deepEqual(idsOf(jobs).toSorted(), [idOf(2), idOf(3)])
    assert.deepEqual(await scene.states(idOf(1), idOf(4)), ['ready', 'ready'])
  })

  test('takes a named job only from one of the sources', async (scene) => {
    await scene.insert(sample(1, { space: OTHER_SPACE }), sample(2, { queue: OTHER_QUEUE }))

    const jobs = await scene.take({ ids: [idOf(1), idOf(2)] })

    assert.deepEqual(jobs, [])
    assert.equal(await scene.state(idOf(1), OTHER_SPACE), 'ready')
    assert.equal(await scene.state(idOf(2)), 'ready')
  })

  test('passes over named jobs that are unknown, leased, not due or finished', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }), sample(5))
    await scene.inState(sample(2), 'running')
    await scene.inState(sample(3), 'done')
    await scene.inState(sample(4), 'cancelled')

    const ids = [9, 1, 2, 3, 4, 5].map(idOf)
    const jobs = await scene.take({ ids, limit: 1 })

    assert.deepEqual(idsOf(jobs), [idOf(5)])
  })

  test('takes a named job once when it is named twice', async (scene) => {
    await scene.insert(sample(1))

    const jobs = await scene.take({ ids: [idOf(1), idOf(1)] })

    assert.deepEqual(idsOf(jobs), [idOf(1)])
    assert.equal((await scene.job(idOf(1))).starts, 1)
  })

  test('takes a named delayed job as soon as it is due', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }))

    scene.pass(MINUTE - 1)
    const early = await scene.take({ ids: [idOf(1)] })
    scene.pass(1)
    const due = await scene.take({ ids: [idOf(1)] })

    assert.deepEqual(early, [])
    assert.deepEqual(idsOf(due), [idOf(1)])
  })

  test('keeps to the limits when jobs are named', async (scene) => {
    await scene.insert(...samples(4))
    const ids = [1, 2, 3, 4].map(idOf)

    const byLimit = await scene.take({ ids, limit: 1 })
    const bySource = await scene.take({ ids, sources: [source({ limit: 2 })] })

    assert.equal(byLimit.length, 1)
    assert.equal(bySource.length, 2)
  })

  test('hands each job to exactly one of several claimers', async (scene) => {
    await scene.insert(...samples(60))

    const batches = await Promise.all(
      Array.from({ length: 8 }, (_, n) => scene.take({ workerId: `worker-${n}`, limit: 10 })),
    )

    const ids = batches.flatMap(idsOf)
    assert.equal(new Set(ids).size, ids.length)
    const leftovers = idsOf(await scene.take())
    assert.deepEqual([...ids, ...leftovers].toSorted(), idsOf(samples(60)))
  })

  test('gives a job to one of ten claimers that were told its id', async (scene) => {
    await scene.insert(sample(1))

    const batches = await Promise.all(Array.from({ length: 10 }, () => scene.take({ ids: [idOf(1)] })))

    assert.deepEqual(batches.flatMap(idsOf), [idOf(1)])
  })
}
