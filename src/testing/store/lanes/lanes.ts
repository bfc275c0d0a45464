import assert from 'node:assert/strict'
import type { ClaimedJob, JobState, NewJob } from '../../../core/jobs/job.ts'
import type { Where } from '../../../store/store.ts'
import {
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import { type Scene, type StoreCase, source } from '../scene.ts'

/** Lanes are served in turn. */
export function laneCases(test: StoreCase): void {
  test('serves lanes in turn, however much waits in each', async (scene) => {
    await scene.insert(...laned('a', 100), ...laned('b', 2, 201), ...laned('c', 1, 301))

    const jobs = await scene.take({ limit: 8 })

    assert.equal(lanesOf(jobs), 'abcabaaa')
  })

  test('starts the one job of a lane next, beside a lane with thousands', async (scene) => {
    await scene.insert(...laned('whale', 3_000))
    assert.equal((await scene.take({ limit: 100 })).length, 100)

    await scene.insert(sample(9_000, { lane: 'minnow' }))

    const [next] = await scene.take({ limit: 1 })
    assert.equal(next?.id, idOf(9_000))
  })

  test('does not let a lane save up turns while it is empty', async (scene) => {
    await scene.insert(...laned('a', 40), sample(900, { lane: 'b' }))
    assert.equal((await scene.take({ limit: 21 })).length, 21)

    await scene.insert(...laned('b', 20, 1_000))

    assert.equal(lanesOf(await scene.take({ limit: 10 })), 'bbabababab')
  })

  test('does not serve a lane twice in a row because it is empty in between', async (scene) => {
    await scene.insert(...laned('a', 10))
    const served: ClaimedJob[] = []
    for (let n = 0; n < 8; n++) {
      await scene.insert(sample(100 + n, { lane: 'b' }))
      served.push(...(await scene.take({ limit: 1 })))
    }

    assert.equal(lanesOf(served).replaceAll('a', '').length, 4)
  })

  test('serves lanes in the ratio of their weights', async (scene) => {
    await scene.limit({ weight: 3 }, { queue: QUEUE, lane: 'gold' })
    await scene.insert(...laned('gold', 90), ...laned('iron', 90, 201))

    const lanes = (await scene.take({ limit: 80 })).map(({ lane }) => lane)

    assert.equal(lanes.filter((lane) => lane === 'gold').length, 60)
    assert.ok(lanes.slice(0, 20).filter((lane) => lane === 'iron').length >= 5)
  })

  test('keeps to the weights over many small claims', async (scene) => {
    await scene.limit({ weight: 3 }, { queue: QUEUE, lane: 'gold' })
    await scene.insert(...laned('gold', 60), ...laned('iron', 60, 201))
    const served: ClaimedJob[] = []
    for (let n = 0; n < 20; n++) served.push(...(await scene.take({ limit: 3 })))

    assert.equal(served.filter(({ lane }) => lane === 'gold').length, 45)
  })

  test('counts a dear job as several turns', async (scene) => {
    await scene.insert(...laned('a', 9, 1, { cost: 3 }), ...laned('b', 20, 101))

    const jobs = await scene.take({ limit: 12 })

    assert.equal(jobs.filter(({ lane }) => lane === 'a').length, 3)
  })

  test('keeps to rank within a lane', async (scene) => {
    await scene.insert(
      sample(1, { lane: 'a' }),
      sample(2, { lane: 'a', priority: 5 }),
      sample(3, { lane: 'a', delayMs: MINUTE }),
    )
    scene.pass(MINUTE)

    assert.deepEqual(idsOf(await scene.take()), [idOf(2), idOf(1), idOf(3)])
  })

  test('treats jobs without a lane as one lane among others', async (scene) => {
    await scene.insert(...samples(4), ...laned('a', 4, 101))

    assert.equal(lanesOf(await scene.take({ limit: 4 })), '-a-a')
  })

  test('finds jobs of a lane that come back: retried, promoted, retried', async (scene) => {
    const held = await scene.running(sample(1, { lane: 'a' }))
    await scene.settle(held, verdict('ready'))
    await scene.insert(sample(2, { lane: 'b', delayMs: MINUTE }), sample(3, { lane: 'c', delayMs: MINUTE }))
    await scene.ended(sample(4, { lane: 'd' }), verdict('dead'))
    assert.equal(await scene.changeOne('promote', idOf(2)), 'ok')
    assert.equal(await scene.changeOne('retry', idOf(4)), 'ok')

    const first = await scene.take()
    scene.pass(MINUTE)
    const second = await scene.take()

    assert.deepEqual(idsOf(first).sort(), [idOf(1), idOf(2), idOf(4)])
    assert.deepEqual(idsOf(second), [idOf(3)])
  })

  test('tells when the next delayed job of a lane is due', async (scene) => {
    await scene.insert(sample(1, { lane: 'a', delayMs: MINUTE }))

    assert.equal((await scene.claim()).nextDueAt, scene.now + MINUTE)
  })

  test('says which sources are limited', async (scene) => {
    await scene.insert(sample(1, { lane: 'a' }), sample(2, { queue: OTHER_QUEUE }))

    const reply = await scene.claim({ sources: [source({ queue: OTHER_QUEUE }), source()] })

    assert.deepEqual(reply.limited, [1])
    assert.equal(reply.jobs.length, 2)
  })

  test('takes named jobs out of their lanes', async (scene) => {
    await scene.insert(...laned('a', 3), ...laned('b', 3, 101))

    const jobs = await scene.take({ ids: [idOf(102), idOf(2)] })

    assert.deepEqual(idsOf(jobs), [idOf(102), idOf(2)])
  })

  test('gives back what a claim took whose reply was lost, and charges nothing twice', async (scene) => {
    await scene.limit({ laneConcurrency: 2 })
    await scene.insert(...laned('a', 5))
    const call = scene.call()
    const { jobs } = await scene.store.claim(call)

    const again = await scene.store.claim({ ...call, again: true })

    assert.deepEqual(idsOf(again.jobs).sort(), idsOf(jobs).sort())
    assert.equal(jobs.length, 2)
    assert.deepEqual(await scene.take(), [])
  })

  test('lists ready jobs lane by lane, page by page', async (scene) => {
    await scene.insert(...laned('b', 3, 101), ...samples(2), ...laned('a', 3, 201))
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const call = { space: SPACE, queue: QUEUE, state: 'ready', limit: 2, cursor } as const
      const page: Awaited<ReturnType<Scene['store']['list']>> = await scene.store.list(call)
      seen.push(...idsOf(page.jobs))
      cursor = page.cursor
    } while (cursor !== null)

    assert.deepEqual(seen, [1, 2, 201, 202, 203, 101, 102, 103].map(idOf))
  })

  test('lists the jobs of one lane', async (scene) => {
    await scene.insert(...laned('a', 3), ...laned('b', 2, 101), sample(200))
    await scene.take({ limit: 2 })

    assert.deepEqual(idsOf(await scene.list('ready', { where: { lane: 'b' } })), [idOf(101), idOf(102)])
    assert.deepEqual(idsOf(await scene.list('running', { where: { lane: 'a' } })), [idOf(1)])
    assert.deepEqual(idsOf(await scene.list('running', { where: { lane: '' } })), [idOf(200)])
  })

  test('lists the delayed jobs of one lane by their time, as they come and go', async (scene) => {
    const inLane = async (lane: string, where: Where = {}): Promise<string[]> =>
      idsOf(await scene.list('delayed', { where: { lane, ...where } }))
    const later = (n: number, minutes: number): NewJob =>
      sample(n, { lane: 'a', delayMs: minutes * MINUTE, unique: unique(`job-${n}`) })
    await scene.insert(later(1, 30), later(2, 10), later(3, 20), later(4, 5))
    await scene.insert(...laned('ab', 2, 101, { delayMs: MINUTE }), ...samples(2, { delayMs: MINUTE }, 201))
    assert.deepEqual(await inLane('a'), [4, 2, 3, 1].map(idOf))
    assert.deepEqual(await inLane('ab'), [101, 102].map(idOf))
    assert.deepEqual(await inLane(''), [201, 202].map(idOf))
    assert.deepEqual(await inLane('b'), [])
    const where = { after: scene.now + 10 * MINUTE, before: scene.now + 30 * MINUTE }
    assert.deepEqual(await inLane('a', where), [2, 3].map(idOf))
    assert.deepEqual(await pagesOf(scene, 'delayed', 'a'), [4, 2, 3, 1].map(idOf))

    await scene.changeOne('promote', idOf(2))
    await scene.changeOne('cancel', idOf(3))
    assert.deepEqual(await inLane('a'), [4, 1].map(idOf))
    const moved = sample(5, {
      lane: 'a',
      delayMs: MINUTE,
      unique: unique('job-1', { onConflict: 'replace' }),
    })
    await scene.insert(moved)
    assert.deepEqual(await inLane('a'), [1, 4].map(idOf))
    scene.pass(2 * MINUTE)
    const taken = await scene.take()
    assert.deepEqual(await inLane('a'), [idOf(4)])
    assert.deepEqual(await inLane('ab'), [])
    const again = taken.find(({ id }) => id === idOf(1)) as ClaimedJob
    await scene.settle(again, verdict('delayed', { delayMs: MINUTE }))
    assert.deepEqual(await inLane('a'), [1, 4].map(idOf))
    assert.deepEqual(await inLane('ab'), [])
    assert.deepEqual(await inLane('a', { after: scene.now + 2 * MINUTE }), [idOf(4)])
  })

  test('lists the finished jobs of one lane, newest first, as they come and go', async (scene) => {
    const inLane = async (lane: string, state: JobState = 'done', where: Where = {}): Promise<string[]> =>
      idsOf(await scene.list(state, { where: { lane, ...where } }))
    const ending = async (n: number, lane: string | null, keepMs = HOUR): Promise<void> => {
      scene.pass(10)
      await scene.ended(sample(n, { lane }), verdict('done', { keepMs }))
    }
    const from = scene.now
    for (const n of [1, 2, 3]) await ending(n, 'a')
    await ending(4, 'a', MINUTE)
    await ending(101, 'ab')
    await ending(201, null)
    await scene.insert(sample(301, { lane: 'a' }))
    await scene.changeOne('bury', idOf(301))
    assert.deepEqual(await inLane('a'), [4, 3, 2, 1].map(idOf))
    assert.deepEqual(await inLane('ab'), [idOf(101)])
    assert.deepEqual(await inLane(''), [idOf(201)])
    assert.deepEqual(await inLane('a', 'dead'), [idOf(301)])
    assert.deepEqual(await inLane('a', 'failed'), [])
    assert.deepEqual(await inLane('a', 'done', { after: from + 20, before: from + 40 }), [3, 2].map(idOf))
    assert.deepEqual(await pagesOf(scene, 'done', 'a'), [4, 3, 2, 1].map(idOf))

    await scene.changeOne('remove', idOf(3))
    await scene.changeOne('retry', idOf(301))
    scene.pass(2 * MINUTE)
    await scene.prune()

    assert.deepEqual(await inLane('a'), [2, 1].map(idOf))
    assert.deepEqual(await inLane('a', 'dead'), [])
    const count = { space: SPACE, queue: QUEUE, state: 'done', where: { lane: 'a' } } as const
    assert.deepEqual(await scene.store.count(count), { count: 2 })
    assert.deepEqual(await scene.store.count({ ...count, limit: 1 }), { count: 1 })
  })

  test('tells what its lanes are doing', async (scene) => {
    await scene.insert(...laned('a', 3), ...laned('b', 1, 101))
    await scene.take({ limit: 3 })

    const { lanes, queue, shared } = await scene.store.lanes({
      space: SPACE,
      queue: QUEUE,
      limit: 10,
      now: scene.now,
    })

    assert.deepEqual(
      lanes.map(({ lane, running, occupant }) => [lane, running, occupant]),
      [
        ['a', 2, null],
        ['b', 1, null],
      ],
    )
    assert.deepEqual([queue?.running, shared], [3, null])
  })

  test('says nothing of the lanes of a queue without any', async (scene) => {
    await scene.insert(sample(1))

    const { lanes, queue } = await scene.store.lanes({
      space: SPACE,
      queue: QUEUE,
      limit: 10,
      now: scene.now,
    })

    assert.deepEqual([lanes, queue], [[], null])
  })

  test('goes on where it was after lanes were pruned', async (scene) => {
    await scene.insert(...laned('a', 2), ...laned('b', 2, 101))
    for (const job of await scene.take()) await scene.settle(job, verdict('done', { keepMs: null }))
    scene.pass(MINUTE)
    await scene.prune()

    await scene.insert(...laned('a', 2, 201), ...laned('b', 2, 301))

    assert.equal(lanesOf(await scene.take({ limit: 10 })), 'abab')
  })

  test('serves hundreds of lanes in one claim', async (scene) => {
    const jobs = Array.from({ length: 1_000 }, (_, n) => sample(n + 1, { lane: `lane ${n % 500}` }))
    await scene.insert(...jobs)

    const first = await scene.take({ limit: 500 })
    const second = await scene.take({ limit: 1_000 })

    assert.equal(new Set(first.map(({ lane }) => lane)).size, 250)
    assert.equal(new Set(first.map(({ id }) => id)).size, 500)
    assert.equal(new Set(second.map(({ lane }) => lane)).size, 250)
    assert.equal(second.length, 500)
  })

  test('takes a portion of each lane if the claim is large', async (scene) => {
    await scene.limit({ concurrency: 14 })
    await scene.limit({ weight: 2 }, { queue: QUEUE, lane: 'b' })
    await scene.insert(...laned('a', 9), ...laned('b', 9, 101), ...laned('c', 2, 201), ...laned('d', 9, 301))

    const jobs = await scene.take({ limit: 200 })

    assert.equal(lanesOf(jobs), 'aaabbbccdddbbb')
  })

  test('keeps the turn of lanes that a large claim did not reach', async (scene) => {
    await scene.limit({ concurrency: 3 })
    await scene.insert(...laned('a', 20), ...laned('b', 20, 101))
    const first = await scene.take({ limit: 200 })
    await scene.insert(sample(200, { lane: 'b' }))
    for (const job of first) await scene.settle(job, verdict('done', { keepMs: null }))

    const second = await scene.take({ limit: 3 })

    assert.equal(lanesOf(first) + lanesOf(second), 'aaabbb')
  })

  test('takes what limited lanes have room for, and no more than is wanted, if the claim is large', async (scene) => {
    await scene.limit({ concurrency: 6, laneConcurrency: 2 })
    await scene.insert(
      ...laned('a', 5),
      sample(100, { lane: 'b' }),
      ...laned('c', 5, 201),
      ...laned('d', 5, 301),
    )
    const end = async (jobs: readonly ClaimedJob[]): Promise<void> => {
      for (const job of jobs) await scene.settle(job, verdict('done', { keepMs: null }))
    }

    const first = await scene.take({ limit: 200 })
    await end([...first.slice(0, 1), ...first.slice(-1)])
    const second = await scene.take({ limit: 200 })
    await end(second)
    const third = await scene.take({ limit: 3 })

    assert.deepEqual([first, second, third].map(lanesOf), ['aabccd', 'dd', 'ad'])
  })

  test('takes a portion again when all have had one', async (scene) => {
    await scene.insert(...laned('a', 300), ...laned('b', 300, 1_001), ...laned('c', 5, 2_001))

    const jobs = await scene.take({ limit: 128 })

    assert.equal(lanesOf(jobs.slice(0, 18)), 'aabbccaabbccaabbca')
    assert.equal(jobs.filter(({ lane }) => lane === 'b').length, 61)
  })

  test('lets a lane that comes in start before all that wait', async (scene) => {
    for (const [n, lane] of ['a', 'b', 'c', 'd', 'e', 'f'].entries())
      await scene.insert(...laned(lane, 50, 100 * (n + 1)))
    await scene.take({ limit: 8 })

    await scene.insert(...laned('z', 2, 1))

    assert.equal(lanesOf(await scene.take({ limit: 3 })), 'zcd')
  })

  test('keeps lanes whose keys differ only in case, space or accent apart', async (scene) => {
    await scene.limit({ laneConcurrency: 1 })
    const keys = ['a', 'A', 'a ', 'á', 'ａ', '%', '_', "'", '"', '\\', '{}', 'null', '😀']
    await scene.insert(...keys.flatMap((lane, n) => laned(lane, 2, 10 * n + 1)))

    const jobs = await scene.take()

    assert.deepEqual(new Set(jobs.map(({ lane }) => lane)), new Set(keys))
    assert.equal(jobs.length, keys.length)
  })
}

/** Jobs of one lane. */
export function laned(lane: string, count: number, from = 1, difference: Partial<NewJob> = {}): NewJob[] {
  return samples(count, { lane, ...difference }, from)
}

/** The jobs of a lane, a page for each. */
async function pagesOf(scene: Scene, state: JobState, lane: string): Promise<string[]> {
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const call = { space: SPACE, queue: QUEUE, state, where: { lane }, limit: 1, cursor }
    const page: Awaited<ReturnType<Scene['store']['list']>> = await scene.store.list(call)
    seen.push(...idsOf(page.jobs))
    cursor = page.cursor
  } while (cursor !== null)
  return seen
}

/** The lanes of jobs, a letter each. */
function lanesOf(jobs: readonly ClaimedJob[]): string {
  return jobs.map(({ lane }) => lane ?? '-').join('')
}
