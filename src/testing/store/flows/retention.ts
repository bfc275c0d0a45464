import assert from 'node:assert/strict'
import { DAY, idOf, MINUTE, SPACE, sample, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'
import {
  group,
  groupOf,
  make,
  members,
  move,
  outcomesOf,
  readGroup,
  readRun,
  run,
  runOf,
} from './group-samples.ts'

/** What is kept of groups and runs, and for how long: a run whole or not at all. */
export function flowRetentionCases(test: StoreCase): void {
  test('keeps all of a run that lives, however long ago its parts have ended', async (scene) => {
    await grow(scene, 1)
    await grow(scene, 10)

    scene.pass(365 * DAY)
    await scene.prune()

    assert.deepEqual(await left(scene, 1), [3, 2, 2])
    assert.deepEqual(await left(scene, 10), [3, 2, 2])
  })

  test('removes the whole tree of a run, and nothing of another', async (scene) => {
    await grow(scene, 1)
    await grow(scene, 10)
    await end(scene, 1)

    scene.pass(MINUTE - 1)
    await scene.prune()
    assert.deepEqual(await left(scene, 1), [3, 2, 2])
    scene.pass(1)
    await scene.prune()

    assert.deepEqual(await left(scene, 1), [0, 0, 0])
    assert.deepEqual(await left(scene, 10), [3, 2, 2])
    const tree = { space: SPACE, root: runOf(1), branches: true, limit: 10, cursor: null }
    assert.deepEqual((await scene.store.listRuns(tree)).runs, [])
  })

  test('removes many runs in portions, each of them whole', async (scene) => {
    for (let n = 1; n <= 9; n++) await grow(scene, 10 * n)
    for (let n = 1; n <= 8; n++) await end(scene, 10 * n)
    scene.pass(MINUTE)

    for (let calls = 0; calls < 100; calls++) {
      await scene.prune(2)
      // Whoever is found at the top has all that is below.
      for (let n = 1; n <= 9; n++) {
        const { runs } = await scene.store.getRuns({ space: SPACE, ids: [runOf(10 * n)] })
        if (runs[0]) assert.deepEqual(await left(scene, 10 * n), [3, 2, 2])
      }
    }

    for (let n = 1; n <= 8; n++) assert.deepEqual(await left(scene, 10 * n), [0, 0, 0])
    assert.deepEqual(await left(scene, 90), [3, 2, 2])
  })

  test('keeps a run that has begun again', async (scene) => {
    await grow(scene, 1)
    await end(scene, 1)
    await scene.store.moveRuns({ moves: [move(1, 2, { status: 'running' })], now: scene.now })

    scene.pass(DAY)
    await scene.prune()

    assert.deepEqual(await left(scene, 1), [3, 2, 2])
    assert.equal((await readRun(scene, 1)).status, 'running')
  })

  test('keeps the outcome of a job that is gone long before its group has ended', async (scene) => {
    await make(scene, [group(2)], members(2))
    const [first, second] = await scene.take()
    assert.ok(first && second)
    await scene.settle(first, verdict('done', { keepMs: MINUTE, result: '"kept"' }))
    scene.pass(MINUTE)
    await scene.prune()
    assert.equal(await scene.state(first.id), 'none')

    assert.deepEqual(
      (await outcomesOf(scene)).map(({ n, result }) => [n, result]),
      [[0, '"kept"']],
    )
    await scene.settle(second, verdict('done', { keepMs: null }))
    assert.equal(await scene.state(idOf(1_000)), 'ready')
    assert.equal((await outcomesOf(scene)).length, 2)
  })

  test('keeps a group of which a member is mended, until all have ended again', async (scene) => {
    await make(scene, [group(1, { jobs: {}, keepMs: MINUTE })], members(1))
    const [job] = await scene.take()
    assert.ok(job)
    await scene.settle(job, verdict('dead', { keepMs: DAY }))
    scene.pass(MINUTE - 1)
    assert.equal(await scene.changeOne('retry', job.id), 'ok')

    scene.pass(DAY)
    await scene.prune()
    assert.equal((await readGroup(scene)).endedAt, null)
    const [again] = await scene.take()
    assert.ok(again)
    await scene.settle(again, verdict('done'))
    scene.pass(MINUTE)
    await scene.prune()

    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)
  })

  test('lets a member end whose run is gone', async (scene) => {
    await scene.store.insert({ jobs: [], runs: [run(1)], now: scene.now })
    const groups = [group(2, { run: runOf(1), need: 1 })]
    await scene.store.moveRuns({ moves: [move(1, 0, { groups, jobs: members(2) })], now: scene.now })
    const [first, second] = await scene.take()
    assert.ok(first && second)
    await scene.settle(first, verdict('done'))
    await scene.store.moveRuns({ moves: [move(1, 1, { status: 'done', keepMs: 1 })], now: scene.now })
    scene.pass(1)
    await scene.prune()
    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)

    assert.equal((await scene.settle(second, verdict('done'))).status, 'ok')

    assert.deepEqual(await outcomesOf(scene), [])
    const { mended } = await scene.store.auditGroups({ limit: 10, cursor: null, now: scene.now })
    assert.deepEqual(mended, [])
  })
}

/**
 * A run that waits for a branch, which waited for another: all below the top have ended, to be kept for no time. Groups have
 * the numbers of the runs that wait for them.
 */
async function grow(scene: Scene, top: number): Promise<void> {
  const [one, two] = [top + 1, top + 2]
  const branch = (n: number, of: number): ReturnType<typeof run> =>
    run(n, { member: { group: groupOf(of), n: 0 }, root: runOf(top), attributes: [`branch:${n}`] })
  const waits = (n: number): ReturnType<typeof group>[] => [
    group(1, { id: groupOf(n), run: runOf(n), jobs: { success: sample(5_000 + n) }, keepMs: 0 }),
  ]
  await scene.store.insert({ jobs: [], runs: [run(top, { attributes: ['userId:62'] })], now: scene.now })
  const moves = [
    move(top, 0, { groups: waits(top), runs: [branch(one, top)] }),
    move(one, 0, { groups: waits(one), runs: [branch(two, one)] }),
    move(two, 0, { status: 'done', result: '1', keepMs: 0 }),
    move(one, 1, { status: 'done', result: '2', keepMs: 0 }),
  ]
  const { results } = await scene.store.moveRuns({ moves, now: scene.now })
  assert.ok(results.every(({ status }) => status === 'ok'))
}

async function end(scene: Scene, top: number): Promise<void> {
  const moves = [move(top, 1, { status: 'done', keepMs: MINUTE })]
  const { results } = await scene.store.moveRuns({ moves, now: scene.now })
  assert.equal(results[0]?.status, 'ok')
}

/** How many runs, groups and outcomes there are of such a run, and that as many are found by their attributes. */
async function left(scene: Scene, top: number): Promise<[number, number, number]> {
  const ids = [top, top + 1, top + 2]
  const { runs } = await scene.store.getRuns({ space: SPACE, ids: ids.map(runOf) })
  const { groups } = await scene.store.getGroups({ space: SPACE, ids: [top, top + 1].map(groupOf) })
  const outcomes = [
    ...(await outcomesOf(scene, groupOf(top))),
    ...(await outcomesOf(scene, groupOf(top + 1))),
  ]
  const found = await scene.store.listRuns({
    space: SPACE,
    attribute: `branch:${top + 1}`,
    branches: true,
    limit: 10,
    cursor: null,
  })
  const there = runs.filter((one) => one !== null).length
  assert.equal(found.runs.length, Number(there > 0 && runs[1] !== null))
  return [there, groups.filter((one) => one !== null).length, outcomes.length]
}
