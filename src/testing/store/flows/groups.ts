import assert from 'node:assert/strict'
import type { Group } from '../../../core/flows/groups.ts'
import type { Verdict } from '../../../core/policies/policy.ts'
import {
  DAY,
  failure,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  sample,
  unique,
  verdict,
} from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { end, group, groupOf, make, members, outcomesOf, readGroup } from './group-samples.ts'

/** Groups wait for their members and fire once, in the transaction that ends the last (I-16). */
export function groupCases(test: StoreCase): void {
  test('fires when the last member is done, and not before', async (scene) => {
    await make(scene, [group(3)], members(3))

    await end(scene, 'done', 1, 2)
    assert.equal(await scene.state(idOf(1_000)), 'none')
    await end(scene, 'done', 3)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
    const { done, failed, fired, endedAt } = await readGroup(scene)
    assert.deepEqual([done, failed, fired, endedAt], [3, 0, ['success', 'settled'], scene.now])
  })

  test('fires once when all end in one call', async (scene) => {
    await make(scene, [group(50)], members(50))

    await end(scene, 'done', ...numbers(50))

    assert.deepEqual(idsOf(await scene.take()), [idOf(1_000)])
    assert.equal((await readGroup(scene)).done, 50)
  })

  test('keeps results and failures in the order of the members', async (scene) => {
    await make(scene, [group(3, { need: 0, jobs: {} })], members(3))
    const jobs = await scene.take()
    const verdicts: Verdict[] = [
      verdict('done', { result: '"first"' }),
      verdict('dead', { failure: failure('boom') }),
      // Of a job that is thrown away, too.
      verdict('done', { keepMs: null, result: '{"n":3}' }),
    ]
    for (const n of [2, 0, 1]) await scene.settle(jobs[n] as (typeof jobs)[number], verdicts[n] as Verdict)

    assert.deepEqual(await outcomesOf(scene), [
      { n: 0, id: idOf(1), state: 'done', result: '"first"', failure: null },
      { n: 1, id: idOf(2), state: 'dead', result: null, failure: failure('boom') },
      { n: 2, id: idOf(3), state: 'done', result: '{"n":3}', failure: null },
    ])
  })

  for (const to of ['failed', 'dead', 'cancelled'] as const) {
    test(`counts a member that is ${to}`, async (scene) => {
      const jobs = { success: sample(1_000), failure: sample(1_001), settled: sample(1_002) }
      await make(scene, [group(2, { jobs })], members(2))

      await end(scene, to, 1)
      await end(scene, 'done', 2)

      assert.deepEqual(await scene.states(...[1_000, 1_001, 1_002].map(idOf)), ['none', 'ready', 'ready'])
    })
  }

  test('counts what people do to a member that waits', async (scene) => {
    for (const [index, action] of (['cancel', 'bury', 'remove'] as const).entries()) {
      const id = groupOf(index + 1)
      const jobs = { settled: sample(1_000 + index) }
      await make(scene, [group(1, { id, jobs })], members(1, id, index + 1))

      assert.equal(await scene.changeOne(action, idOf(index + 1)), 'ok')

      assert.equal(await scene.state(idOf(1_000 + index)), 'ready', action)
      assert.equal((await outcomesOf(scene, id)).length, 1, action)
    }
  })

  test('does not count a member that waits for another try, or was handed back', async (scene) => {
    await make(scene, [group(1)], members(1))
    await end(scene, 'delayed', 1)
    await scene.changeOne('promote', idOf(1))
    await end(scene, 'ready', 1)

    assert.deepEqual(await outcomesOf(scene), [])
    await end(scene, 'done', 1)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('counts a member once, through retries', async (scene) => {
    await make(scene, [group(2)], members(2))
    await end(scene, 'dead', 1)
    for (let round = 0; round < 3; round++) {
      assert.equal(await scene.changeOne('retry', idOf(1)), 'ok')
      assert.equal((await readGroup(scene)).failed, 0)
      await end(scene, 'dead', 1)
      assert.equal((await readGroup(scene)).failed, 1)
    }

    await scene.changeOne('retry', idOf(1))
    await end(scene, 'done', 1)
    assert.equal(await scene.state(idOf(1_000)), 'none')
    await end(scene, 'done', 2)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('keeps what a member gave when that is retried, until it ends again', async (scene) => {
    await make(scene, [group(2)], members(2))
    await end(scene, 'done', 1)
    await scene.changeOne('retry', idOf(1))
    assert.deepEqual(countsIn(await readGroup(scene)), [1, 0])

    await end(scene, 'dead', 1)
    assert.deepEqual(countsIn(await readGroup(scene)), [0, 1])
    await scene.changeOne('retry', idOf(1))
    await end(scene, 'done', 1)
    await end(scene, 'done', 2)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('that has succeeded keeps what its members gave, whatever their retries come to', async (scene) => {
    const jobs = { success: sample(1_000), failure: sample(1_001) }
    await make(scene, [group(3, { jobs, need: 2, failing: 'first' })], members(3))
    await end(scene, 'done', 1, 2)
    const gave = await outcomesOf(scene)

    for (const how of ['dead', 'failed', 'dead'] as const) {
      await scene.change('retry', { ids: [idOf(1), idOf(2)] })
      await end(scene, how, 1, 2)
      assert.deepEqual(countsIn(await readGroup(scene)), [2, 0])
    }
    await scene.changeOne('retry', idOf(2))
    await scene.changeOne('cancel', idOf(2))

    assert.deepEqual(await outcomesOf(scene), gave)
    assert.deepEqual((await readGroup(scene)).fired, ['success'])
    assert.equal(await scene.state(idOf(1_001)), 'none')
    // One that is done again gives what it gives now, and one that was not done counts as ever.
    await scene.changeOne('retry', idOf(1))
    await end(scene, 'done', 1)
    await end(scene, 'dead', 3)
    assert.deepEqual(countsIn(await readGroup(scene)), [2, 1])
    assert.deepEqual((await readGroup(scene)).fired, ['success', 'settled'])
  })

  test('can still succeed when a member that failed it is mended', async (scene) => {
    const jobs = { success: sample(1_000), failure: sample(1_001) }
    await make(scene, [group(2, { jobs })], members(2))
    await end(scene, 'done', 2)
    await end(scene, 'dead', 1)
    assert.deepEqual(await scene.states(idOf(1_000), idOf(1_001)), ['none', 'ready'])

    await scene.changeOne('retry', idOf(1))
    await end(scene, 'done', 1)

    assert.deepEqual((await readGroup(scene)).fired, ['success', 'failure', 'settled'])
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('fails at the first, when it is hopeless, or in the end', async (scene) => {
    const rules = [
      { failing: 'first', need: 2 },
      { failing: 'hopeless', need: 2 },
      { failing: 'end', need: 2 },
    ] as const
    for (const [index, rule] of rules.entries()) {
      const id = groupOf(index + 1)
      const jobs = { failure: sample(1_000 + index) }
      await make(scene, [group(3, { id, jobs, ...rule })], members(3, id, 10 * index + 1))
    }
    const failedAfter: (string | null)[] = []
    for (let n = 1; n <= 3; n++) {
      await end(scene, 'dead', n, 10 + n, 20 + n)
      const states = await scene.states(...[1_000, 1_001, 1_002].map(idOf))
      failedAfter.push(states.map((state) => (state === 'none' ? '-' : 'x')).join(''))
    }

    assert.deepEqual(failedAfter, ['x--', 'xx-', 'xxx'])
  })

  test('needs no more than it asks for', async (scene) => {
    await make(scene, [group(5, { need: 2 })], members(5))

    await end(scene, 'done', 4)
    assert.equal(await scene.state(idOf(1_000)), 'none')
    await end(scene, 'done', 2)
    assert.equal(await scene.state(idOf(1_000)), 'ready')

    assert.deepEqual((await readGroup(scene)).fired, ['success'])
    await end(scene, 'done', 1, 3, 5)
    assert.deepEqual((await readGroup(scene)).fired, ['success', 'settled'])
  })

  test('fires at once if it is empty', async (scene) => {
    const jobs = { success: sample(1_000), failure: sample(1_001), settled: sample(1_002) }
    const { enqueued } = await scene.store.insert({ jobs: [], groups: [group(0, { jobs })], now: scene.now })

    assert.deepEqual(await scene.states(...[1_000, 1_001, 1_002].map(idOf)), ['ready', 'none', 'ready'])
    assert.deepEqual([...new Set(enqueued?.map(({ queue }) => queue))], [QUEUE])
    assert.equal((await readGroup(scene)).endedAt, scene.now)
  })

  test('is made once, however often it is sent', async (scene) => {
    await make(scene, [group(2)], members(2))
    await end(scene, 'done', 1)

    await scene.store.insert({ jobs: members(2), groups: [group(2)], again: true, now: scene.now })

    assert.equal((await readGroup(scene)).done, 1)
    await end(scene, 'done', 2)
    assert.equal((await readGroup(scene)).done, 2)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('can enqueue a job with the unique key of the member that ends, and whatever follows from that', async (scene) => {
    const above = group(1, { id: groupOf(2), jobs: { settled: sample(2_000, { queue: OTHER_QUEUE }) } })
    const held = sample(1_000, { unique: unique('b'), member: { group: above.id, n: 0 } })
    await scene.insert(sample(99, { unique: unique('b') }))
    await scene.store.insert({
      groups: [above, group(2, { jobs: { success: sample(1_001, { unique: unique('a') }), settled: held } })],
      jobs: members(2, groupOf(1), 1).map((job, n) => (n === 0 ? { ...job, unique: unique('a') } : job)),
    })

    for (const job of await scene.take({ ids: [idOf(1), idOf(2)] })) await scene.settle(job, verdict('done'))

    assert.equal(await scene.state(idOf(1_001)), 'ready')
    // The key of the other is held: it has ended, and so has the group that it is the only member of.
    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [above.id] })).groups[0]?.failed, 1)
    assert.equal(await scene.state(idOf(2_000)), 'ready')
  })

  test('leads from job to job, thousands of them', async (scene) => {
    const count = 2_000
    const links = Array.from({ length: count }, (_, n) =>
      group(1, {
        id: groupOf(n),
        jobs: n + 1 < count ? { success: sample(n + 2, { member: { group: groupOf(n + 1), n: 0 } }) } : {},
      }),
    )
    await make(scene, links, members(1, groupOf(0)))
    let ran = 0
    for (let jobs = await scene.take(); jobs.length > 0; ran++) {
      const [job] = jobs
      assert.equal(job?.id, idOf(ran + 1))
      const settlements = [
        {
          space: SPACE,
          id: job?.id ?? '',
          token: job?.token ?? '',
          verdict: verdict('done', { keepMs: null }),
        },
      ]
      const { now: _now, ...claim } = scene.call()
      const reply = await scene.store.settle({ settlements, claim, now: scene.now })
      jobs = reply.claimed?.jobs ?? []
    }

    assert.equal(ran, count)
  })

  test('refuses a settlement of a member that comes too late, and counts nothing', async (scene) => {
    await make(scene, [group(1)], members(1))
    const [job] = await scene.take()
    assert.ok(job)

    const result = await scene.settle({ id: job.id, token: scene.token() }, verdict('done'))

    assert.equal(result.status, 'refused')
    assert.deepEqual(await outcomesOf(scene), [])
  })

  test('counts a settlement that is repeated once', async (scene) => {
    await make(scene, [group(2)], members(2))
    const jobs = await scene.take()
    const [first] = jobs
    assert.ok(first)
    for (let n = 0; n < 3; n++)
      assert.equal((await scene.settle(first, verdict('done', { keepMs: null }))).status, 'ok')

    assert.equal((await readGroup(scene)).done, 1)
    assert.equal(await scene.state(idOf(1_000)), 'none')
  })

  test('tells which members have not ended', async (scene) => {
    await make(scene, [group(4)], members(4))
    await end(scene, 'done', 2)

    const call = { space: SPACE, group: groupOf(1), from: 1, limit: 2 }
    const { members: open } = await scene.store.openMembers(call)

    assert.deepEqual(open, [
      { n: 2, id: idOf(3), kind: 'job' },
      { n: 3, id: idOf(4), kind: 'job' },
    ])
  })

  test('is made by a settlement, with its members, if that is accepted', async (scene) => {
    const parent = await scene.running(sample(500))
    const more = { groups: [group(2)], enqueue: members(2) }
    assert.equal(
      (await scene.settle({ ...parent, token: scene.token() }, verdict('done'), more)).status,
      'refused',
    )
    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)

    assert.equal((await scene.settle(parent, verdict('done'), more)).status, 'ok')
    await end(scene, 'done', 1, 2)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('hears of a member outside once, also before it is made', async (scene) => {
    const tell = (n: number, result: string): Promise<{ status: string }> =>
      scene.store.tell({ space: SPACE, group: groupOf(1), n, result, now: scene.now })
    assert.equal((await tell(0, '"early"')).status, 'ok')
    assert.equal((await tell(0, '"twice"')).status, 'told')

    await make(scene, [group(2)], [])
    assert.equal((await readGroup(scene)).done, 1)
    assert.equal((await tell(1, 'null')).status, 'ok')

    assert.equal(await scene.state(idOf(1_000)), 'ready')
    assert.deepEqual(
      (await outcomesOf(scene)).map(({ id, result }) => [id, result]),
      [
        [null, '"early"'],
        [null, 'null'],
      ],
    )
  })

  test('that nobody makes is forgotten after thirty days, with what was told of it', async (scene) => {
    const tell = async (): Promise<string> =>
      (await scene.store.tell({ space: SPACE, group: groupOf(1), n: 0, result: '1', now: scene.now })).status
    await tell()
    scene.pass(30 * DAY - 1)
    await scene.prune()
    assert.equal(await tell(), 'told')

    scene.pass(1)
    await scene.prune()

    assert.equal(await tell(), 'ok')
  })

  test('is forgotten with its outcomes when its time is over, and not before all have ended', async (scene) => {
    await make(scene, [group(2, { jobs: {}, keepMs: MINUTE })], members(2))
    await end(scene, 'done', 1)
    scene.pass(DAY)
    await scene.prune()
    assert.equal((await outcomesOf(scene)).length, 1)

    await end(scene, 'done', 2)
    scene.pass(MINUTE - 1)
    await scene.prune()
    assert.equal((await outcomesOf(scene)).length, 2)
    scene.pass(1)
    await scene.prune()

    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)
    assert.equal((await outcomesOf(scene)).length, 0)
  })

  test('counts each member once of many that are done in one call, whatever happens to it later', async (scene) => {
    await make(scene, [group(30)], members(30))
    const held = await scene.take({ limit: 20 })
    const settlements = held.map(({ space, id, token }, n) => ({
      space,
      id,
      token,
      verdict: verdict('done', { result: n === 7 ? null : `{"n":${n}}` }),
    }))
    for (let round = 0; round < 2; round++) await scene.settleAll(settlements)
    assert.deepEqual(countsIn(await readGroup(scene)), [20, 0])

    const call = { space: SPACE, group: groupOf(1), now: scene.now }
    assert.equal((await scene.store.tell({ ...call, n: 4, result: '1' })).status, 'told')
    const { outcomes } = await scene.store.outcomes({ space: SPACE, groups: [groupOf(1)], from: 6, limit: 3 })
    assert.deepEqual(
      outcomes[0]?.map(({ n, id, result }) => [n, id, result]),
      [
        [6, idOf(7), '{"n":6}'],
        [7, idOf(8), null],
        [8, idOf(9), '{"n":8}'],
      ],
    )
    const { members: open } = await scene.store.openMembers({ ...call, from: 0, limit: 100 })
    assert.deepEqual(
      open.map(({ n }) => n),
      numbers(10).map((n) => n + 19),
    )

    for (let round = 0; round < 2; round++) {
      await scene.change('retry', { ids: numbers(10).map(idOf) })
      await end(scene, 'done', ...numbers(10))
      assert.deepEqual(countsIn(await readGroup(scene)), [20, 0])
    }
    await scene.changeOne('retry', idOf(5))
    assert.deepEqual(countsIn(await readGroup(scene)), [20, 0])
    await end(scene, 'dead', 5)
    assert.deepEqual(countsIn(await readGroup(scene)), [19, 1])
    await scene.changeOne('retry', idOf(5))
    assert.deepEqual(countsIn(await readGroup(scene)), [19, 0])
    await end(scene, 'done', ...numbers(10).map((n) => n + 20))
    assert.equal(await scene.state(idOf(1_000)), 'none')
    await end(scene, 'done', 5)

    assert.equal(await scene.state(idOf(1_000)), 'ready')
    assert.deepEqual(countsIn(await readGroup(scene)), [30, 0])
    assert.deepEqual(
      (await outcomesOf(scene)).map(({ n }) => n),
      numbers(30).map((n) => n - 1),
    )
  })

  test('counts members that are done beside others of their group that are not', async (scene) => {
    await make(
      scene,
      [group(12), group(12, { id: groupOf(2) })],
      [...members(12), ...members(12, groupOf(2), 101)],
    )
    const held = await scene.take()
    const settlements = held.map(({ space, id, token }) => ({
      space,
      id,
      token,
      verdict: verdict(id === idOf(3) ? 'dead' : 'done'),
    }))

    await scene.settleAll(settlements)

    assert.deepEqual(countsIn(await readGroup(scene)), [11, 1])
    assert.deepEqual(countsIn(await readGroup(scene, groupOf(2))), [12, 0])
    const { mended } = await scene.store.auditGroups({ limit: 100, cursor: null, now: scene.now })
    assert.deepEqual(mended, [])
  })

  test('has nothing to mend', async (scene) => {
    await make(scene, [group(3)], members(3))
    await end(scene, 'done', 1)
    await end(scene, 'dead', 2)

    const { mended, cursor } = await scene.store.auditGroups({ limit: 100, cursor: null, now: scene.now })

    assert.deepEqual([mended, cursor], [[], null])
  })
}

function countsIn({ done, failed }: Pick<Group, 'done' | 'failed'>): number[] {
  return [done, failed]
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n + 1)
}
