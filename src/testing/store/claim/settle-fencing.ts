import assert from 'node:assert/strict'
import { failure, HOUR, idOf, MINUTE, SPACE, sample, samples, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

const lost = verdict('ready', { count: 'lost', failure: failure('lost') })

export function settleFencingCases(test: StoreCase): void {
  for (const to of ['done', 'dead', 'ready', 'delayed'] as const) {
    test(`says ok again when the settlement that made a job ${to} is repeated`, async (scene) => {
      const held = await scene.running(sample(1))
      const said = verdict(to, { count: to === 'done' ? null : 'errors', failure: failure('boom') })
      await scene.settle(held, said)
      const before = await scene.job(idOf(1))
      scene.pass(MINUTE / 2)

      const repeated = await scene.settle(held, said)

      assert.deepEqual([repeated.status, repeated.status === 'ok' && repeated.state], ['ok', to])
      assert.deepEqual(await scene.job(idOf(1)), before)
    })
  }

  test('says ok again when the settlement that removed a job is repeated', async (scene) => {
    const held = await scene.running(sample(1))
    const said = verdict('done', { keepMs: null })
    await scene.settle(held, said)
    scene.pass(MINUTE)

    const repeated = await scene.settle(held, said)

    assert.deepEqual([repeated.status, repeated.status === 'ok' && repeated.state], ['ok', 'done'])
    assert.equal(await scene.find(idOf(1)), null)
  })

  test('does not insert what was enqueued a second time when a settlement is repeated', async (scene) => {
    const held = await scene.running(sample(1))
    const enqueue = [sample(2)]
    await scene.settle(held, verdict('done'), { enqueue })
    const [child] = await scene.take()
    assert.ok(child)
    await scene.settle(child, verdict('done', { keepMs: null }))

    const repeated = await scene.settle(held, verdict('done'), { enqueue })

    assert.equal(repeated.status, 'ok')
    assert.equal(await scene.find(idOf(2)), null)
  })

  test('settles a lease once when one call names it twice', async (scene) => {
    const { space, id, token } = await scene.running(sample(1))
    const settlement = { space, id, token, verdict: verdict('ready', { count: 'errors' }) }

    const results = await scene.settleAll([settlement, settlement])

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok'],
    )
    assert.equal((await scene.job(id)).errors, 1)
  })

  test('refuses a token that never held the job, and writes nothing', async (scene) => {
    const { id } = await scene.running(sample(1))
    const before = await scene.job(id)

    const result = await scene.settle({ id, token: scene.token() }, verdict('done'), { enqueue: [sample(2)] })

    assert.deepEqual(result, { status: 'refused', reason: 'lost' })
    assert.deepEqual(await scene.job(id), before)
    assert.equal(await scene.find(idOf(2)), null)
  })

  test('refuses the token of an earlier lease once another worker holds the job', async (scene) => {
    const zombie = await scene.running(sample(1))
    scene.pass(HOUR)
    await scene.settle(zombie, lost, { rescue: true, onlyIfExpired: true })
    const [heir] = await scene.take({ workerId: 'worker-b' })
    assert.ok(heir)

    const refused = await scene.settle(zombie, verdict('done', { result: '"zombie"' }))
    const accepted = await scene.settle(heir, verdict('done', { result: '"heir"' }))

    assert.deepEqual(refused, { status: 'refused', reason: 'lost' })
    assert.deepEqual(accepted, { status: 'ok', state: 'done' })
    assert.equal((await scene.job(idOf(1))).result, '"heir"')
  })

  test('refuses the token of an earlier lease after the job has ended under another', async (scene) => {
    const zombie = await scene.running(sample(1))
    await scene.settle(zombie, lost, { rescue: true })
    const [heir] = await scene.take()
    assert.ok(heir)
    await scene.settle(heir, verdict('done', { result: '"heir"' }))

    const refused = await scene.settle(zombie, verdict('dead'))

    assert.deepEqual(refused, { status: 'refused', reason: 'gone' })
    assert.equal(await scene.state(idOf(1)), 'done')
  })

  test('refuses to settle a job that waits and was never leased, or does not exist', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: HOUR }))
    const token = scene.token()

    const results = await scene.settleAll(
      [1, 2, 3].map((n) => ({ space: SPACE, id: idOf(n), token, verdict: verdict('done') })),
    )

    assert.deepEqual(
      results.map((result) => result.status === 'refused' && result.reason),
      ['lost', 'lost', 'gone'],
    )
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['ready', 'delayed', 'none'])
  })

  test('refuses to settle a job that was pruned or removed since', async (scene) => {
    const pruned = await scene.ended(sample(1), verdict('done', { keepMs: 0 }))
    const removed = await scene.ended(sample(2), verdict('dead'))
    await scene.prune()
    await scene.changeOne('remove', idOf(2))

    const results = await scene.settleAll(
      [pruned, removed].map(({ space, id, token }) => ({ space, id, token, verdict: verdict('ready') })),
    )

    const gone = { status: 'refused', reason: 'gone' }
    assert.deepEqual(results, [gone, gone])
    assert.deepEqual(await scene.take(), [])
  })

  test('accepts a settlement after the lease is over as long as nobody took the job', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 1_000 })
    scene.pass(HOUR)

    const result = await scene.settle(held, verdict('done'))

    assert.deepEqual(result, { status: 'ok', state: 'done' })
  })

  test('refuses a rescue before the lease is over, and accepts it at its end', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 10_000 })

    scene.pass(9_999)
    const early = await scene.settle(held, lost, {
      rescue: true,
      onlyIfExpired: true,
      enqueue: [sample(2)],
    })
    scene.pass(1)
    const due = await scene.settle(held, lost, { rescue: true, onlyIfExpired: true })

    assert.deepEqual(early, { status: 'refused', reason: 'not-expired' })
    assert.deepEqual(due, { status: 'ok', state: 'ready' })
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'none'])
    assert.equal((await scene.job(idOf(1))).lost, 1)
  })

  test('refuses a rescue when the lease was extended meanwhile', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 10_000 })
    scene.pass(10_000)
    await scene.extend([held], 10_000)

    const result = await scene.settle(held, verdict('ready', { count: 'lost' }), { onlyIfExpired: true })

    assert.deepEqual(result, { status: 'refused', reason: 'not-expired' })
    assert.equal(await scene.state(idOf(1)), 'running')
  })

  for (const [words, end, reason] of [
    ['gave it back', lost, 'lost'],
    ['delayed it', verdict('delayed', { count: 'lost' }), 'lost'],
    ['buried it', verdict('dead', { count: 'lost' }), 'gone'],
    ['discarded it', verdict('failed', { count: 'lost', keepMs: null }), 'gone'],
  ] as const) {
    // Whatever the holder says, also the very thing that the rescuer said.
    for (const late of [verdict('done'), verdict('done', { keepMs: null }), end]) {
      const says = late === end ? 'the same' : `${late.to}, ${late.keepMs === null ? 'discarded' : 'kept'}`
      test(`refuses a holder who says ${says} after a rescuer ${words}`, async (scene) => {
        const held = await scene.running(sample(1), { leaseMs: 1_000 })
        scene.pass(HOUR)
        assert.equal((await scene.settle(held, end, { rescue: true, onlyIfExpired: true })).status, 'ok')
        const before = await scene.find(idOf(1))

        const refused = await scene.settle(held, late, { enqueue: [sample(2)] })

        assert.deepEqual(refused, { status: 'refused', reason })
        assert.deepEqual(await scene.find(idOf(1)), before)
        assert.equal(await scene.find(idOf(2)), null)
      })
    }
  }

  test('forgets the token at a rescue, and keeps who held the job', async (scene) => {
    const held = await scene.running(sample(1))

    await scene.settle(held, lost, { rescue: true })
    const [given] = [await scene.job(idOf(1))]
    const [heir] = await scene.take({ workerId: 'worker-b' })
    assert.ok(heir)
    await scene.settle(heir, verdict('dead', { count: 'lost' }), { rescue: true })
    const buried = await scene.job(idOf(1))

    assert.deepEqual([given?.token, given?.worker, given?.lost], [null, 'worker-a', 1])
    assert.deepEqual([buried.token, buried.worker, buried.lost], [null, 'worker-b', 2])
  })

  test('refuses the holder when a rescuer gave the job to somebody else, and lets that one settle', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 1_000 })
    scene.pass(HOUR)
    await scene.settle(held, lost, { rescue: true, onlyIfExpired: true })
    const [heir] = await scene.take({ workerId: 'worker-b' })
    assert.ok(heir)

    const late = await scene.settle(held, lost)
    const settled = await scene.settle(heir, verdict('done', { result: '"heir"' }))
    const later = await scene.settle(held, verdict('done', { result: '"holder"' }))

    assert.deepEqual(late, { status: 'refused', reason: 'lost' })
    assert.deepEqual(settled, { status: 'ok', state: 'done' })
    assert.deepEqual(later, { status: 'refused', reason: 'gone' })
    assert.equal((await scene.job(idOf(1))).result, '"heir"')
  })

  for (const [words, end, reason] of [
    ['finishes', verdict('done', { result: '"first"' }), 'gone'],
    ['discards', verdict('done', { keepMs: null }), 'gone'],
    ['puts off', verdict('delayed', { count: 'errors', failure: failure('boom'), delayMs: HOUR }), 'lost'],
  ] as const) {
    test(`knows a rescue with a repeat token again that ${words} a job, and refuses all others`, async (scene) => {
      const held = await scene.running(sample(1))
      const rescue = { rescue: true, repeatToken: scene.token() }
      const first = await scene.settle(held, end, rescue)
      const before = await scene.find(idOf(1))

      const again = await scene.settle(held, end, rescue)
      const others = [
        await scene.settle(held, end),
        await scene.settle(held, end, { rescue: true }),
        await scene.settle(held, end, { rescue: true, repeatToken: scene.token() }),
      ]

      assert.deepEqual([first, again], Array(2).fill({ status: 'ok', state: end.to }))
      assert.deepEqual(others, Array(3).fill({ status: 'refused', reason }))
      assert.deepEqual(await scene.find(idOf(1)), before)
    })
  }

  for (const [words, end, reason] of [
    ['finished it', verdict('done'), 'gone'],
    ['discarded it', verdict('done', { keepMs: null }), 'gone'],
    ['gave it back', lost, 'lost'],
  ] as const) {
    test(`refuses a rescue after the holder ${words}, and lets the holder repeat`, async (scene) => {
      const held = await scene.running(sample(1), { leaseMs: 1_000 })
      scene.pass(HOUR)
      await scene.settle(held, end)
      const before = await scene.find(idOf(1))

      const same = await scene.settle(held, end, { rescue: true, onlyIfExpired: true })
      const other = await scene.settle(held, verdict('dead', { count: 'lost' }), { rescue: true })
      const repeated = await scene.settle(held, end)

      assert.deepEqual([same, other], Array(2).fill({ status: 'refused', reason }))
      assert.deepEqual(repeated, { status: 'ok', state: end.to })
      assert.deepEqual(await scene.find(idOf(1)), before)
    })
  }

  for (const [words, end, reason] of [
    ['gave back', lost, 'lost'],
    ['buried', verdict('dead', { count: 'lost' }), 'gone'],
    ['discarded', verdict('failed', { count: 'lost', keepMs: null }), 'gone'],
  ] as const) {
    test(`refuses a second rescue of a job that the first ${words}`, async (scene) => {
      const held = await scene.running(sample(1), { leaseMs: 1_000 })
      scene.pass(HOUR)
      await scene.settle(held, end, { rescue: true, onlyIfExpired: true })
      const before = await scene.find(idOf(1))

      const second = await scene.settle(held, end, { rescue: true, onlyIfExpired: true })

      assert.deepEqual(second, { status: 'refused', reason })
      assert.deepEqual(await scene.find(idOf(1)), before)
    })
  }

  test('rescues some jobs of a claim and lets the holder settle the others, in one call', async (scene) => {
    await scene.insert(...samples(4))
    const [one, two, three, four] = await scene.take({ leaseMs: 1_000 })
    assert.ok(one && two && three && four)
    scene.pass(HOUR)
    const done = verdict('done')

    const results = await scene.settleAll([
      { space: one.space, id: one.id, token: one.token, verdict: done },
      { space: two.space, id: two.id, token: two.token, verdict: done, rescue: true },
      { space: three.space, id: three.id, token: three.token, verdict: done },
      { space: four.space, id: four.id, token: four.token, verdict: done, rescue: true },
    ])
    const repeated = await scene.settleAll(
      [one, two, three, four].map(({ space, id, token }) => ({ space, id, token, verdict: done })),
    )

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok', 'ok', 'ok'],
    )
    assert.deepEqual(
      repeated.map(({ status }) => status),
      ['ok', 'refused', 'ok', 'refused'],
    )
  })

  test('remembers a job that a rescuer discarded when it is inserted again', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.settle(held, verdict('failed', { keepMs: null }), { rescue: true })

    const [again] = await scene.insertAgain(sample(1))

    assert.equal(again?.status, 'ok')
    assert.equal(await scene.state(idOf(1)), 'none')
  })

  test('tells where a discarded job went when its settlement is repeated with another verdict', async (scene) => {
    const done = await scene.ended(sample(1), verdict('done', { keepMs: null }))
    const failed = await scene.ended(sample(2), verdict('failed', { keepMs: null }))

    const results = await scene.settleAll(
      [done, failed].map(({ space, id, token }) => ({
        space,
        id,
        token,
        verdict: verdict('ready', { count: 'errors' }),
      })),
    )

    assert.deepEqual(results, [
      { status: 'ok', state: 'done' },
      { status: 'ok', state: 'failed' },
    ])
  })

  test('settles the good ones of a batch in which others are refused', async (scene) => {
    await scene.insert(...samples(3))
    const [one, two, three] = await scene.take()
    assert.ok(one && two && three)

    const results = await scene.settleAll([
      { space: one.space, id: one.id, token: one.token, verdict: verdict('done'), enqueue: [sample(11)] },
      { space: two.space, id: two.id, token: scene.token(), verdict: verdict('done'), enqueue: [sample(12)] },
      { space: SPACE, id: idOf(9), token: scene.token(), verdict: verdict('done'), enqueue: [sample(13)] },
      {
        space: three.space,
        id: three.id,
        token: three.token,
        verdict: verdict('dead'),
        enqueue: [sample(14)],
      },
    ])

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'refused', 'refused', 'ok'],
    )
    assert.deepEqual(await scene.states(one.id, two.id, three.id), ['done', 'running', 'dead'])
    assert.deepEqual(await scene.states(...[11, 12, 13, 14].map(idOf)), ['ready', 'none', 'none', 'ready'])
  })

  test('lets exactly one of two rescuers have a lost job', async (scene) => {
    const { space, id, token } = await scene.running(sample(1), { leaseMs: 1_000 })
    scene.pass(HOUR)
    const rescue = { space, id, token, verdict: lost, onlyIfExpired: true, rescue: true }

    const replies = await Promise.all([scene.settleAll([rescue]), scene.settleAll([rescue])])

    const job = await scene.job(id)
    assert.deepEqual([job.state, job.lost], ['ready', 1])
    assert.deepEqual(
      replies
        .flat()
        .map(({ status }) => status)
        .sort(),
      ['ok', 'refused'],
    )
  })
}
