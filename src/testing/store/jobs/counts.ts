import assert from 'node:assert/strict'
import type { JobState } from '../../../core/jobs/job.ts'
import { STRICT_PRIORITY_SCALE } from '../../../core/jobs/priority.ts'
import type { QueueCounts } from '../../../store/store.ts'
import { auditStore } from '../../invariants.ts'
import {
  HOUR,
  idOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

/** The states of a queue that are not zero. */
async function countsOf(
  scene: Scene,
  queue: string,
  space: string = SPACE,
): Promise<Partial<Record<JobState, number>>> {
  const { queues } = await scene.store.counts({ space, now: scene.now })
  const states: Partial<Record<JobState, number>> =
    queues.find((entry) => entry.queue === queue)?.states ?? {}
  return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0))
}

/** The same with what is known of the waiting ones. */
async function overallOf(
  scene: Scene,
): Promise<
  Partial<Record<JobState, number>> & { readonly overdue: number; readonly oldestDueAt: number | null }
> {
  const { queues } = await scene.store.counts({ space: SPACE, queues: [QUEUE], now: scene.now })
  const { overdue, oldestDueAt } = queues[0] as QueueCounts
  return { ...(await countsOf(scene, QUEUE)), overdue, oldestDueAt }
}

export function countsCases(test: StoreCase): void {
  test('counts nothing where nothing is', async (scene) => {
    assert.deepEqual(await countsOf(scene, QUEUE), {})
  })

  test('counts each queue of a space by itself', async (scene) => {
    await scene.insert(
      ...samples(3),
      sample(4, { delayMs: HOUR }),
      sample(5, { queue: OTHER_QUEUE }),
      sample(6, { space: OTHER_SPACE }),
    )

    assert.deepEqual(await countsOf(scene, QUEUE), { ready: 3, delayed: 1 })
    assert.deepEqual(await countsOf(scene, OTHER_QUEUE), { ready: 1 })
    assert.deepEqual(await countsOf(scene, QUEUE, OTHER_SPACE), { ready: 1 })
    assert.deepEqual(await countsOf(scene, OTHER_QUEUE, OTHER_SPACE), {})
  })

  test('counts only the queues asked for', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))

    const { queues } = await scene.store.counts({ space: SPACE, queues: [OTHER_QUEUE], now: scene.now })

    assert.deepEqual(
      queues.map(({ queue, states }) => [queue, states.ready]),
      [[OTHER_QUEUE, 1]],
    )
  })

  test('returns the time of its clock', async (scene) => {
    const { now } = await scene.store.counts({ space: SPACE, now: scene.now })
    const { now: own } = await scene.store.counts({ space: SPACE, queues: [] })

    assert.deepEqual([now, Number.isSafeInteger(own)], [scene.now, true])
  })

  test('counts a delayed job as ready once it is due, although no claim came', async (scene) => {
    await scene.insert(sample(1, { delayMs: MINUTE }), sample(2, { delayMs: HOUR }))

    scene.pass(MINUTE - 1)
    const before = await overallOf(scene)
    scene.pass(1)
    const due = await overallOf(scene)
    scene.pass(HOUR)
    const later = await overallOf(scene)

    assert.deepEqual(before, { delayed: 2, overdue: 0, oldestDueAt: null })
    assert.deepEqual(due, { delayed: 1, ready: 1, overdue: 1, oldestDueAt: START + MINUTE })
    assert.deepEqual(later, { ready: 2, overdue: 2, oldestDueAt: START + MINUTE })
  })

  test('counts what is due where nothing may start: held, paused lanes, full lanes', async (scene) => {
    const own = { delayMs: MINUTE }
    await scene.insert(sample(1, own), sample(2, { ...own, lane: 'a' }), sample(3, { lane: 'b' }))
    await scene.limit({ laneConcurrency: 1 })
    await scene.take({ ids: [idOf(3)] })
    await scene.insert(sample(4, { ...own, lane: 'b' }))
    await scene.hold('pause', { lane: 'a' })
    scene.pass(2 * MINUTE)

    const unclaimed = await overallOf(scene)
    await scene.take({ limit: 1 })
    const claimed = await overallOf(scene)

    assert.deepEqual(unclaimed, { ready: 3, running: 1, overdue: 3, oldestDueAt: START + MINUTE })
    assert.deepEqual(claimed, { ready: 2, running: 2, overdue: 0, oldestDueAt: START + MINUTE })
    await scene.hold('pause')
    await scene.insert(sample(5, { delayMs: 1 }))
    scene.pass(1)
    await scene.take()
    assert.deepEqual(await overallOf(scene), {
      ready: 3,
      running: 2,
      overdue: 1,
      oldestDueAt: START + MINUTE,
    })
  })

  test('knows no more overdue jobs than there are when some leave unclaimed', async (scene) => {
    await scene.insert(...samples(5, { delayMs: MINUTE }))
    scene.pass(MINUTE)

    await scene.change('cancel', { ids: [idOf(1)] })
    await scene.change('promote', { ids: [idOf(2)] })
    await scene.take({ ids: [idOf(3)] })

    assert.deepEqual(await overallOf(scene), {
      cancelled: 1,
      ready: 3,
      running: 1,
      overdue: 2,
      oldestDueAt: START + MINUTE,
    })
  })

  test('counts any number of overdue jobs without a claim', async (scene) => {
    const many = 1_050
    for (let n = 0; n < many; n += 50) await scene.insert(...samples(50, { delayMs: MINUTE }, n + 1))
    scene.pass(MINUTE)

    const due = await overallOf(scene)
    scene.pass(2_000)
    await scene.take({ limit: 1 })
    const claimed = await overallOf(scene)
    scene.pass(HOUR)
    const later = await overallOf(scene)

    assert.deepEqual(due, { ready: many, overdue: many, oldestDueAt: START + MINUTE })
    // A claim may make some of them ready that it does not take.
    assert.deepEqual([claimed.ready, claimed.running, claimed.delayed], [many - 1, 1, undefined])
    assert.deepEqual([later.ready, later.running, later.delayed], [many - 1, 1, undefined])
  })

  test('counts overdue jobs to the millisecond, whenever each became due', async (scene) => {
    // To either side of the borders of a second, of five minutes, of an hour and of a day.
    const delays = [1_000, 5 * MINUTE, HOUR, 24 * HOUR, 40 * 24 * HOUR].flatMap((border) => {
      const at = Math.ceil((scene.now + border) / border) * border - scene.now
      return [at - 1, at, at + 1, at + 999]
    })
    await scene.insert(...delays.flatMap((delayMs, n) => samples(3, { delayMs }, 3 * n + 1)))
    const start = scene.now
    const expected: (readonly [number, number])[] = []
    const found: (readonly [number, number])[] = []

    for (const delay of delays.toSorted((a, b) => a - b)) {
      for (const passed of [delay - 1, delay]) {
        const { queues } = await scene.store.counts({ space: SPACE, queues: [QUEUE], now: start + passed })
        const { overdue, states } = queues[0] as QueueCounts
        found.push([overdue, states.delayed])
        const due = 3 * delays.filter((one) => one <= passed).length
        expected.push([due, 3 * delays.length - due])
      }
    }

    assert.deepEqual(found, expected)
  })

  test('counts overdue jobs right while they are moved in every way', async (scene) => {
    await scene.insert(
      ...samples(12, { delayMs: MINUTE }),
      ...samples(4, { delayMs: HOUR }, 21),
      ...samples(3, {}, 31),
    )
    const held = await scene.take()
    await scene.settleAll(
      held.map(({ space, id, token }, n) => ({
        space,
        id,
        token,
        verdict: verdict('delayed', { delayMs: (n + 1) * 20_000 }),
      })),
    )
    await scene.change('reschedule', { ids: [idOf(1)] }, { dueAt: START + HOUR })
    await scene.change('reschedule', { ids: [idOf(2)] }, { dueAt: START + 30_000 })
    await scene.change('reschedule', { ids: [idOf(21)] }, { dueAt: START + 30_001 })
    await scene.change('promote', { ids: [idOf(3), idOf(22)] })
    await scene.change('cancel', { ids: [idOf(4)] })
    await scene.change('remove', { ids: [idOf(5)] })
    await scene.change('bury', { ids: [idOf(23)] })
    await scene.change('prioritize', { ids: [idOf(6)] }, { priority: 3 })
    const key = unique('key', { onConflict: 'replace' })
    await scene.insert(sample(41, { delayMs: MINUTE, unique: key }))
    await scene.insert(sample(42, { delayMs: HOUR, unique: key }))

    const overdue: number[] = []
    for (const passed of [19_999, 20_000, 30_000, 30_001, 40_000, MINUTE - 1, MINUTE, HOUR - 1, HOUR]) {
      const call = { space: SPACE, queues: [QUEUE], now: START + passed }
      overdue.push((await scene.store.counts(call)).queues[0]?.overdue ?? -1)
    }
    scene.pass(HOUR)
    await scene.take({ ids: [idOf(1)] })
    const named = await overallOf(scene)
    while ((await scene.take()).length > 0);

    // Of 12 due in a minute one was put off, one put forward, one is ready, two have left; three came back from a run.
    assert.deepEqual(overdue, [0, 1, 2, 3, 4, 4, 12, 12, 15])
    assert.deepEqual([named.ready, named.overdue, named.delayed], [16, 14, undefined])
    assert.deepEqual((await overallOf(scene)).overdue, 0)
  })

  test('tells since when the oldest job waits, and not the one that is next', async (scene) => {
    const oldest: (number | null)[] = []
    const look = async (): Promise<void> => void oldest.push((await overallOf(scene)).oldestDueAt)
    await scene.insert(sample(1, { delayMs: HOUR }))
    await look()
    scene.pass(MINUTE)
    await scene.insert(sample(2))
    scene.pass(MINUTE)
    await scene.insert(sample(3, { priority: 5 }), sample(4, { priority: -5 }))
    await look()
    await scene.take({ ids: [idOf(2)] })
    await look()
    await scene.take({ ids: [idOf(3)] })
    await look()
    await scene.take()
    await look()
    scene.pass(HOUR)
    await look()

    const second = START + 2 * MINUTE
    assert.deepEqual(oldest, [null, START + MINUTE, second, second, null, START + HOUR])
  })

  test('tells the age of a job of low priority behind newer ones', async (scene) => {
    await scene.insert(sample(1, { priority: -3 }))
    scene.pass(MINUTE)
    await scene.insert(...samples(20, {}, 10), ...samples(20, { priority: 2 }, 40))
    const low = (await overallOf(scene)).oldestDueAt
    await scene.change('prioritize', { ids: [idOf(1)] }, { priority: 0 })
    const plain = (await overallOf(scene)).oldestDueAt
    await scene.take({ ids: [idOf(1)] })
    const others = (await overallOf(scene)).oldestDueAt

    assert.deepEqual([low, plain, others], [START, START, START + MINUTE])
  })

  test('finds the oldest job behind any number with a priority', async (scene) => {
    await scene.insert(sample(1), sample(2))
    scene.pass(3_000)
    for (let n = 0; n < 300; n += 50) await scene.insert(...samples(50, { priority: 1 }, n + 100))
    const first = (await overallOf(scene)).oldestDueAt
    scene.pass(2_000)
    await scene.insert(sample(3), ...samples(250, { priority: 5 }, 1_000))
    const second = (await overallOf(scene)).oldestDueAt
    await scene.take({ limit: 120 })
    const third = (await overallOf(scene)).oldestDueAt
    await scene.take({ ids: [idOf(1)] })
    const fourth = (await overallOf(scene)).oldestDueAt
    await scene.change('cancel', { ids: [idOf(2)] })
    const fifth = (await overallOf(scene)).oldestDueAt
    await scene.take({ limit: 430 })
    const sixth = (await overallOf(scene)).oldestDueAt
    await scene.take()
    const seventh = (await overallOf(scene)).oldestDueAt

    assert.deepEqual(
      [first, second, third, fourth, fifth, sixth, seventh],
      [START, START, START, START, START + 3_000, START + 5_000, null],
    )
  })

  test('finds a job that comes back to its place behind any number with a priority', async (scene) => {
    await scene.insert(sample(1), sample(2, { delayMs: 1_000 }), sample(3), sample(4))
    const held = await scene.take({ limit: 1 })
    scene.pass(MINUTE)
    for (let n = 0; n < 250; n += 50) await scene.insert(...samples(50, { priority: 1 }, n + 100))
    await scene.change('bury', { ids: [idOf(3), idOf(4)] })
    const some = await overallOf(scene)
    await scene.settleAll(
      held.map(({ space, id, token }) => ({
        space,
        id,
        token,
        verdict: verdict('ready', { keepPlace: true }),
      })),
    )
    const back = await overallOf(scene)
    await scene.change('remove', { ids: [idOf(1)] })
    await scene.take({ limit: 10 })
    const promoted = await overallOf(scene)
    await scene.change('prioritize', { ids: [idOf(2)] }, { priority: -2 })
    const low = await overallOf(scene)
    await scene.change('prioritize', { ids: [idOf(2)] }, { priority: 0 })
    const plain = await overallOf(scene)

    assert.deepEqual(
      [some, back, promoted, low, plain].map(({ oldestDueAt }) => oldestDueAt),
      [START + 1_000, START, START + 1_000, START + 1_000, START + 1_000],
    )
  })

  test('finds the oldest job behind any number of strict priorities', async (scene) => {
    await scene.insert(sample(1))
    scene.pass(MINUTE)
    const many = 250
    const priority = STRICT_PRIORITY_SCALE
    for (let n = 0; n < many; n += 50) await scene.insert(...samples(50, { priority }, n + 100))

    assert.equal((await overallOf(scene)).oldestDueAt, START)
  })

  test('tells the age of a job in a paused lane while others flow', async (scene) => {
    await scene.insert(sample(1, { lane: 'slow' }), sample(2, { lane: 'slow' }))
    await scene.hold('pause', { lane: 'slow' })
    const oldest: (number | null)[] = []
    for (let n = 0; n < 5; n++) {
      scene.pass(MINUTE)
      await scene.insert(...samples(4, { lane: `fast-${n}` }, 10 + 4 * n), sample(50 + n))
      await scene.take({ limit: 3 })
      oldest.push((await overallOf(scene)).oldestDueAt)
    }

    assert.deepEqual(oldest, Array(5).fill(START))
  })

  test('tells the age of a starved job in any of very many lanes', async (scene) => {
    const lanes = 1_200
    await scene.insert(sample(1, { lane: 'lane-0700' }))
    scene.pass(MINUTE)
    for (let n = 0; n < lanes; n += 100) {
      const some = samples(100, {}, n + 100)
      await scene.insert(
        ...some.map((job, i) => ({ ...job, lane: `lane-${String(n + i).padStart(4, '0')}` })),
      )
    }

    const first = (await overallOf(scene)).oldestDueAt
    await scene.take({ ids: [idOf(1)] })

    assert.deepEqual([first, (await overallOf(scene)).oldestDueAt], [START, START + MINUTE])
  })

  test('tells the age of strict jobs, whose place is their arrival', async (scene) => {
    await scene.limit({ strict: true })
    const strict = { lane: 'one', strict: true } as const
    await scene.insert(sample(1, { ...strict, delayMs: HOUR }), sample(2, strict))
    scene.pass(MINUTE)
    await scene.insert(sample(3, strict), sample(4, { ...strict, lane: null }))
    const first = (await overallOf(scene)).oldestDueAt
    await scene.change('cancel', { ids: [idOf(2)] })
    const second = (await overallOf(scene)).oldestDueAt
    await scene.take()

    assert.deepEqual([first, second], [START, START + MINUTE])
  })

  test('tells the age of a job that went back, from when it is due again', async (scene) => {
    await scene.insert(sample(1, { priority: 2 }), sample(2, { lane: 'a' }), sample(3))
    const held = await scene.take()
    scene.pass(MINUTE)
    await scene.settleAll(
      held.map(({ space, id, token }, n) => ({
        space,
        id,
        token,
        verdict:
          n === 0 ? verdict('ready', { keepPlace: true }) : verdict('delayed', { delayMs: n * MINUTE }),
      })),
    )
    const [kept] = held
    const back = await overallOf(scene)
    await scene.take({ ids: [(kept as { id: string }).id] })
    scene.pass(3 * MINUTE)

    assert.deepEqual(back, { ready: 1, delayed: 2, overdue: 0, oldestDueAt: START })
    assert.deepEqual(await overallOf(scene), {
      ready: 2,
      running: 1,
      overdue: 2,
      oldestDueAt: START + 2 * MINUTE,
    })
  })

  test('agrees with the jobs after every step of many lives', async (scene) => {
    const queues = [QUEUE, OTHER_QUEUE]
    const check = async (expected: Partial<Record<JobState, number>>): Promise<void> => {
      assert.deepEqual(await countsOf(scene, QUEUE), expected)
      await auditStore(scene.store, { [SPACE]: queues, [OTHER_SPACE]: queues }, scene.now)
    }

    await scene.insert(...samples(8), ...samples(2, { delayMs: MINUTE }, 11))
    await check({ ready: 8, delayed: 2 })
    await scene.insert(sample(1), sample(20, { unique: unique('k') }), sample(21, { unique: unique('k') }))
    await check({ ready: 9, delayed: 2 })
    await scene.insert(sample(22, { delayMs: HOUR, unique: unique('k', { onConflict: 'replace' }) }))
    await check({ ready: 8, delayed: 3 })
    scene.pass(MINUTE)
    const held = await scene.take({ limit: 6 })
    await check({ ready: 4, delayed: 1, running: 6 })
    const verdicts = [
      verdict('done'),
      verdict('done', { keepMs: null }),
      verdict('failed'),
      verdict('dead'),
      verdict('ready'),
      verdict('delayed'),
    ]
    await scene.settleAll(
      held.map(({ space, id, token }, n) => ({ space, id, token, verdict: verdicts[n] ?? verdict('done') })),
    )
    await check({ ready: 5, delayed: 2, done: 1, failed: 1, dead: 1 })
    await scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 2 })
    await check({ ready: 3, delayed: 2, done: 1, failed: 1, dead: 1, cancelled: 2 })
    await scene.change('retry', { queue: QUEUE, state: 'dead', limit: 9 })
    await scene.change('promote', { queue: QUEUE, state: 'delayed', limit: 1 })
    await scene.change('remove', { queue: QUEUE, state: 'cancelled', limit: 1 })
    await check({ ready: 5, delayed: 1, done: 1, failed: 1, cancelled: 1 })
    scene.pass(30 * 24 * HOUR)
    await scene.prune()
    await check({ ready: 6 })
  })

  test('counts right when many change the same queue at once', async (scene) => {
    await scene.insert(...samples(40))

    await Promise.all([
      scene.insert(...samples(20, {}, 101)),
      scene.insert(...samples(20, { delayMs: HOUR }, 201)),
      scene
        .take({ limit: 10 })
        .then((held) =>
          scene.settleAll(
            held.map(({ space, id, token }) => ({ space, id, token, verdict: verdict('done') })),
          ),
        ),
      scene.take({ limit: 10 }),
      scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 10 }),
    ])

    const counts = await countsOf(scene, QUEUE)
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    assert.equal(total, 80)
    assert.equal(counts.delayed, 20)
  })
}
