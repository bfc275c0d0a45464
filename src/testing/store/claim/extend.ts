import assert from 'node:assert/strict'
import { HOUR, idOf, MINUTE, sample, samples, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

export function extendCases(test: StoreCase): void {
  test('prolongs a lease from now, and changes nothing else', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 30_000 })
    const before = await scene.job(idOf(1))
    scene.pass(10_000)

    const results = await scene.extend([held], 45_000)

    assert.deepEqual(results, [{ status: 'ok', cancelReason: null }])
    assert.deepEqual(await scene.job(idOf(1)), { ...before, leaseUntil: scene.now + 45_000 })
  })

  test('can shorten a lease', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: HOUR })

    await scene.extend([held], 1_000)

    assert.equal((await scene.job(idOf(1))).leaseUntil, scene.now + 1_000)
  })

  test('prolongs a lease that is over as long as nobody took the job', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 1_000 })
    scene.pass(HOUR)

    const results = await scene.extend([held], MINUTE)

    assert.deepEqual(results, [{ status: 'ok', cancelReason: null }])
    assert.deepEqual(await scene.expired(), [])
  })

  test('tells a worker that somebody asked its job to stop, every time', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.changeOne('cancel', idOf(1), { failure: '{"kind":"cancel","message":"stop it"}' })

    const first = await scene.extend([held])
    const second = await scene.extend([held])

    const expected = [{ status: 'ok', cancelReason: 'stop it' }]
    assert.deepEqual([first, second], [expected, expected])
  })

  test('refuses a token that does not hold the job, and leaves the lease alone', async (scene) => {
    await scene.insert(...samples(6))
    const [one, two, three, four] = await scene.take({ limit: 4, leaseMs: MINUTE })
    assert.ok(one && two && three && four)
    await scene.settle(two, verdict('ready'))
    await scene.settle(three, verdict('done'))
    await scene.settle(four, verdict('done', { keepMs: null }))
    scene.pass(1_000)

    const results = await scene.extend([
      { id: one.id, token: scene.token() },
      two,
      three,
      four,
      { id: idOf(5), token: scene.token() },
      { id: idOf(9), token: scene.token() },
    ])

    assert.deepEqual(
      results.map((result) => result.status === 'refused' && result.reason),
      ['lost', 'lost', 'gone', 'gone', 'lost', 'gone'],
    )
    assert.equal((await scene.job(one.id)).leaseUntil, scene.now - 1_000 + MINUTE)
  })

  test('refuses a worker whose job another one has, without harm to that one', async (scene) => {
    const zombie = await scene.running(sample(1), { leaseMs: 1_000 })
    scene.pass(MINUTE)
    await scene.settle(zombie, verdict('ready', { count: 'lost' }), { onlyIfExpired: true })
    const [heir] = await scene.take({ leaseMs: 5_000 })
    assert.ok(heir)

    const results = await scene.extend([zombie, heir], HOUR)

    assert.deepEqual(results, [
      { status: 'refused', reason: 'lost' },
      { status: 'ok', cancelReason: null },
    ])
  })

  test('prolongs hundreds of leases in one call, each answered in order', async (scene) => {
    await scene.insert(...samples(300))
    const held = await scene.take()
    const mixed = held.map((job, n) => (n % 3 === 0 ? { id: job.id, token: scene.token() } : job))

    const results = await scene.extend(mixed, HOUR)

    assert.deepEqual(
      results.map(({ status }) => status),
      mixed.map((_, n) => (n % 3 === 0 ? 'refused' : 'ok')),
    )
  })

  test('extends nothing when there is nothing to extend', async (scene) => {
    assert.deepEqual(await scene.extend([]), [])
  })
}
