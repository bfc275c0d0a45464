import assert from 'node:assert/strict'
import type { ClaimCall, Settlement, SettleReply } from '../../../store/store.ts'
import { idOf, idsOf, MINUTE, OTHER_QUEUE, SPACE, sample, verdict } from '../samples.ts'
import { type Held, type Scene, type StoreCase, source } from '../scene.ts'

/** What a call enqueues, its own claim may take, as if the two had been two calls. */
export function settleAndTakeCases(test: StoreCase): void {
  for (const limit of [0, 1, 2, 3, 4, 5]) {
    test(`takes ${limit} of those that wait and of those it enqueues, in their order`, async (scene) => {
      const held = await scene.running(sample(50))
      await scene.insert(sample(9))
      scene.pass(MINUTE)
      // Of the same moment and a lower priority: the ones behind, by id or by rank.
      await scene.insert(sample(3), sample(8, { priority: -1 }))

      const { claimed } = await settle(scene, [ending(held, [2, 4])], { limit })

      const line = [9, 2, 3, 4, 8].map(idOf)
      assert.deepEqual(idsOf(claimed?.jobs ?? []), line.slice(0, limit))
      assert.deepEqual(
        await scene.states(...line),
        line.map((_, n) => (n < limit ? 'running' : 'ready')),
      )
    })
  }

  test('gives what it enqueues and takes as it was enqueued', async (scene) => {
    const held = await scene.running(sample(1))
    scene.pass(MINUTE)
    const jobs = [
      sample(2, { payload: '{"a":"\\u001e, \\u001f"}', headers: '{"x":"y"}' }),
      sample(3, { payload: '"é, \\" and ."' }),
    ]

    const reply = await settle(scene, [{ ...ending(held, []), enqueue: jobs }])

    const { now } = scene
    const ready = { status: 'ok', state: 'ready', dueAt: now }
    assert.deepEqual(reply.results, [{ status: 'ok', state: 'done', inserted: [ready, ready] }])
    for (const [n, { id, payload, headers }] of jobs.entries()) {
      const claimed = reply.claimed?.jobs[n]
      assert.ok(claimed)
      const { enqueuedAt, dueAt, starts, errors, generation } = claimed
      assert.deepEqual([claimed.id, claimed.payload, claimed.headers], [id, payload, headers])
      assert.deepEqual([enqueuedAt, dueAt, starts, errors, generation], [now, now, 1, 0, 0])
      const { state, token, startedAt, leaseUntil, worker } = await scene.job(id)
      const lease = ['running', claimed.token, now, now + 30_000, 'worker-a']
      assert.deepEqual([state, token, startedAt, leaseUntil, worker], lease)
    }
    // They are leases like all others.
    const results = await scene.settleAll((reply.claimed?.jobs ?? []).map((job) => ending(job, [])))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok'],
    )
  })

  test('takes what is repeated once', async (scene) => {
    const held = await scene.running(sample(1))

    const first = await settle(scene, [ending(held, [2])])
    const second = await settle(scene, [ending(held, [2])])

    assert.deepEqual(idsOf(first.claimed?.jobs ?? []), [idOf(2)])
    assert.deepEqual(second.claimed?.jobs, [])
    assert.equal((await scene.job(idOf(2))).token, first.claimed?.jobs[0]?.token)
  })

  test('takes nothing that a refused settlement would have enqueued', async (scene) => {
    const held = await scene.running(sample(1))

    const { claimed } = await settle(scene, [
      ending({ space: SPACE, id: idOf(7), token: scene.token() }, [2]),
      ending(held, [3]),
    ])

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(3)])
    assert.equal(await scene.state(idOf(2)), 'none')
  })

  test('takes no job anew that is there, or has ended', async (scene) => {
    await scene.ended(sample(2), verdict('done'))
    await scene.running(sample(3))
    const held = await scene.running(sample(1))

    const { results, claimed } = await settle(scene, [ending(held, [2, 3, 4])])

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(4)])
    const states = results.flatMap((one) => (one.status === 'ok' ? (one.inserted ?? []) : []))
    assert.deepEqual(
      states.map((one) => one.status === 'ok' && one.state),
      ['done', 'running', 'ready'],
    )
    assert.deepEqual(await scene.states(idOf(2), idOf(3)), ['done', 'running'])
  })

  test('leaves in line what is held, or of another queue', async (scene) => {
    const held = await scene.running(sample(1))
    const other = await scene.running(sample(2))
    await scene.hold('pause')

    const paused = await settle(scene, [ending(held, [3])])
    await scene.release('pause')
    const elsewhere = await settle(scene, [ending(other, [4])], { sources: [source({ queue: OTHER_QUEUE })] })

    assert.deepEqual([paused.claimed?.jobs, elsewhere.claimed?.jobs], [[], []])
    assert.deepEqual(idsOf(await scene.take()), [idOf(3), idOf(4)])
  })

  test('takes no more of a limited queue than the limit', async (scene) => {
    await scene.limit({ concurrency: 1 })
    const held = await scene.running(sample(1))

    const { claimed } = await settle(scene, [ending(held, [2, 3])])

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(2)])
    assert.deepEqual(await scene.states(idOf(2), idOf(3)), ['running', 'ready'])
  })

  for (const limit of [0, 1, 2, 3, 4]) {
    test(`takes ${limit} of those that wait, and before them of those that go first`, async (scene) => {
      const held = await scene.running(sample(50))
      await scene.insert(sample(1), sample(9, { priority: 1 }))
      scene.pass(MINUTE)

      const first = [5, 3].map(idOf)
      const { claimed } = await settle(scene, [ending(held, [5, 3])], { limit, first })

      const line = [3, 5, 9, 1].map(idOf)
      assert.deepEqual(idsOf(claimed?.jobs ?? []), line.slice(0, limit))
      assert.deepEqual(
        await scene.states(...line),
        line.map((_, n) => (n < limit ? 'running' : 'ready')),
      )
      // What others were passed over for is not forgotten.
      assert.deepEqual(
        idsOf(await scene.take()),
        [9, 1, 3, 5].map(idOf).filter((id) => !line.slice(0, limit).includes(id)),
      )
    })
  }

  test('takes first only what is to go first of all that it enqueues', async (scene) => {
    const [one, two] = [await scene.running(sample(50)), await scene.running(sample(51))]
    await scene.insert(sample(9))
    scene.pass(MINUTE)

    const { claimed } = await settle(scene, [ending(one, [2, 3]), ending(two, [4])], {
      limit: 3,
      first: [idOf(3), idOf(4), idOf(4)],
    })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [3, 4, 9].map(idOf))
    assert.equal(await scene.state(idOf(2)), 'ready')
  })

  test('takes first what has a unique key or headers, from each queue', async (scene) => {
    const [one, two] = [await scene.running(sample(50)), await scene.running(sample(51))]
    await scene.insert(sample(8), sample(9, { queue: OTHER_QUEUE }))
    scene.pass(MINUTE)
    const unique = { key: 'k', scope: 'queued', windowMs: 0, onConflict: 'ignore' } as const
    const jobs = [
      sample(2, { unique, priority: -1 }),
      sample(3, { queue: OTHER_QUEUE, headers: '{"a":"b"}' }),
    ]

    const { claimed } = await settle(scene, [{ ...ending(one, []), enqueue: jobs }, ending(two, [])], {
      sources: [source(), source({ queue: OTHER_QUEUE })],
      first: jobs.map(({ id }) => id),
    })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [2, 8, 3, 9].map(idOf))
    assert.equal(claimed?.jobs[2]?.headers, '{"a":"b"}')
    // A key that is held until the start is free.
    const [again] = await scene.insert(sample(4, { unique }))
    assert.equal(again?.status, 'ok')
  })

  test('takes first what waits, and nothing else', async (scene) => {
    await scene.ended(sample(2), verdict('done'))
    await scene.running(sample(3))
    const held = await scene.running(sample(1))
    await scene.insert(sample(4, { delayMs: MINUTE }), sample(5), sample(6))
    const before = await scene.job(idOf(3))

    const first = [2, 3, 4, 6, 7].map(idOf)
    const { claimed } = await settle(scene, [ending(held, [6])], { first })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [6, 5].map(idOf))
    assert.deepEqual(await scene.states(idOf(2), idOf(4), idOf(7)), ['done', 'delayed', 'none'])
    assert.deepEqual(await scene.job(idOf(3)), before)
  })

  test('takes first also without a settlement, and not what is held', async (scene) => {
    await scene.insert(sample(1), sample(2))

    const { jobs } = await scene.store.claim(scene.call({ first: [idOf(2)], limit: 1 }))
    await scene.hold('pause')
    const paused = await scene.store.claim(scene.call({ first: [idOf(1)] }))

    assert.deepEqual([idsOf(jobs), paused.jobs], [[idOf(2)], []])
  })

  test('takes first nothing that a refused settlement would have enqueued', async (scene) => {
    const held = await scene.running(sample(1))
    const lost = { space: SPACE, id: idOf(7), token: scene.token() }

    const { claimed } = await settle(scene, [ending(lost, [2]), ending(held, [3])], {
      first: [2, 3].map(idOf),
    })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(3)])
    assert.equal(await scene.state(idOf(2)), 'none')
  })

  test('lets the limits say who is next, whatever is to go first', async (scene) => {
    await scene.limit({ concurrency: 1 })
    const held = await scene.running(sample(1))
    await scene.insert(sample(2))
    scene.pass(MINUTE)

    const { claimed } = await settle(scene, [ending(held, [3])], { first: [idOf(3)] })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(2)])
  })

  test('takes only what is named, or was taken before, whatever is to go first', async (scene) => {
    await scene.insert(sample(1), sample(2), sample(3))
    const call = scene.call({ ids: [idOf(1)], first: [idOf(2)] })

    const named = await scene.store.claim(call)
    const again = await scene.store.claim({ ...call, again: true })

    assert.deepEqual([idsOf(named.jobs), idsOf(again.jobs)], [[idOf(1)], [idOf(1)]])
    assert.deepEqual(await scene.states(idOf(2), idOf(3)), ['ready', 'ready'])
  })
}

/** Ends a lease well and enqueues these. */
function ending({ space = SPACE, id, token }: Held, numbers: readonly number[]): Settlement {
  return { space, id, token, verdict: verdict('done'), enqueue: numbers.map((n) => sample(n)) }
}

function settle(
  scene: Scene,
  settlements: readonly Settlement[],
  difference: Partial<ClaimCall> = {},
): Promise<SettleReply> {
  const { now, ...claim } = scene.call(difference)
  return scene.store.settle({ settlements, claim, now })
}
