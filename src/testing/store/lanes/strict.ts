import assert from 'node:assert/strict'
import type { ClaimedJob, NewJob } from '../../../core/jobs/job.ts'
import { idOf, idsOf, MINUTE, sample, samples, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

/** One at a time, in the order of arrival, whatever happens (I-10). */
export function strictCases(test: StoreCase): void {
  test('runs one job of a lane at a time, in the order of arrival', async (scene) => {
    await open(scene, ...strict('a', 3), ...strict('b', 2, 101))

    const order: string[] = []
    for (let jobs = await scene.take(); jobs.length > 0; jobs = await scene.take()) {
      assert.equal(new Set(jobs.map(({ lane }) => lane)).size, jobs.length)
      order.push(...idsOf(jobs))
      for (const job of jobs) await scene.settle(job, verdict('done'))
    }

    assert.deepEqual(order, [1, 101, 2, 102, 3].map(idOf))
  })

  test('goes by arrival, not by id, time or priority', async (scene) => {
    await open(scene, sample(5, { lane: 'a', strict: true }))
    scene.pass(-MINUTE)
    await scene.insert(sample(1, { lane: 'a', strict: true, priority: 100 }))
    await scene.insert(sample(3, { lane: 'a', strict: true }))

    assert.deepEqual(await drain(scene), [5, 1, 3].map(idOf))
  })

  test('keeps the order of jobs that arrive in one call', async (scene) => {
    const numbers = [7, 3, 9, 1, 5]
    await open(scene, ...numbers.map((n) => sample(n, { lane: 'a', strict: true })))

    assert.deepEqual(await drain(scene), numbers.map(idOf))
  })

  test('lets nothing overtake a job that waits for another try', async (scene) => {
    await open(scene, ...strict('a', 3))
    const first = await next(scene)

    await scene.settle(first, verdict('delayed', { delayMs: MINUTE, count: 'errors' }))
    const reply = await scene.claim()
    assert.deepEqual(reply.jobs, [])
    assert.equal(reply.nextDueAt, scene.now + MINUTE)

    scene.pass(MINUTE)
    assert.equal((await next(scene)).id, idOf(1))
    assert.deepEqual(await scene.take(), [])
  })

  test('lets nothing overtake a job that is tried again at once, handed back or lost', async (scene) => {
    await open(scene, ...strict('a', 3))
    const ends = [
      verdict('ready', { count: 'errors' }),
      verdict('ready', { refund: true, keepPlace: true }),
      verdict('delayed', { delayMs: 0, count: 'snoozes' }),
    ]
    for (const end of ends) {
      const held = await next(scene)
      assert.equal(held.id, idOf(1))
      await scene.settle(held, end)
    }
    const held = await next(scene, { leaseMs: 1_000 })
    scene.pass(2_000)
    await scene.settle(held, verdict('ready', { count: 'lost' }), { onlyIfExpired: true, rescue: true })

    assert.deepEqual(await drain(scene), [1, 2, 3].map(idOf))
  })

  test('comes back to a job that became due while a later one waited for another try', async (scene) => {
    const [first, second, third, fourth] = strict('a', 4) as [NewJob, NewJob, NewJob, NewJob]
    await open(scene, first, { ...second, delayMs: MINUTE }, third, fourth)
    await scene.settle(await next(scene), verdict('done'))
    const held = await next(scene)
    assert.equal(held.id, idOf(3))
    await scene.settle(held, verdict('delayed', { delayMs: 2 * MINUTE, count: 'errors' }))
    scene.pass(MINUTE)
    assert.deepEqual(await scene.take(), [])
    scene.pass(MINUTE)

    assert.deepEqual(await drain(scene), [3, 2, 4].map(idOf))
  })

  test('frees every lane in a call that takes of one of them, or of none', async (scene) => {
    await open(scene, ...strict('a', 3), ...strict('b', 3, 101), ...strict('c', 3, 201))
    const endAll = (jobs: readonly ClaimedJob[], limit: number): ReturnType<Scene['store']['settle']> =>
      scene.store.settle({
        settlements: jobs.map(({ space, id, token }) => ({ space, id, token, verdict: verdict('done') })),
        claim: scene.call({ limit }),
        now: scene.now,
      })

    const one = await endAll(await scene.take(), 1)
    assert.deepEqual(idsOf(one.claimed?.jobs ?? []), [idOf(2)])
    const others = await scene.take()
    assert.deepEqual(idsOf(others), [102, 202].map(idOf))
    await scene.limit({ concurrency: 1 })
    assert.deepEqual(await scene.take(), [])
    const none = await endAll(others, 3)
    assert.deepEqual(none.claimed?.jobs, [])
    await scene.limit({ concurrency: null })

    assert.deepEqual(idsOf(await scene.take()), [103, 203].map(idOf))
  })

  test('goes on after a job that ended for good, however it did', async (scene) => {
    const ends = ['done', 'failed', 'dead', 'cancelled'] as const
    await open(scene, ...strict('a', 6))
    for (const [n, to] of ends.entries()) {
      const held = await next(scene)
      assert.equal(held.id, idOf(n + 1))
      await scene.settle(held, verdict(to))
    }
    const held = await next(scene)
    await scene.settle(held, verdict('done', { keepMs: null }))

    assert.equal((await next(scene)).id, idOf(6))
  })

  test('goes on when somebody cancels, buries or removes the job at the head', async (scene) => {
    await open(scene, ...strict('a', 4))
    for (const [n, action] of (['cancel', 'bury', 'remove'] as const).entries()) {
      const held = await next(scene)
      assert.equal(held.id, idOf(n + 1))
      await scene.settle(held, verdict('delayed', { delayMs: MINUTE }))
      assert.deepEqual(await scene.take(), [])
      assert.equal(await scene.changeOne(action, held.id), 'ok')
    }

    assert.equal((await next(scene)).id, idOf(4))
  })

  test('lets a job at the head start earlier when somebody promotes it', async (scene) => {
    await open(scene, ...strict('a', 2))
    await scene.settle(await next(scene), verdict('delayed', { delayMs: MINUTE }))
    assert.deepEqual(await scene.take(), [])

    assert.equal(await scene.changeOne('promote', idOf(1)), 'ok')

    assert.equal((await next(scene)).id, idOf(1))
  })

  test('puts a retried job at the end: it arrives again', async (scene) => {
    await open(scene, ...strict('a', 3))
    await scene.settle(await next(scene), verdict('dead'))

    assert.equal(await scene.changeOne('retry', idOf(1)), 'ok')

    assert.deepEqual(await drain(scene), [2, 3, 1].map(idOf))
  })

  test('makes a line of a whole queue', async (scene) => {
    await open(scene, ...samples(3, { strict: true }))

    assert.equal((await scene.take()).length, 1)
    assert.deepEqual(await scene.take(), [])
  })

  test('takes a named job only if it is at the head', async (scene) => {
    await open(scene, ...strict('a', 2))

    assert.deepEqual(await scene.take({ ids: [idOf(2)] }), [])
    assert.deepEqual(idsOf(await scene.take({ ids: [idOf(1)] })), [idOf(1)])
    assert.deepEqual(await scene.take({ ids: [idOf(2)] }), [])
  })

  test('tells which job is at the head', async (scene) => {
    await open(scene, ...strict('a', 2))
    await scene.settle(await next(scene), verdict('delayed'))

    const call = { space: 'acme', queue: 'mail', lanes: ['a'], limit: 1, now: scene.now }
    const { lanes } = await scene.store.lanes(call)

    assert.deepEqual([lanes[0]?.occupant, lanes[0]?.running], [idOf(1), 0])
  })

  test('has nobody at the head when the job there was cancelled while it waited', async (scene) => {
    await open(scene, ...strict('a', 1))
    await scene.settle(await next(scene), verdict('delayed'))
    await scene.change('cancel', { ids: [idOf(1)] })

    const call = { space: 'acme', queue: 'mail', lanes: ['a'], limit: 1, now: scene.now }
    const { lanes } = await scene.store.lanes(call)

    assert.equal(lanes[0]?.occupant ?? null, null)
  })

  test('holds the lane when its policy says so, with the job still at the head', async (scene) => {
    await open(scene, ...strict('a', 2), ...strict('b', 1, 101))
    const [head, other] = await scene.take()
    assert.equal(other?.lane, 'b')

    const lane = { pause: 'It failed 3 times.' }
    await scene.settle(head as ClaimedJob, verdict('ready', { keepPlace: true, count: 'errors', lane }))

    assert.deepEqual(await scene.take(), [])
    const { holds } = await scene.store.holds({ space: 'acme', now: scene.now })
    assert.deepEqual(
      holds.map(({ kind, queue, lane: key, reason, by, until }) => [kind, queue, key, reason, by, until]),
      [['pause', 'mail', 'a', 'It failed 3 times.', 'skep', null]],
    )
    assert.equal(await scene.release('pause', { lane: 'a' }), true)
    assert.equal((await next(scene)).id, idOf(1))
  })
}

function strict(lane: string, count: number, from = 1): NewJob[] {
  return samples(count, { lane, strict: true }, from)
}

async function open(scene: Scene, ...jobs: readonly NewJob[]): Promise<void> {
  await scene.limit({ strict: true })
  for (const job of jobs) await scene.insert(job)
}

async function next(scene: Scene, difference: { readonly leaseMs?: number } = {}): Promise<ClaimedJob> {
  const jobs = await scene.take(difference)
  assert.equal(jobs.length, 1)
  return jobs[0] as ClaimedJob
}

/** Runs all that is ready to its end, one after the other, and tells the order. */
async function drain(scene: Scene): Promise<string[]> {
  const order: string[] = []
  for (let jobs = await scene.take(); jobs.length > 0; jobs = await scene.take()) {
    assert.equal(jobs.length, 1)
    order.push(...idsOf(jobs))
    for (const job of jobs) await scene.settle(job, verdict('done'))
  }
  return order
}
