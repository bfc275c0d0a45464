import assert from 'node:assert/strict'
import { OTHER_SPACE, SPACE } from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { groupOf, move, run } from './group-samples.ts'

/** How flows look, and how many runs they have. */
export function outlineCases(test: StoreCase): void {
  const look = (name: string, version: number, outline = '{"steps":[]}') => ({ name, version, outline })

  test('keeps how flows look, by name and version', async ({ store }) => {
    const first = await store.putFlows({ space: SPACE, flows: [look('b', 10), look('b', 9), look('a', 1)] })
    await store.putFlows({ space: OTHER_SPACE, flows: [look('c', 1)] })

    assert.deepEqual(first.changed, [])
    assert.deepEqual((await store.getFlows({ space: SPACE })).flows, [
      look('a', 1),
      look('b', 9),
      look('b', 10),
    ])
    assert.deepEqual((await store.getFlows({ space: SPACE, name: 'b' })).flows, [look('b', 9), look('b', 10)])
    assert.deepEqual((await store.getFlows({ space: SPACE, name: 'c' })).flows, [])
  })

  test('tells of a flow that looks different, and keeps what was put last', async ({ store }) => {
    const [one, other] = [look('a', 1, '{"text":"\\"ä\\\\,{}\'"}'), look('a', 1, '{"text":"new"}')]
    await store.putFlows({ space: SPACE, flows: [one, look('b', 1)] })

    const again = await store.putFlows({ space: SPACE, flows: [one] })
    const next = await store.putFlows({ space: SPACE, flows: [look('b', 1), other, look('a', 2)] })
    const elsewhere = await store.putFlows({ space: OTHER_SPACE, flows: [other] })

    assert.deepEqual([again.changed, next.changed, elsewhere.changed], [[], [one], []])
    assert.deepEqual((await store.getFlows({ space: SPACE, name: 'a' })).flows, [other, look('a', 2)])
    assert.deepEqual((await store.putFlows({ space: SPACE, flows: [] })).changed, [])
  })

  test('is put by many at once', async ({ store }) => {
    const flows = ['c', 'a', 'b'].map((name) => look(name, 1))
    const puts = [flows, flows.toReversed(), flows, flows.toReversed()]

    const replies = await Promise.all(puts.map((some) => store.putFlows({ space: SPACE, flows: some })))

    assert.deepEqual(
      replies.map(({ changed }) => changed.length),
      [0, 0, 0, 0],
    )
    assert.equal((await store.getFlows({ space: SPACE })).flows.length, 3)
  })

  test('counts runs by flow, version and status, the newest first and branches left out', async (scene) => {
    const { store } = scene
    const runs = [
      ...[1, 2, 3].map((n) => run(n)),
      run(4, { version: 2 }),
      run(5, { flow: 'join' }),
      run(6, { flow: 'join', member: { group: groupOf(1), n: 0 } }),
      run(7, { space: OTHER_SPACE }),
    ]
    await store.insert({ jobs: [], runs, now: scene.now })
    await store.moveRuns({ moves: [move(2, 0, { status: 'failed', keepMs: 1_000 })], now: scene.now })

    const all = await store.countRuns({ space: SPACE, limit: 5 })
    const newest = await store.countRuns({ space: SPACE, limit: 2 })
    const failed = await store.countRuns({ space: SPACE, flow: 'access', status: 'failed', limit: 9 })
    const none = await store.countRuns({ space: SPACE, flow: 'none', limit: 9 })

    const access = { flow: 'access', version: 1 }
    const running = 'running'
    const [second, join] = [
      { flow: 'access', version: 2, status: running, runs: 1 },
      { flow: 'join', version: 1, status: running, runs: 1 },
    ]
    assert.deepEqual(all, {
      counts: [
        { ...access, status: running, runs: 2 },
        { ...access, status: 'failed', runs: 1 },
        second,
        join,
      ],
      isAll: true,
    })
    assert.deepEqual(newest, { counts: [second, join], isAll: false })
    assert.deepEqual(failed, { counts: [{ ...access, status: 'failed', runs: 1 }], isAll: true })
    assert.deepEqual(none, { counts: [], isAll: true })
  })
}
