import assert from 'node:assert/strict'
import { type Group, NEEDS_ALL, type NewGroup, OPEN } from '../../../core/flows/groups.ts'
import type { NewJob } from '../../../core/jobs/job.ts'
import type { AddMembersReply } from '../../../store/flows.ts'
import { idOf, idsOf, OTHER_SPACE, SPACE, sample, unique } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'
import { end, group, groupOf, make, members, outcomesOf, readGroup } from './group-samples.ts'

function openGroup(difference: Partial<NewGroup> = {}): NewGroup {
  return group(OPEN, { need: NEEDS_ALL, ...difference })
}

async function add(
  scene: Scene,
  jobs: readonly NewJob[],
  { seal = false, again = false, space = SPACE, to = groupOf(1) } = {},
): Promise<AddMembersReply> {
  return scene.store.addMembers({ space, group: to, jobs, seal, again, now: scene.now })
}

/** Members join a group over time; it fires when it is sealed and all have ended, and never before (V63). */
export function openGroupCases(test: StoreCase): void {
  test('waits for the seal, although all have ended', async (scene) => {
    await make(scene, [openGroup()], [])
    assert.equal((await add(scene, members(2))).size, 2)
    await end(scene, 'done', 1, 2)
    assert.deepEqual(pick(await readGroup(scene)), {
      size: OPEN - 2,
      done: 2,
      failed: 0,
      fired: [],
      endedAt: null,
    })

    const { status, size, enqueued } = await add(scene, [], { seal: true })

    assert.deepEqual([status, size, enqueued.length], ['ok', 2, 1])
    const fired = ['success', 'settled']
    assert.deepEqual(pick(await readGroup(scene)), { size: 2, done: 2, failed: 0, fired, endedAt: scene.now })
    assert.deepEqual(idsOf(await scene.take()), [idOf(1_000)])
  })

  test('waits for its members after the seal', async (scene) => {
    await make(scene, [openGroup()], [])
    await add(scene, members(1))
    await add(scene, members(2, groupOf(1), 2), { seal: true })
    await end(scene, 'done', 2, 3)
    assert.equal(await scene.state(idOf(1_000)), 'none')

    await end(scene, 'done', 1)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
    assert.deepEqual(
      (await outcomesOf(scene)).map(({ n, id }) => [n, id]),
      [1, 2, 3].map((n) => [n - 1, idOf(n)]),
    )
  })

  test('lets nobody in once it is sealed, and writes nothing', async (scene) => {
    await make(scene, [openGroup()], [])
    await add(scene, members(1), { seal: true })

    assert.equal((await add(scene, members(1, groupOf(1), 2))).status, 'sealed')
    assert.equal((await add(scene, members(1, groupOf(1), 2), { seal: true })).status, 'sealed')
    assert.equal((await add(scene, [], { seal: true })).status, 'ok')

    assert.equal(await scene.state(idOf(2)), 'none')
    assert.equal((await readGroup(scene)).size, 1)
  })

  test('is over at once if it is sealed and nobody has joined', async (scene) => {
    await make(scene, [openGroup()], [])

    await add(scene, [], { seal: true })

    assert.equal(await scene.state(idOf(1_000)), 'ready')
    assert.equal((await readGroup(scene)).endedAt, scene.now)
  })

  test('adds and seals once, however often it is said', async (scene) => {
    await make(scene, [openGroup()], [])
    await add(scene, members(2))
    await add(scene, members(2), { again: true })
    await end(scene, 'done', 1, 2)
    await add(scene, members(2), { again: true })
    await add(scene, members(1, groupOf(1), 3), { seal: true })
    assert.equal((await add(scene, members(1, groupOf(1), 3), { seal: true, again: true })).status, 'ok')

    await end(scene, 'done', 3)

    assert.deepEqual(pick(await readGroup(scene)).done, 3)
    assert.deepEqual(idsOf(await scene.take()), [idOf(1_000)])
  })

  test('fails at the seal if a member was not done, and succeeds when that is mended', async (scene) => {
    const jobs = { success: sample(1_000), failure: sample(1_001), settled: sample(1_002) }
    await make(scene, [openGroup({ jobs })], [])
    await add(scene, members(2))
    await end(scene, 'dead', 1)
    await end(scene, 'done', 2)
    assert.deepEqual(await scene.states(...[1_000, 1_001, 1_002].map(idOf)), ['none', 'none', 'none'])

    await add(scene, [], { seal: true })
    assert.deepEqual(await scene.states(...[1_000, 1_001, 1_002].map(idOf)), ['none', 'ready', 'ready'])
    await scene.changeOne('retry', idOf(1))
    await end(scene, 'done', 1)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('counts a member whose unique key is held, also the last', async (scene) => {
    await make(
      scene,
      [openGroup({ need: 0, jobs: { settled: sample(1_000) } })],
      [sample(50, { unique: unique('held') })],
    )

    const reply = await add(scene, members(1, groupOf(1), 1, { unique: unique('held') }), { seal: true })
    // Its answer was lost.
    const second = await add(scene, members(1, groupOf(1), 1, { unique: unique('held') }), {
      seal: true,
      again: true,
    })

    assert.deepEqual([reply.status, reply.size, second.status, second.size], ['ok', 1, 'ok', 1])
    assert.equal(await scene.state(idOf(1_000)), 'ready')
    const [outcome] = await outcomesOf(scene)
    assert.deepEqual([outcome?.id, outcome?.state], [idOf(1), 'cancelled'])
  })

  test('is not known in another space, and a group that is not there is unknown', async (scene) => {
    await make(scene, [openGroup()], [])

    assert.equal((await add(scene, members(1), { space: OTHER_SPACE })).status, 'unknown')
    assert.equal((await add(scene, members(1, groupOf(2)), { to: groupOf(2) })).status, 'unknown')

    assert.equal(await scene.state(idOf(1)), 'none')
  })

  test('has no number twice and none left out when many join at once, and the seal counts them all', async (scene) => {
    await make(scene, [openGroup()], [])

    const replies = await Promise.all([
      ...Array.from({ length: 10 }, (_, batch) => add(scene, members(3, groupOf(1), 1 + batch * 3))),
      add(scene, [], { seal: true }),
      ...Array.from({ length: 10 }, (_, batch) => add(scene, members(3, groupOf(1), 31 + batch * 3))),
    ])
    const inside = replies.flatMap(({ status }, at) => (status === 'ok' && at !== 10 ? [at] : []))
    const size = inside.length * 3
    assert.deepEqual(pick(await readGroup(scene)).size, size)
    const call = { space: SPACE, group: groupOf(1), from: 0, limit: 100 }
    assert.deepEqual(
      (await scene.store.openMembers(call)).members.map(({ n }) => n),
      Array.from({ length: size }, (_, n) => n),
    )
  })
}

function pick({ size, done, failed, fired, endedAt }: Group): Partial<Group> {
  return { size, done, failed, fired, endedAt }
}
