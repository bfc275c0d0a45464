import assert from 'node:assert/strict'
import {
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  START,
  sample,
  samples,
  verdict,
} from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'

export function expiredCases(test: StoreCase): void {
  test('lists a lease from the moment it is over, with all that a judge needs', async (scene) => {
    const held = await scene.running(sample(1, { overrides: '{"x":1}' }), { leaseMs: MINUTE })

    scene.pass(MINUTE - 1)
    const early = await scene.expired()
    scene.pass(1)
    const over = await scene.expired()

    assert.deepEqual(early, [])
    assert.deepEqual(over, [{ ...held, workerId: 'worker-a', cancelReason: null, over: true }])
  })

  test('lists nothing that waits or has ended', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: HOUR }))
    await scene.inState(sample(3), 'done')
    await scene.ended(sample(4), verdict('delayed'))

    scene.pass(HOUR)

    assert.deepEqual(await scene.expired({ workerIds: ['worker-a'] }), [])
  })

  test('lists leases of the named queues and spaces only', async (scene) => {
    await scene.running(sample(1))
    await scene.running(sample(2, { queue: OTHER_QUEUE }))
    await scene.running(sample(3, { space: OTHER_SPACE }))
    scene.pass(HOUR)

    const mine = await scene.expired({ workerIds: ['worker-a'] })
    const both = await scene.expired({ sources: [source(), source({ queue: OTHER_QUEUE })] })
    const theirs = await scene.expired({ sources: [source({ space: OTHER_SPACE })] })
    const none = await scene.expired({ sources: [], workerIds: ['worker-a'] })

    assert.deepEqual([mine, both, theirs, none].map(idsOf), [[idOf(1)], [idOf(1), idOf(2)], [idOf(3)], []])
  })

  test('lists leases by their end, the longest over first, then by id', async (scene) => {
    await scene.running(sample(4), { leaseMs: 3_000 })
    await scene.running(sample(3), { leaseMs: 2_000 })
    await scene.running(sample(1), { leaseMs: 2_000 })
    await scene.running(sample(2, { queue: OTHER_QUEUE }), { leaseMs: 1_000 })
    scene.pass(HOUR)

    const leases = await scene.expired({ sources: [source(), source({ queue: OTHER_QUEUE })] })

    assert.deepEqual(idsOf(leases), [2, 1, 3, 4].map(idOf))
  })

  test('lists at most as many as asked, and reaches the rest once those are rescued', async (scene) => {
    await scene.insert(...samples(5))
    await scene.take({ leaseMs: 1_000 })
    scene.pass(HOUR)
    const seen: string[][] = []

    for (let leases = await scene.expired({ limit: 2 }); leases.length > 0; ) {
      seen.push(idsOf(leases))
      const lost = verdict('ready', { count: 'lost' })
      await scene.settleAll(
        leases.map(({ space, id, token }) => ({ space, id, token, verdict: lost, onlyIfExpired: true })),
      )
      leases = await scene.expired({ limit: 2 })
    }

    assert.deepEqual(seen, [[idOf(1), idOf(2)], [idOf(3), idOf(4)], [idOf(5)]])
  })

  test('lists the first of all even when it may list one, whoever claimed it and however it was prolonged', async (scene) => {
    const prolonged = await scene.running(sample(4), { leaseMs: 1_000 })
    await scene.extend([prolonged], 9_000)
    await scene.running(sample(3), { leaseMs: 2_000 })
    await scene.running(sample(1), { leaseMs: 2_000 })
    await scene.running(sample(2, { queue: OTHER_QUEUE }), { leaseMs: 2_000 })
    scene.pass(HOUR)

    const sources = [source(), source({ queue: OTHER_QUEUE })]
    const first = await scene.expired({ sources, limit: 1 })
    const three = await scene.expired({ sources, limit: 3 })

    assert.deepEqual([first, three].map(idsOf), [[idOf(1)], [1, 2, 3].map(idOf)])
  })

  test('reaches leases that are over behind thousands that are not', async (scene) => {
    await scene.insert(...samples(1_000, { queue: OTHER_QUEUE }, 101))
    await scene.take({ sources: [source({ queue: OTHER_QUEUE })], leaseMs: HOUR })
    await scene.running(sample(1), { leaseMs: MINUTE })
    scene.pass(MINUTE)

    const leases = await scene.expired({ sources: [source({ queue: OTHER_QUEUE }), source()], limit: 1 })

    assert.deepEqual(idsOf(leases), [idOf(1)])
  })

  test('lists the leases of named workers before they are over, and says so', async (scene) => {
    await scene.running(sample(1), { workerId: 'gone', leaseMs: HOUR })
    await scene.running(sample(2), { workerId: 'alive', leaseMs: HOUR })
    await scene.running(sample(3), { workerId: 'alive', leaseMs: MINUTE })
    await scene.running(sample(4), { workerId: 'gone', leaseMs: 30_000 })
    scene.pass(MINUTE)

    const leases = await scene.expired({ workerIds: ['gone', 'never-seen'] })

    assert.deepEqual(
      leases.map(({ id, workerId, over }) => [id, workerId, over]),
      [
        [idOf(4), 'gone', true],
        [idOf(3), 'alive', true],
        [idOf(1), 'gone', false],
      ],
    )
  })

  test('follows an extension', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 1_000 })
    await scene.extend([held], HOUR)

    scene.pass(MINUTE)
    const early = await scene.expired()
    scene.pass(HOUR)
    const over = await scene.expired()

    assert.deepEqual([early, over].map(idsOf), [[], [idOf(1)]])
  })

  test('finds a lease that was made shorter as soon as it is over', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: HOUR })
    await scene.extend([held], 1_000)

    scene.pass(999)
    const early = await scene.expired()
    scene.pass(1)
    const over = await scene.expired()

    assert.deepEqual([early, over].map(idsOf), [[], [idOf(1)]])
  })

  test('passes on why a job shall stop', async (scene) => {
    await scene.running(sample(1))
    await scene.changeOne('cancel', idOf(1), { failure: '{"kind":"cancel","message":"enough"}' })
    scene.pass(HOUR)

    const [lease] = await scene.expired()

    assert.equal(lease?.cancelReason, 'enough')
  })

  test('changes nothing by looking', async (scene) => {
    await scene.running(sample(1))
    scene.pass(HOUR)
    const before = await scene.job(idOf(1))

    await scene.expired()
    await scene.expired({ workerIds: ['worker-a'] })

    assert.deepEqual(await scene.job(idOf(1)), before)
    assert.equal(before.startedAt, START)
  })

  test('lets a rescued job run again at once, with its loss counted', async (scene) => {
    await scene.running(sample(1))
    scene.pass(HOUR)
    const [lease] = await scene.expired()
    assert.ok(lease)

    const rescue = verdict('ready', { count: 'lost', failure: '{"kind":"lost","message":"worker died"}' })
    await scene.settle(lease, rescue, { onlyIfExpired: true })

    const [again] = await scene.take({ workerId: 'worker-b' })
    assert.deepEqual([again?.id, again?.starts, again?.lost], [idOf(1), 2, 1])
  })
}
