import assert from 'node:assert/strict'
import type { WorkerInfo, WorkerPresence } from '../../store/store.ts'
import { MINUTE, OTHER_SPACE, QUEUE, SPACE, START } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

function worker(id: string, difference: Partial<WorkerInfo> = {}): WorkerInfo {
  return {
    id,
    space: SPACE,
    host: 'host-1',
    pid: process.pid,
    queues: [QUEUE],
    concurrency: 10,
    running: 0,
    startedAt: START,
    vitals: '{}',
    ...difference,
  }
}

async function listed(scene: Scene, space?: string): Promise<WorkerPresence[]> {
  const call = space === undefined ? { now: scene.now } : { space, now: scene.now }
  const { workers } = await scene.store.workers(call)
  return workers.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

export function workersCases(test: StoreCase): void {
  test('lists a worker with what it reports and when it was seen', async (scene) => {
    const info = worker('worker-a', {
      queues: ['a', 'b.c:d/e'],
      concurrency: 3,
      running: 2,
      vitals: '{"a":"é"}',
    })

    await scene.store.attend({ worker: info, now: scene.now })

    const [presence, ...others] = await listed(scene)
    assert.deepEqual(others, [])
    assert.ok(presence)
    const { life, ...rest } = presence
    assert.deepEqual(rest, { ...info, seenAt: START })
    assert.ok(['here', 'gone', 'unsure'].includes(life))
  })

  test('does not call a worker gone that has just been seen alive', async (scene) => {
    await scene.store.attend({ worker: worker('worker-a'), now: scene.now })

    const [presence] = await listed(scene)

    assert.notEqual(presence?.life, 'gone')
  })

  test('takes the latest word of a worker', async (scene) => {
    await scene.store.attend({ worker: worker('worker-a'), now: scene.now })
    scene.pass(MINUTE)

    await scene.store.attend({ worker: worker('worker-a', { running: 7, queues: [] }), now: scene.now })

    const workers = await listed(scene)
    assert.deepEqual(
      workers.map(({ id, running, queues, seenAt }) => [id, running, queues, seenAt]),
      [['worker-a', 7, [], START + MINUTE]],
    )
  })

  test('lists the workers of one space, or of all', async (scene) => {
    await scene.store.attend({ worker: worker('worker-a'), now: scene.now })
    await scene.store.attend({ worker: worker('worker-b', { space: OTHER_SPACE }), now: scene.now })

    const ids = [await listed(scene), await listed(scene, SPACE), await listed(scene, OTHER_SPACE)]

    assert.deepEqual(
      ids.map((workers) => workers.map(({ id }) => id)),
      [['worker-a', 'worker-b'], ['worker-a'], ['worker-b']],
    )
  })

  test('lists the workers of some ids', async (scene) => {
    for (const id of ['worker-a', 'worker-b', 'worker-c']) {
      await scene.store.attend({ worker: worker(id), now: scene.now })
    }
    await scene.store.attend({ worker: worker('worker-d', { space: OTHER_SPACE }), now: scene.now })
    const ids = ['worker-d', 'worker-b', 'never-seen', 'worker-b']

    const found = await scene.store.workers({ ids, now: scene.now })
    const here = await scene.store.workers({ ids, space: SPACE, now: scene.now })
    const none = await scene.store.workers({ ids: [], now: scene.now })

    assert.deepEqual(
      [found, here, none].map(({ workers }) => workers.map(({ id }) => id)),
      [['worker-b', 'worker-d'], ['worker-b'], []],
    )
  })

  test('takes a worker off the list when it departs, and minds no stranger', async (scene) => {
    await scene.store.attend({ worker: worker('worker-a'), now: scene.now })
    await scene.store.attend({ worker: worker('worker-b'), now: scene.now })

    await scene.store.depart({ workerId: 'worker-a' })
    await scene.store.depart({ workerId: 'worker-a' })
    await scene.store.depart({ workerId: 'never-seen' })

    assert.deepEqual(
      (await listed(scene)).map(({ id }) => id),
      ['worker-b'],
    )
  })
}
