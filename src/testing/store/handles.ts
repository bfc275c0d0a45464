import assert from 'node:assert/strict'
import { rankOf } from '../../core/jobs/job.ts'
import type { Store } from '../../store/store.ts'
import { drain } from './concurrency.ts'
import { HOUR, idOf, idsOf, sample, samples, unique, verdict } from './samples.ts'
import { type Scene, type StoreCase, source } from './scene.ts'

/** What holds between two handles on the same jobs, as two processes have them. */
export function handlesCases(test: StoreCase, reopen: (store: Store) => Promise<Store>): void {
  const both = async (scene: Scene, body: (other: Scene) => Promise<void>): Promise<void> => {
    const other = await reopen(scene.store)
    try {
      await body(scene.through(other))
    } finally {
      await other.close()
    }
  }

  test('shows through one handle what was done through the other', (scene) =>
    both(scene, async (other) => {
      await scene.insert(sample(1))

      const [held] = await other.take({ workerId: 'worker-b' })
      assert.ok(held)
      const running = await scene.job(idOf(1))
      await other.settle(held, verdict('done', { result: '1' }))

      assert.deepEqual([running.state, running.worker], ['running', 'worker-b'])
      assert.deepEqual([(await scene.job(idOf(1))).result, await scene.state(idOf(1))], ['1', 'done'])
    }))

  test('hands each job to one handle only', (scene) =>
    both(scene, async (other) => {
      const batch = samples(200)
      await scene.insert(...batch)

      const ended = await Promise.all([
        drain(scene, scene.store, 'a', 9),
        drain(other, other.store, 'b', 9),
        drain(scene, scene.store, 'c', 9),
        drain(other, other.store, 'd', 9),
      ])

      assert.deepEqual(ended.flat().toSorted(), idsOf(batch))
    }))

  test('gives a unique key to one of two handles', (scene) =>
    both(scene, async (other) => {
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? scene : other).insert(sample(n + 1, { unique: unique('k') })),
        ),
      )

      assert.equal(results.flat().filter(({ status }) => status === 'ok').length, 1)
    }))

  test('lets one handle rescue what the other lost', (scene) =>
    both(scene, async (other) => {
      const zombie = await scene.running(sample(1), { leaseMs: 1_000 })
      scene.pass(HOUR)
      other.pass(HOUR)

      const [lease] = await other.expired()
      assert.ok(lease)
      await other.settle(lease, verdict('ready', { count: 'lost' }), { onlyIfExpired: true })
      const [heir] = await other.take({ workerId: 'worker-b' })

      assert.equal(heir?.id, idOf(1))
      assert.deepEqual(await scene.extend([zombie]), [{ status: 'refused', reason: 'lost' }])
      assert.deepEqual(await scene.settle(zombie, verdict('done')), { status: 'refused', reason: 'lost' })
    }))

  test('finds a job of lower rank that the other handle put in, when a hint tells of it', (scene) =>
    both(scene, async (other) => {
      await scene.insert(...samples(4))
      await scene.take({ limit: 1 })
      await other.insert(sample(9, { priority: 50 }))

      const hinted = source({ hintedRank: rankOf(scene.now, 50) })
      const jobs = await scene.take({ sources: [hinted], limit: 2 })

      assert.deepEqual(idsOf(jobs), [idOf(9), idOf(2)])
    }))

  test('can migrate and get ready through both handles at once', (scene) =>
    both(scene, async (other) => {
      const applied = await Promise.all([scene.store.migrate(), other.store.migrate(), scene.store.migrate()])
      await Promise.all([scene.store.ready(), other.store.ready()])

      assert.ok(applied.every((reply) => reply.applied.length === 0))
    }))

  test('goes on working when the other handle is closed', async (scene) => {
    await both(scene, async (other) => {
      await other.insert(sample(1))
    })

    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
  })
}
