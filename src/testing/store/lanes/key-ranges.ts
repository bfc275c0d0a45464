import assert from 'node:assert/strict'
import type { ClaimedJob } from '../../../core/jobs/job.ts'
import { isInRange, type KeyRange, keyOf, parseKeyRange } from '../../../core/lanes/key-range.ts'
import type { ClaimCall, Source } from '../../../store/store.ts'
import { idOf, idsOf, MINUTE, QUEUE, sample, samples, verdict } from '../samples.ts'
import { type Scene, type StoreCase, source } from '../scene.ts'
import { laned } from './lanes.ts'

const QUARTERS = ['-40', '40-80', '80-c0', 'c0-'].map(parseKeyRange)
const LOW = parseKeyRange('-80')
const HIGH = parseKeyRange('80-')

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('')
/** Lanes of one letter in the first half of the keys, and in the second. */
const [A, B, C] = LETTERS.filter((lane) => keyOf(lane) < 0x8000) as [string, string, string]
const [X, Y, Z] = LETTERS.filter((lane) => keyOf(lane) >= 0x8000) as [string, string, string]

const inRange = (keys: KeyRange, more: Partial<Source> = {}): Partial<ClaimCall> => ({
  sources: [{ ...source(), keys, ...more }],
})

function take(scene: Scene, keys: KeyRange, more: Partial<ClaimCall> = {}): Promise<readonly ClaimedJob[]> {
  return scene.take({ ...inRange(keys), ...more })
}

const lanesOf = (jobs: readonly ClaimedJob[]): string => jobs.map(({ lane }) => lane ?? '-').join('')

/** Claims from a part of the keys. */
export function keyRangeCases(test: StoreCase): void {
  partCases(test)
  turnCases(test)
  limitCases(test)
}

function partCases(test: StoreCase): void {
  test('gives the jobs of each range to whoever asks for it, and all of them in all', async (scene) => {
    const jobs = Array.from({ length: 600 }, (_, n) => sample(n + 1, { lane: `lane ${n % 300}` }))
    await scene.insert(...jobs, ...samples(5, {}, 1_001))

    const parts = await Promise.all(QUARTERS.map((keys) => take(scene, keys)))

    for (const [n, part] of parts.entries()) {
      const wrong = part.filter(({ lane }) => !isInRange(QUARTERS[n] as KeyRange, lane))
      assert.deepEqual(idsOf(wrong), [], 'only jobs of its range')
      assert.ok(part.length > 100, `a quarter has about a quarter of the lanes, and not ${part.length} jobs`)
    }
    const all = parts.flatMap(idsOf)
    assert.equal(all.length, 605)
    assert.equal(new Set(all).size, 605)
    assert.equal(parts[0]?.filter(({ lane }) => lane === null).length, 5)
    assert.deepEqual(await scene.take(), [])
  })

  test('leaves what is outside of the range as it is, for a claim without one', async (scene) => {
    await scene.insert(...laned(A, 2), ...laned(X, 2, 101))
    const before = await scene.job(idOf(101))

    const low = await take(scene, LOW)

    assert.deepEqual(idsOf(low), [idOf(1), idOf(2)])
    assert.deepEqual(await take(scene, LOW), [])
    assert.deepEqual(await scene.job(idOf(101)), before)
    assert.deepEqual(idsOf(await scene.take()), [idOf(101), idOf(102)])
  })

  test('takes of the named jobs those in the range, and passes the others over', async (scene) => {
    await scene.insert(...laned(A, 2), ...laned(X, 2, 101), sample(201))
    const ids = [101, 1, 201].map(idOf)

    const high = await take(scene, HIGH, { ids })
    const low = await take(scene, LOW, { ids })

    assert.deepEqual([idsOf(high), idsOf(low)], [[idOf(101)], [idOf(1), idOf(201)]])
    assert.deepEqual(await scene.states(...[2, 102].map(idOf)), ['ready', 'ready'])
  })

  test('has the jobs of a queue without lanes in the first range', async (scene) => {
    await scene.insert(...samples(3), sample(4, { delayMs: MINUTE }))

    const high = await scene.claim(inRange(HIGH))
    const named = await take(scene, HIGH, { ids: [idOf(1)] })
    const low = await take(scene, LOW)

    assert.deepEqual([high.jobs, named, low.length], [[], [], 3])
    assert.equal(high.nextDueAt, scene.now + MINUTE)
    scene.pass(MINUTE)
    assert.deepEqual(await take(scene, HIGH), [])
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(4)])
  })

  test('takes from several ranges by several sources', async (scene) => {
    await scene.insert(...LETTERS.flatMap((lane, n) => laned(lane, 1, 10 * (n + 1))))
    const keys = [QUARTERS[0], QUARTERS[3]] as [KeyRange, KeyRange]

    const jobs = await scene.take({ sources: keys.map((range) => ({ ...source(), keys: range })) })

    const expected = LETTERS.filter((lane) => keys.some((range) => isInRange(range, lane)))
    assert.deepEqual(lanesOf(jobs).split('').sort(), expected)
  })

  test('tells what its token holds, whatever the range is', async (scene) => {
    await scene.insert(...laned(A, 1), ...laned(X, 1, 101))
    const call = scene.call()
    await scene.store.claim(call)

    const again = await scene.store.claim({ ...call, ...inRange(HIGH), again: true })

    assert.deepEqual(idsOf(again.jobs).sort(), [idOf(1), idOf(101)])
  })

  test('claims from a range along with a settlement', async (scene) => {
    await scene.insert(...laned(A, 2), ...laned(X, 2, 101))
    const [held] = (await take(scene, HIGH, { limit: 1 })) as [ClaimedJob]
    const { now: _, ...claim } = scene.call(inRange(HIGH))

    const reply = await scene.store.settle({
      settlements: [{ space: held.space, id: held.id, token: held.token, verdict: verdict('ready') }],
      claim,
      now: scene.now,
    })

    assert.deepEqual(idsOf(reply.claimed?.jobs ?? []).sort(), [idOf(101), idOf(102)])
  })
}

