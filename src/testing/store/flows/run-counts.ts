import assert from 'node:assert/strict'
import { OTHER_SPACE, SPACE } from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { groupOf, move, run } from './group-samples.ts'

/** How many runs flows have. */
export function runCountCases(test: StoreCase): void {
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
