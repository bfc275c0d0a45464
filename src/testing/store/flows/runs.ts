import assert from 'node:assert/strict'
import type { NewRun, Run, RunMove } from '../../../core/flows/runs.ts'
import { DAY, failure, idOf, MINUTE, OTHER_SPACE, QUEUE, SPACE, sample, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'
import {
  end,
  group,
  groupOf,
  members,
  move,
  outcomesOf,
  readGroup,
  readRun,
  run,
  runOf,
  waitingFor,
} from './group-samples.ts'

/** Runs of flows: a state and a place, moved by whoever names the revision that it has. */
export function runCases(test: StoreCase): void {
  test('is made with its jobs and groups, in one call', async (scene) => {
    const made = run(1, { state: '{"user":62}', position: '[0]', attributes: ['userId:62'] })
    await scene.store.insert({ jobs: [sample(1)], runs: [made], now: scene.now })

    assert.deepEqual(await readRun(scene, 1), {
      ...made,
      status: 'running',
      revision: 0,
      startedAt: scene.now,
      changedAt: scene.now,
      endedAt: null,
      expiresAt: null,
      result: null,
      failure: null,
    })
    assert.equal(await scene.state(idOf(1)), 'ready')
  })

  test('is made once, however often it is sent', async (scene) => {
    await begin(scene, run(1))
    await scene.store.moveRuns({ moves: [move(1, 0, { state: '{"a":1}' })], now: scene.now })

    await scene.store.insert({ jobs: [], runs: [run(1)], again: true, now: scene.now })

    assert.equal((await readRun(scene, 1)).state, '{"a":1}')
  })

  test('moves on with the settlement of a job, together with what comes next', async (scene) => {
    await begin(scene, run(1))
    const control = await scene.running(sample(1))
    scene.pass(5)
    const step = move(1, 0, {
      state: '{"a":1}',
      position: '[1]',
      groups: [group(2, { run: runOf(1) })],
      jobs: members(2, groupOf(1), 2),
    })

    const settlements = [
      { space: control.space, id: control.id, token: control.token, verdict: verdict('done'), move: step },
    ]
    const reply = await scene.store.settle({ settlements, now: scene.now })

    assert.equal(reply.results[0]?.status, 'ok')
    assert.deepEqual([...new Set(reply.enqueued?.map(({ queue }) => queue))], [QUEUE])
    const { revision, state, position, status, changedAt, startedAt } = await readRun(scene, 1)
    assert.deepEqual([revision, state, position, status], [1, '{"a":1}', '[1]', 'running'])
    assert.deepEqual([startedAt, changedAt], [scene.now - 5, scene.now])
    assert.deepEqual(await scene.states(idOf(2), idOf(3)), ['ready', 'ready'])
    assert.equal((await readGroup(scene)).run, runOf(1))
  })

  test('stays where it is if the settlement is refused', async (scene) => {
    await begin(scene, run(1))
    const control = await scene.running(sample(1))

    const stale = { id: control.id, token: scene.token() }
    await scene.settle(stale, verdict('done'), { move: move(1, 0, { jobs: [sample(2)] }) })

    assert.equal((await readRun(scene, 1)).revision, 0)
    assert.equal(await scene.state(idOf(2)), 'none')
  })

  test('moves on once: whoever names an earlier revision changes nothing, and their job is settled', async (scene) => {
    await begin(scene, run(1))
    const [first, second] = [await scene.running(sample(1)), await scene.running(sample(2))]
    const one = { move: move(1, 0, { state: '{"by":1}', jobs: [sample(10)] }) }
    const other = { move: move(1, 0, { state: '{"by":2}', jobs: [sample(20)], groups: [group(1)] }) }

    assert.equal((await scene.settle(first, verdict('done'), one)).status, 'ok')
    assert.equal((await scene.settle(second, verdict('done'), other)).status, 'ok')

    assert.equal((await readRun(scene, 1)).state, '{"by":1}')
    assert.deepEqual(await scene.states(idOf(10), idOf(20), idOf(2)), ['ready', 'none', 'done'])
    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)
  })

  test('says why a move was refused', async (scene) => {
    await begin(scene, run(1), run(2))
    await scene.store.moveRuns({ moves: [move(2, 0, { status: 'cancelled', keepMs: DAY })], now: scene.now })
    const moves = [move(9, 0), move(1, 3), move(2, 1), move(1, 0), { ...move(1, 1), space: OTHER_SPACE }]

    const { results } = await scene.store.moveRuns({ moves, now: scene.now })

    assert.deepEqual(
      results.map((result) => (result.status === 'ok' ? 'ok' : result.reason)),
      ['unknown', 'moved', 'over', 'ok', 'unknown'],
    )
  })

  test('can be done after it has failed, and after nothing else', async (scene) => {
    await begin(scene, run(1), run(2))
    const ends = [
      move(1, 0, { status: 'failed', keepMs: DAY }),
      move(2, 0, { status: 'cancelled', keepMs: DAY }),
    ]
    await scene.store.moveRuns({ moves: ends, now: scene.now })
    const done = { status: 'done', result: '1', keepMs: DAY } as const

    const { results } = await scene.store.moveRuns({
      moves: [move(1, 1, done), move(2, 1, done)],
      now: scene.now,
    })

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'refused'],
    )
    assert.equal((await readRun(scene, 1)).result, '1')
  })

  test('ends with a result or a failure, is kept for its time, and can begin again', async (scene) => {
    await begin(scene, run(1))
    const end = { status: 'failed', failure: failure('boom'), keepMs: MINUTE } as const
    await scene.store.moveRuns({ moves: [move(1, 0, end)], now: scene.now })
    const ended = await readRun(scene, 1)
    assert.deepEqual(
      [ended.status, ended.failure, ended.result, ended.endedAt, ended.expiresAt],
      ['failed', failure('boom'), null, scene.now, scene.now + MINUTE],
    )

    await scene.store.moveRuns({ moves: [move(1, 1, { status: 'running' })], now: scene.now })
    const again = await readRun(scene, 1)
    assert.deepEqual(
      [again.status, again.failure, again.endedAt, again.expiresAt],
      ['running', null, null, null],
    )

    await scene.store.moveRuns({
      moves: [move(1, 2, { status: 'done', result: '{"a":1}', keepMs: DAY })],
      now: scene.now,
    })
    assert.equal((await readRun(scene, 1)).result, '{"a":1}')
  })

  test('is a member of the group that waits for it', async (scene) => {
    const branches = [1, 2].map((n) =>
      run(n + 1, { member: { group: groupOf(1), n: n - 1 }, root: runOf(1), flow: 'access:branch' }),
    )
    await begin(scene, run(1))
    const jobs = { success: sample(1_000), failure: sample(1_001) }
    const groups = [group(2, { run: runOf(1), jobs })]
    const waits = move(1, 0, { position: waitingFor(), groups, runs: branches })
    await scene.store.moveRuns({ moves: [waits], now: scene.now })
    const open = await scene.store.openMembers({ space: SPACE, group: groupOf(1), from: 0, limit: 9 })
    assert.deepEqual(open.members, [
      { n: 0, id: runOf(2), kind: 'run' },
      { n: 1, id: runOf(3), kind: 'run' },
    ])

    const done = move(2, 0, { status: 'done', result: '1', keepMs: 0 })
    const failed = move(3, 0, { status: 'failed', failure: failure('no'), keepMs: 0 })
    const { enqueued } = await scene.store.moveRuns({ moves: [done, failed], now: scene.now })

    assert.equal(enqueued.length, 1)
    assert.deepEqual(await scene.states(idOf(1_000), idOf(1_001)), ['none', 'ready'])
    assert.deepEqual(
      (await outcomesOf(scene)).map(({ id, state, result }) => [id, state, result]),
      [
        [runOf(2), 'done', '1'],
        [runOf(3), 'failed', null],
      ],
    )

    // Begun again and done, it completes the group.
    await scene.store.moveRuns({ moves: [move(3, 1, { status: 'running' })], now: scene.now })
    assert.equal((await readGroup(scene)).failed, 0)
    await scene.store.moveRuns({ moves: [move(3, 2, { status: 'done', keepMs: 0 })], now: scene.now })
    assert.equal(await scene.state(idOf(1_000)), 'ready')
  })

  test('is done after it has failed, when what failed it was mended at its last step', async (scene) => {
    const branch = run(2, { member: { group: groupOf(1), n: 0 }, root: runOf(1) })
    await begin(scene, run(1))
    const jobs = { success: sample(1_000), failure: sample(1_001) }
    const waits = move(1, 0, { groups: [group(1, { run: runOf(1), jobs })], runs: [branch] })
    await scene.store.moveRuns({ moves: [waits], now: scene.now })
    const failed = move(2, 0, { status: 'failed', failure: failure('no'), keepMs: 0 })
    await scene.store.moveRuns({ moves: [failed], now: scene.now })
    assert.deepEqual(await scene.states(idOf(1_000), idOf(1_001)), ['none', 'ready'])

    const done = move(2, 1, { status: 'done', result: '1', keepMs: 0 })
    const { results, enqueued } = await scene.store.moveRuns({ moves: [done], now: scene.now })

    assert.deepEqual(results, [{ status: 'ok' }])
    assert.equal(enqueued.length, 1)
    assert.equal(await scene.state(idOf(1_000)), 'ready')
    const after = await readRun(scene, 2)
    assert.deepEqual([after.status, after.result, after.failure], ['done', '1', null])
    const { done: counted, failed: bad } = await readGroup(scene)
    assert.deepEqual([counted, bad], [1, 0])

    // What is done, or was cancelled, stays so.
    await scene.store.moveRuns({ moves: [move(1, 1, { status: 'cancelled', keepMs: DAY })], now: scene.now })
    const late = await scene.store.moveRuns({
      moves: [move(1, 2, { status: 'done', keepMs: DAY }), move(2, 2, { status: 'failed', keepMs: 0 })],
      now: scene.now,
    })
    assert.deepEqual(
      late.results.map((result) => (result.status === 'ok' ? 'ok' : result.reason)),
      ['over', 'over'],
    )
  })

  test('that begins again and ends in one call has never gone on for its group', async (scene) => {
    const member = { member: { group: groupOf(1), n: 0 }, root: runOf(1) }
    await begin(scene, run(1))
    const groups = [group(1, { run: runOf(1) })]
    const waits = move(1, 0, { position: waitingFor(), groups, runs: [run(2, member)] })
    const done = { status: 'done', keepMs: 0 } as const
    await scene.store.moveRuns({ moves: [waits, move(2, 0, done)], now: scene.now })
    const before = await readGroup(scene)
    scene.pass(MINUTE)

    const moves = [move(2, 1, { status: 'running' }), move(2, 2, { ...done, result: '2' })]
    const reply = await scene.store.moveRuns({ moves, now: scene.now })

    assert.deepEqual(reply, { results: [{ status: 'ok' }, { status: 'ok' }], enqueued: [] })
    assert.deepEqual(await readGroup(scene), before)
    assert.equal((await outcomesOf(scene))[0]?.result, '2')
  })

  // What became of the run of a job that died, and whether the job may be retried then.
  const fates: readonly (readonly [what: string, fate: Partial<RunMove>, result: 'ok' | 'run'])[] = [
    ['waits for it', {}, 'ok'],
    ['has failed with it and waits', { status: 'failed' }, 'ok'],
    ['has moved on', { position: waitingFor(groupOf(9)) }, 'run'],
    ['undoes what was done', { position: waitingFor(groupOf(9), { failure: failure('no') }) }, 'run'],
    ['was undone', { status: 'failed', position: waitingFor(groupOf(1), { failure: failure('no') }) }, 'run'],
    ['was cancelled', { status: 'cancelled' }, 'run'],
    ['is done', { status: 'done' }, 'run'],
    ['is about to undo', { position: waitingFor(groupOf(1), { done: [{ node: 'charge' }] }) }, 'run'],
    [
      'undid with it',
      { status: 'failed', position: waitingFor(groupOf(9), { failure: failure('no'), undos: [groupOf(1)] }) },
      'ok',
    ],
  ]
  for (const [what, fate, expected] of fates) {
    test(`${expected === 'ok' ? 'lets' : 'does not let'} a job be retried whose run ${what}`, async (scene) => {
      await begin(scene, run(1))
      const jobs = members(2)
      const made = move(1, 0, { position: waitingFor(), groups: [group(2, { run: runOf(1) })], jobs })
      await scene.store.moveRuns({
        moves: [{ ...made, groups: [{ ...made.groups[0]!, jobs: FAILS }] }],
        now: scene.now,
      })
      await end(scene, 'dead', 1, 2)
      await scene.store.moveRuns({ moves: [move(1, 1, { keepMs: DAY, ...fate })], now: scene.now })

      const one = await scene.changeOne('retry', idOf(1))
      const all = await scene.change('retry', { queue: QUEUE, state: 'dead', limit: 10 })

      assert.equal(one, expected)
      const refused = { status: 'refused', reason: 'run' } as const
      assert.deepEqual(
        all.filter(({ id }) => id === idOf(2)),
        [expected === 'ok' ? { id: idOf(2), status: 'ok' } : { id: idOf(2), ...refused }],
      )
      assert.equal(await scene.state(idOf(1)), expected === 'ok' ? 'ready' : 'dead')
      assert.equal(await scene.state(idOf(2)), expected === 'ok' ? 'ready' : 'dead')
    })
  }

  test('above a branch decides for the jobs of the branch, and for the branch itself', async (scene) => {
    const inner = group(1, { id: groupOf(2), run: runOf(2), jobs: {} })
    const branch = run(2, {
      member: { group: groupOf(1), n: 0 },
      root: runOf(1),
      position: waitingFor(groupOf(2)),
    })
    await begin(scene, run(1, { position: waitingFor() }))
    const outer = group(1, { run: runOf(1), jobs: {} })
    const moves = [
      move(1, 0, { groups: [outer], runs: [branch] }),
      move(2, 0, { groups: [inner], jobs: members(1, groupOf(2)) }),
    ]
    await scene.store.moveRuns({ moves, now: scene.now })
    await end(scene, 'dead', 1)
    const failed = move(2, 1, { status: 'failed', failure: failure('no') })
    const cancelled = move(1, 1, { status: 'cancelled', keepMs: DAY })
    await scene.store.moveRuns({ moves: [failed, cancelled], now: scene.now })

    const [again] = (
      await scene.store.moveRuns({ moves: [move(2, 2, { status: 'running' })], now: scene.now })
    ).results

    assert.deepEqual(again, { status: 'refused', reason: 'over' })
    assert.equal(await scene.changeOne('retry', idOf(1)), 'run')
    assert.equal((await readRun(scene, 2)).status, 'failed')
  })

  test('that is not kept any more lets no job of it be retried; a group without a run does', async (scene) => {
    const ofRun = `${groupOf(1).slice(0, 14)}8${groupOf(1).slice(15)}`
    await scene.insert(...members(1, ofRun, 1), ...members(1, groupOf(2), 2))
    await end(scene, 'dead', 1, 2)

    assert.equal(await scene.changeOne('retry', idOf(1)), 'run')
    assert.equal(await scene.changeOne('retry', idOf(2)), 'ok')
  })

  test('is found by flow, status and attribute, newest first, by the page', async (scene) => {
    await begin(
      scene,
      ...[1, 2, 3, 4, 5].map((n) =>
        run(n, {
          flow: n < 4 ? 'access' : 'join',
          attributes: n % 2 ? ['userId:62', 'tag:a'] : ['userId:7'],
        }),
      ),
      run(6, { member: { group: groupOf(1), n: 0 }, root: runOf(1), attributes: ['userId:62'] }),
    )
    await scene.store.moveRuns({ moves: [move(3, 0, { status: 'done', keepMs: DAY })], now: scene.now })
    const find = async (filter: object): Promise<number[]> => {
      const call = { space: SPACE, limit: 10, cursor: null, ...filter }
      return numbersOf((await scene.store.listRuns(call)).runs)
    }

    assert.deepEqual(await find({}), [5, 4, 3, 2, 1])
    assert.deepEqual(await find({ flow: 'access' }), [3, 2, 1])
    assert.deepEqual(await find({ status: 'done' }), [3])
    assert.deepEqual(await find({ attribute: 'userId:62' }), [5, 3, 1])
    assert.deepEqual(await find({ attribute: 'userId:62', flow: 'access', status: 'running' }), [1])
    assert.deepEqual(await find({ attribute: 'userId:6' }), [])
    assert.deepEqual(await find({ root: runOf(1), branches: true }), [6, 1])
    assert.deepEqual(await find({ space: OTHER_SPACE }), [])

    const first = await scene.store.listRuns({ space: SPACE, limit: 2, cursor: null })
    const second = await scene.store.listRuns({ space: SPACE, limit: 3, cursor: first.cursor })
    assert.deepEqual(
      [numbersOf(first.runs), numbersOf(second.runs), second.cursor],
      [[5, 4], [3, 2, 1], null],
    )
  })

  test('is removed whole when its time is over, with its branches, groups and outcomes', async (scene) => {
    const branch = run(2, { member: { group: groupOf(1), n: 0 }, root: runOf(1) })
    await begin(scene, run(1, { attributes: ['userId:62'] }), run(3))
    const groups = [group(1, { run: runOf(1), jobs: {} })]
    await scene.store.moveRuns({ moves: [move(1, 0, { groups, runs: [branch] })], now: scene.now })
    await scene.store.moveRuns({ moves: [move(2, 0, { status: 'done', keepMs: 0 })], now: scene.now })
    scene.pass(DAY)
    await scene.prune()
    assert.equal((await readRun(scene, 2)).status, 'done')
    assert.equal((await readGroup(scene)).done, 1)

    await scene.store.moveRuns({ moves: [move(1, 1, { status: 'done', keepMs: MINUTE })], now: scene.now })
    scene.pass(MINUTE)
    await scene.prune()

    const { runs } = await scene.store.getRuns({ space: SPACE, ids: [1, 2, 3].map(runOf) })
    assert.deepEqual(
      runs.map((one) => one?.id ?? null),
      [null, null, runOf(3)],
    )
    assert.equal((await scene.store.getGroups({ space: SPACE, ids: [groupOf(1)] })).groups[0], null)
    assert.equal((await outcomesOf(scene)).length, 0)
    const found = await scene.store.listRuns({ space: SPACE, attribute: 'userId:62', limit: 9, cursor: null })
    assert.deepEqual(found.runs, [])
  })
}

async function begin(scene: Scene, ...runs: readonly NewRun[]): Promise<void> {
  await scene.store.insert({ jobs: [], runs, now: scene.now })
}

function numbersOf(runs: readonly Run[]): number[] {
  return runs.map(({ id }) => Number.parseInt(id.slice(-12), 16))
}

const FAILS = { failure: sample(1_001) }