function turnCases(test: StoreCase): void {
  test('serves the lanes of a range in turn, however much waits beside it', async (scene) => {
    await scene.insert(...laned(A, 40), ...laned(B, 2, 201), ...laned(C, 1, 301))
    for (const [n, lane] of [X, Y, Z].entries()) await scene.insert(...laned(lane, 40, 1_000 * (n + 1)))

    const jobs = await take(scene, LOW, { limit: 8 })

    assert.equal(lanesOf(jobs), `${A}${B}${C}${A}${B}${A}${A}${A}`)
  })

  test('lets nobody save up turns in a range that was not served for long', async (scene) => {
    await scene.insert(...laned(X, 60), ...laned(A, 60, 1_001), ...laned(B, 60, 2_001))
    await take(scene, HIGH, { limit: 1 })
    assert.equal((await take(scene, LOW, { limit: 100 })).length, 100)

    await scene.insert(...laned(Y, 20, 3_001))

    const lanes = lanesOf(await take(scene, HIGH, { limit: 12 }))
    assert.ok(lanes.slice(0, 3).includes(Y), `the lane that came last is among the first: ${lanes}`)
    assert.ok(Math.abs(lanes.replaceAll(X, '').length - 6) <= 1, `both have their share: ${lanes}`)
  })

  test('serves a range that was left aside with the others, once somebody asks for all', async (scene) => {
    await scene.insert(...laned(A, 60, 1_001), ...laned(X, 60))
    assert.equal((await take(scene, LOW, { limit: 40 })).length, 40)

    const lanes = lanesOf(await scene.take({ limit: 10 }))

    const high = lanes.replaceAll(A, '').length
    assert.ok(high >= 4 && high <= 7, `neither is kept waiting for the other: ${lanes}`)
  })

  test('serves hundreds of lanes of a range in one claim, each a portion', async (scene) => {
    const jobs = Array.from({ length: 2_000 }, (_, n) => sample(n + 1, { lane: `lane ${n % 500}` }))
    await scene.insert(...jobs)
    const inHigh = new Set(jobs.flatMap(({ lane }) => (isInRange(HIGH, lane) ? [lane] : [])))

    const first = await take(scene, HIGH, { limit: 128 })
    const rest = await take(scene, HIGH, { limit: 2_000 })

    assert.equal(new Set(first.map(({ lane }) => lane)).size, 64)
    assert.equal(new Set([...first, ...rest].map(({ id }) => id)).size, 4 * inHigh.size)
    assert.ok([...first, ...rest].every(({ lane }) => inHigh.has(lane)))
  })

  test('finds lanes that come and come back: new, retried, promoted, after a prune', async (scene) => {
    await scene.insert(...laned(A, 1))
    const [held] = (await take(scene, LOW)) as [ClaimedJob]
    await scene.settle(held, verdict('ready'))
    await scene.insert(sample(2, { lane: B, delayMs: MINUTE }), sample(3, { lane: X }), sample(4))
    assert.deepEqual(idsOf(await take(scene, LOW)).sort(), [idOf(1), idOf(4)])
    scene.pass(MINUTE)
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(2)])

    const jobs = await scene.list('running')
    const settlements = jobs.map(({ space, id, token }) => ({
      space,
      id,
      token: token as string,
      verdict: verdict('done', { keepMs: null }),
    }))
    await scene.settleAll(settlements)
    scene.pass(MINUTE)
    await scene.prune()
    await scene.insert(...laned(A, 1, 10), ...laned(C, 1, 20))

    assert.deepEqual(idsOf(await take(scene, LOW)).sort(), [idOf(10), idOf(20)])
    assert.deepEqual(idsOf(await take(scene, HIGH)), [idOf(3)])
  })
}

