import assert from 'node:assert/strict'
import { idOf, idsOf, MINUTE, OTHER_QUEUE, QUEUE, SPACE, sample, samples, verdict } from '../samples.ts'
import { type Scene, type StoreCase, source } from '../scene.ts'
import { laned } from './lanes.ts'

const both = { sources: [source(), source({ queue: OTHER_QUEUE })] }

/** What may run at once and how often something may start (I-11, I-12). */
export function limitCases(test: StoreCase): void {
  test('runs no more of a queue at once than may', async (scene) => {
    await scene.limit({ concurrency: 3 })
    await scene.insert(...samples(10))

    const [first] = await scene.take()
    assert.equal((await scene.list('running')).length, 3)
    assert.deepEqual(await scene.take(), [])

    await scene.settle(first as never, verdict('done'))
    assert.deepEqual(idsOf(await scene.take()), [idOf(4)])
  })

  test('runs no more of a lane at once than may', async (scene) => {
    await scene.limit({ laneConcurrency: 2 })
    await scene.insert(...laned('a', 10), ...laned('b', 1, 101))

    const jobs = await scene.take()

    assert.deepEqual(idsOf(jobs).sort(), [idOf(1), idOf(2), idOf(101)])
    assert.deepEqual(await scene.take(), [])
  })

  test('gives a lane limits of its own', async (scene) => {
    await scene.limit({ laneConcurrency: 1 })
    await scene.limit({ concurrency: 3 }, { queue: QUEUE, lane: 'gold' })
    await scene.insert(...laned('gold', 9), ...laned('iron', 9, 101))

    const lanes = (await scene.take()).map(({ lane }) => lane)

    assert.equal(lanes.filter((lane) => lane === 'gold').length, 3)
    assert.equal(lanes.filter((lane) => lane === 'iron').length, 1)
  })

  test('frees room whatever the end of a lease is', async (scene) => {
    await scene.limit({ concurrency: 1 })
    const ends = ['done', 'failed', 'dead', 'cancelled', 'delayed', 'ready'] as const
    await scene.insert(...samples(ends.length + 1))
    for (const to of ends) {
      const [held] = await scene.take()
      assert.ok(held, `nothing started before "${to}"`)
      await scene.settle(held, verdict(to, to === 'dead' ? { keepMs: null } : {}))
    }

    assert.equal((await scene.take()).length, 1)
  })

  test('frees room in the settlement that carries the next claim', async (scene) => {
    await scene.limit({ concurrency: 2 })
    await scene.insert(...samples(4))
    const held = await scene.take()
    const settlements = held.map(({ space, id, token }) => ({ space, id, token, verdict: verdict('done') }))

    const { claimed } = await scene.store.settle({ settlements, claim: scene.call(), now: scene.now })

    assert.deepEqual(idsOf(claimed?.jobs ?? []), [idOf(3), idOf(4)])
  })

  test('frees all room when many leases of one lane end in one call', async (scene) => {
    const most = 40
    await scene.limit({ concurrency: most, laneConcurrency: most })
    const ends = ['done', 'dead', 'ready', 'delayed'] as const
    await scene.insert(...laned('a', 5 * most))
    for (const { rescue } of [{ rescue: false }, { rescue: true }]) {
      for (const ending of ends) {
        const held = await scene.take()
        assert.equal(held.length, most, `room was lost before "${ending}"`)
        assert.deepEqual(await scene.take(), [])

        await scene.settleAll(
          held.map(({ space, id, token }) => ({
            space,
            id,
            token,
            verdict: verdict(ending),
            ...(rescue && { rescue }),
          })),
        )

        const { lanes } = await scene.store.lanes({
          space: SPACE,
          queue: QUEUE,
          limit: 10,
          now: scene.now,
        })
        assert.equal(lanes.find(({ lane }) => lane === 'a')?.running ?? 0, 0)
        if (ending === 'dead') {
          await scene.change('retry', { ids: held.map(({ id }) => id) })
        }
      }
    }
    const [counts] = (await scene.store.counts({ space: SPACE, queues: [QUEUE] })).queues
    assert.equal(counts?.states.running, 0)
  })

  test('frees room once for a settlement that is repeated or refused', async (scene) => {
    await scene.limit({ concurrency: 2 })
    await scene.insert(...samples(5))
    const [held] = await scene.take()
    assert.ok(held)

    await scene.settle(held, verdict('done'))
    await scene.settle(held, verdict('done'))
    await scene.settle({ ...held, token: scene.token() }, verdict('done'))

    assert.equal((await scene.take()).length, 1)
  })

  test('leaks no room when a worker dies', async (scene) => {
    await scene.limit({ laneConcurrency: 1 })
    await scene.insert(...laned('a', 3))
    await scene.take({ leaseMs: 1_000 })
    scene.pass(2_000)

    const [lease] = await scene.expired()
    assert.ok(lease)
    await scene.settle(lease, verdict('ready', { count: 'lost' }), { onlyIfExpired: true, rescue: true })

    assert.equal((await scene.take()).length, 1)
    assert.deepEqual(await scene.take(), [])
  })

  test('shares a limit between queues', async (scene) => {
    await scene.limit({ concurrency: 3 }, { shared: 'api' })
    await scene.limit({ shared: 'api' })
    await scene.limit({ shared: 'api' }, { queue: OTHER_QUEUE })
    await scene.insert(...samples(2), ...samples(5, { queue: OTHER_QUEUE }, 101))

    const jobs = await scene.take(both)
    assert.equal(jobs.length, 3)
    assert.deepEqual(await scene.take(both), [])

    // Room that one queue gives up goes to the other.
    for (const job of jobs.filter(({ queue }) => queue === QUEUE)) await scene.settle(job, verdict('done'))
    const next = await scene.take({ sources: [source({ queue: OTHER_QUEUE })] })
    assert.equal(next.length, 2)
  })

  test('counts what runs already when a limit is set', async (scene) => {
    await scene.insert(...samples(5))
    const [held] = await scene.take({ limit: 2 })

    await scene.limit({ concurrency: 2 })
    assert.deepEqual(await scene.take(), [])

    await scene.settle(held as never, verdict('done'))
    assert.equal((await scene.take()).length, 1)
  })

  test('keeps to a limit that was lowered, and to one that was raised', async (scene) => {
    await scene.limit({ concurrency: 4 })
    await scene.insert(...samples(9))
    const held = await scene.take()
    await scene.limit({ concurrency: 2 })
    for (const job of held.slice(0, 2)) await scene.settle(job, verdict('done'))
    assert.deepEqual(await scene.take(), [])

    await scene.limit({ concurrency: 5 })

    assert.equal((await scene.take()).length, 3)
  })

  test('lets a lane go on at once when its limit is raised or taken back', async (scene) => {
    await scene.limit({ laneConcurrency: 1 })
    await scene.insert(...laned('a', 5))
    assert.equal((await scene.take()).length, 1)

    await scene.limit({ concurrency: 2 }, { queue: QUEUE, lane: 'a' })
    assert.equal((await scene.take()).length, 1)

    await scene.limit(null)
    await scene.limit(null, { queue: QUEUE, lane: 'a' })
    assert.equal((await scene.take()).length, 3)
  })

  test('lets a change by hand count until it is taken back', async (scene) => {
    const declare = (concurrency: number): Promise<unknown> =>
      scene.store.setLimits({
        space: SPACE,
        limits: [{ target: { queue: QUEUE }, by: 'code', fields: { concurrency, laneConcurrency: 7 } }],
        now: scene.now,
      })
    await declare(1)
    await scene.limit({ concurrency: 2 })
    await declare(3)
    await scene.insert(...samples(9))

    assert.equal((await scene.take()).length, 2)
    const { limits } = await scene.store.limits({ space: SPACE, queue: QUEUE })
    assert.deepEqual(limits, [
      {
        target: { queue: QUEUE },
        declared: { concurrency: 3, laneConcurrency: 7 },
        changed: { concurrency: 2 },
      },
    ])

    await scene.limit(null)
    assert.equal((await scene.take()).length, 1)
  })

  test('lists the limits of a space', async (scene) => {
    await scene.limit({ concurrency: 1, rate: { limit: 5, perMs: 1_000, burst: 2 } })
    await scene.limit({ weight: 3 }, { queue: QUEUE, lane: 'gold' })
    await scene.limit({ concurrency: 4 }, { shared: 'api' })
    await scene.limit({ concurrency: 4 }, { queue: OTHER_QUEUE })
    await scene.limit(null, { queue: OTHER_QUEUE })

    const { limits } = await scene.store.limits({ space: SPACE })

    assert.deepEqual(
      new Set(limits.map(({ target }) => JSON.stringify(target))),
      new Set(['{"queue":"mail"}', '{"queue":"mail","lane":"gold"}', '{"shared":"api"}']),
    )
    assert.deepEqual(
      limits.find(({ target }) => !('shared' in target) && target.lane === undefined)?.changed,
      {
        concurrency: 1,
        rate: { limit: 5, perMs: 1_000, burst: 2 },
      },
    )
    assert.deepEqual((await scene.store.limits({ space: 'globex' })).limits, [])
  })

  test('starts no more than the rate allows, and tells when the next may start', async (scene) => {
    await scene.limit({ rate: { limit: 10, perMs: 1_000, burst: 1 } })
    await scene.insert(...samples(200))

    const starts = await startsWithin(scene, 3_000)

    // The first at once, one more for being a little early, then one every tenth of a second.
    assert.ok(starts.length >= 30 && starts.length <= 31, `${starts.length} starts in three seconds`)
    for (const [n, at] of starts.entries()) {
      const inWindow = starts.filter((other) => other >= at && other < at + 1_000).length
      assert.ok(inWindow <= 11, `${inWindow} starts in a second, from start ${n}`)
    }
  })

  test('lets a burst through at once, and then keeps to the rate', async (scene) => {
    await scene.limit({ rate: { limit: 10, perMs: 1_000, burst: 5 } })
    await scene.insert(...samples(50))

    const reply = await scene.claim()

    assert.equal(reply.jobs.length, 5)
    assert.ok(reply.nextDueAt !== null && reply.nextDueAt > scene.now && reply.nextDueAt <= scene.now + 100)
    scene.pass(1_000)
    const later = (await scene.take()).length
    assert.equal(later, 5)
  })

  test('does not burst twice: an idle time fills the bucket once', async (scene) => {
    await scene.limit({ rate: { limit: 10, perMs: 1_000, burst: 10 } })
    await scene.insert(...samples(50))
    scene.pass(60 * MINUTE)

    assert.equal((await scene.take()).length, 10)
    assert.equal((await scene.take()).length, 0)
  })

  test('limits the rate of each lane by itself', async (scene) => {
    await scene.limit({ laneRate: { limit: 1, perMs: 1_000, burst: 2 } })
    await scene.insert(...laned('a', 9), ...laned('b', 9, 101))

    assert.equal((await scene.take()).length, 4)
    const reply = await scene.claim()
    assert.deepEqual(reply.jobs, [])
    assert.ok(reply.nextDueAt !== null && reply.nextDueAt > scene.now && reply.nextDueAt <= scene.now + 1_000)
    scene.now = reply.nextDueAt
    const lanes = (await scene.take()).map(({ lane }) => lane)
    assert.deepEqual([lanes.length, new Set(lanes)], [2, new Set(['a', 'b'])])
  })

  test('does not forget what an idle lane has taken of its rate when it prunes', async (scene) => {
    await scene.limit({ laneRate: { limit: 1, perMs: MINUTE, burst: 5 } })
    await scene.insert(...laned('a', 2), ...laned('b', 5, 101))
    for (const job of await scene.take({ limit: 10 }))
      await scene.settle(job, verdict('done', { keepMs: null }))
    // Both are found empty, and the other one is ahead: nothing else is worth remembering.
    assert.deepEqual(await scene.take(), [])
    await scene.prune()

    await scene.insert(...laned('a', 5, 201))

    assert.deepEqual(idsOf(await scene.take()), [201, 202, 203].map(idOf))
  })

  test('shares a rate between queues', async (scene) => {
    await scene.limit({ rate: { limit: 1, perMs: 1_000, burst: 3 } }, { shared: 'api' })
    await scene.limit({ shared: 'api' })
    await scene.limit({ shared: 'api' }, { queue: OTHER_QUEUE })
    await scene.insert(...samples(2), ...samples(5, { queue: OTHER_QUEUE }, 101))

    assert.equal((await scene.take(both)).length, 3)
    assert.equal((await scene.take(both)).length, 0)
  })

  test('takes more of a rate for a dear job, and waits exactly until it can be paid', async (scene) => {
    await scene.limit({ rate: { limit: 10, perMs: 1_000, burst: 4 } })
    await scene.insert(sample(1, { cost: 3 }), sample(2, { cost: 3 }), sample(3))

    const reply = await scene.claim()

    // One token is left, and nobody overtakes the job for which it is not enough.
    assert.deepEqual(idsOf(reply.jobs), [idOf(1)])
    assert.ok(reply.nextDueAt !== null)
    scene.now = reply.nextDueAt - 1
    assert.deepEqual(await scene.take(), [])
    scene.now += 1
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('starts a job that costs more than a full bucket, when the bucket is full', async (scene) => {
    await scene.limit({ rate: { limit: 10, perMs: 1_000, burst: 2 } })
    await scene.insert(sample(1, { cost: 20 }), sample(2))

    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
    scene.pass(1_000)
    assert.deepEqual(await scene.take(), [])
    scene.pass(1_000)
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('lets one lane wait when its handler is told to, and no other', async (scene) => {
    await scene.insert(...laned('a', 3), ...laned('b', 3, 101))
    const [held] = await scene.take({ limit: 1 })
    assert.equal(held?.lane, 'a')

    await scene.settle(held, verdict('ready', { keepPlace: true, lane: { waitMs: MINUTE } }))

    const reply = await scene.claim()
    assert.deepEqual(new Set(reply.jobs.map(({ lane }) => lane)), new Set(['b']))
    assert.equal(reply.nextDueAt, scene.now + MINUTE)
    scene.pass(MINUTE)
    assert.equal((await scene.take()).length, 3)
  })

  test('lets a queue without lanes wait when its handler is told to', async (scene) => {
    await scene.insert(...samples(3))
    const [held] = await scene.take({ limit: 1 })

    await scene.settle(held as never, verdict('ready', { lane: { waitMs: MINUTE } }))

    assert.deepEqual(await scene.take(), [])
    scene.pass(MINUTE)
    assert.equal((await scene.take()).length, 3)
  })

  test('lets nothing wait for a settlement that is refused', async (scene) => {
    await scene.insert(...laned('a', 3))
    const [held] = await scene.take({ limit: 1 })

    await scene.settle(
      { id: held?.id as string, token: scene.token() },
      verdict('ready', { lane: { waitMs: MINUTE } }),
    )

    assert.equal((await scene.take()).length, 2)
  })

  test('passes by lanes that are full, also for named jobs', async (scene) => {
    await scene.limit({ laneConcurrency: 1, concurrency: 2 })
    await scene.insert(...laned('a', 3), ...laned('b', 3, 101), ...laned('c', 3, 201))

    assert.deepEqual(idsOf(await scene.take({ ids: [idOf(2), idOf(1), idOf(102), idOf(201)] })), [
      idOf(2),
      idOf(102),
    ])
  })

  test('keeps the limits of spaces apart', async (scene) => {
    await scene.limit({ concurrency: 1 })
    await scene.insert(...samples(3), ...samples(3, { space: 'globex' }, 101))

    assert.equal((await scene.take()).length, 1)
    assert.equal((await scene.take({ sources: [source({ space: 'globex' })] })).length, 3)
  })

  test('keeps a limit exactly, whoever claims and settles at once', async (scene) => {
    await scene.limit({ concurrency: 4, laneConcurrency: 2 })
    await scene.insert(...laned('a', 40), ...laned('b', 40, 101), ...laned('c', 40, 201))
    let done = 0
    const worker = async (): Promise<void> => {
      for (let idle = 0; idle < 200 && done < 120; ) {
        const jobs = await scene.take({ limit: 3 })
        const running = await scene.list('running')
        assert.ok(running.length <= 4, `${running.length} run at once`)
        if (jobs.length === 0) idle++
        for (const job of jobs) if ((await scene.settle(job, verdict('done'))).status === 'ok') done++
      }
    }

    await Promise.all([worker(), worker(), worker(), worker()])

    assert.equal(done, 120)
  })
}

/** When jobs start if somebody looks exactly when the store says. */
async function startsWithin(scene: Scene, ms: number): Promise<number[]> {
  const end = scene.now + ms
  const starts: number[] = []
  while (scene.now < end) {
    const reply = await scene.claim()
    for (const _ of reply.jobs) starts.push(scene.now)
    for (const job of reply.jobs) await scene.settle(job, verdict('done', { keepMs: null }))
    assert.ok(reply.nextDueAt !== null && reply.nextDueAt > scene.now, 'tells when to look again')
    scene.now = reply.nextDueAt
  }
  return starts
}