function limitCases(test: StoreCase): void {
  test('keeps the limits of a queue over all ranges together', async (scene) => {
    await scene.limit({ concurrency: 5, laneConcurrency: 2 })
    await scene.insert(...laned(A, 9), ...laned(B, 9, 101), ...laned(X, 9, 201), ...laned(Y, 9, 301))

    const low = await take(scene, LOW)
    const high = await take(scene, HIGH)

    assert.equal(lanesOf(low).split('').sort().join(''), `${A}${A}${B}${B}`)
    assert.equal(high.length, 1)
    await scene.settle(low[0] as ClaimedJob, verdict('done'))
    assert.equal((await take(scene, HIGH)).length, 1)
    assert.deepEqual(await take(scene, LOW), [])
  })

  test('keeps to rates in a range, and tells when the next one may start', async (scene) => {
    await scene.limit({ laneRate: { limit: 1, perMs: MINUTE, burst: 1 } })
    await scene.insert(...laned(A, 2), ...laned(X, 2, 101))
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(1)])

    const reply = await scene.claim(inRange(LOW))

    assert.deepEqual(reply.jobs, [])
    assert.ok(
      reply.nextDueAt !== null && reply.nextDueAt > scene.now && reply.nextDueAt <= scene.now + MINUTE,
    )
    scene.pass(MINUTE)
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(2)])
    assert.deepEqual(idsOf(await take(scene, HIGH)), [idOf(101)])
  })

  test('keeps the order of strict lanes in a range', async (scene) => {
    await scene.limit({ strict: true })
    await scene.insert(...laned(A, 2, 1, { strict: true }), ...laned(X, 2, 101, { strict: true }))
    const [first] = (await take(scene, HIGH)) as [ClaimedJob]
    await scene.settle(first, verdict('delayed'))

    assert.deepEqual(await take(scene, HIGH), [])
    scene.pass(MINUTE)
    assert.deepEqual(idsOf(await take(scene, HIGH)), [idOf(101)])
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(1)])
  })

  test('starts nothing of a lane that is held, and nothing of a queue that is', async (scene) => {
    await scene.insert(...laned(A, 1), ...laned(B, 1, 101))
    await scene.hold('pause', { lane: A })

    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(101)])
    await scene.release('pause', { lane: A })
    await scene.hold('block', { queue: QUEUE })
    assert.deepEqual(await take(scene, LOW), [])
    await scene.release('block', { queue: QUEUE })
    assert.deepEqual(idsOf(await take(scene, LOW)), [idOf(1)])
  })
}
