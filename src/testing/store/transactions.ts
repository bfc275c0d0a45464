import assert from 'node:assert/strict'
import type { NewRun } from '../../core/flows/runs.ts'
import { takenRunsIn } from '../../core/jobs/taken-ids.ts'
import type { Store, StoreInTransaction } from '../../store/store.ts'
import { run, runOf } from './flows/group-samples.ts'
import { HOUR, idOf, idsOf, sample, samples, unique, verdict } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

/** A transaction of the user's own, on the data of a store. */
export interface UserTransaction {
  /** What the user would hand to `enqueue`. */
  readonly tx: unknown
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** What holds inside a transaction that the user began (I-17). */
export function transactionCases(test: StoreCase, begin: (store: Store) => Promise<UserTransaction>): void {
  const within = async (
    scene: Scene,
    end: 'commit' | 'rollback',
    body: (inside: StoreInTransaction) => Promise<void>,
  ): Promise<void> => {
    const transaction = await begin(scene.store)
    try {
      const inside = scene.store.within?.(transaction.tx)
      assert.ok(inside, 'a store with transactions has within()')
      await body(inside)
    } catch (error) {
      await transaction.rollback()
      throw error
    }
    await transaction[end]()
  }

  test('inserts jobs when the user’s transaction commits', async (scene) => {
    await within(scene, 'commit', async (inside) => {
      const { results } = await inside.insert({
        jobs: [sample(1), sample(2, { delayMs: HOUR })],
        now: scene.now,
      })

      assert.deepEqual(results, [
        { status: 'ok', state: 'ready', dueAt: scene.now },
        { status: 'ok', state: 'delayed', dueAt: scene.now + HOUR },
      ])
    })

    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
    assert.equal(await scene.state(idOf(2)), 'delayed')
  })

  test('knows the runs of a transaction, and refuses the id of one for another flow', async (scene) => {
    const known = async (runs: readonly NewRun[], inside: StoreInTransaction): Promise<unknown> =>
      (await inside.insert({ jobs: [], runs, again: true, now: scene.now })).knownRuns
    await scene.store.insert({ jobs: [], runs: [run(1)], now: scene.now })

    await within(scene, 'commit', async (inside) => {
      assert.deepEqual(await known([run(1), run(2)], inside), [0])
      assert.deepEqual(await known([run(2)], inside), [0])
    })
    for (const n of [1, 2]) {
      await within(scene, 'rollback', async (inside) => {
        const call = { jobs: [sample(1)], runs: [run(n, { flow: 'other' })], now: scene.now }
        const refusal = await inside.insert(call).catch((error: unknown) => error)
        assert.deepEqual(takenRunsIn(refusal), [{ id: runOf(n), flow: 'access' }])
      })
    }

    assert.equal(await scene.find(idOf(1)), null)
  })

  test('inserts nothing when the user’s transaction is rolled back', async (scene) => {
    await within(scene, 'rollback', async (inside) => {
      await inside.insert({ jobs: [sample(1, { unique: unique('k') })], now: scene.now })
    })

    assert.deepEqual(await scene.take(), [])
    assert.equal(await scene.find(idOf(1)), null)
    const [result] = await scene.insert(sample(2, { unique: unique('k') }))
    assert.equal(result?.status, 'ok')
  })

  test('inserts a queue’s first jobs after an earlier first was rolled back', async (scene) => {
    await within(scene, 'rollback', async (inside) => {
      await inside.insert({ jobs: [sample(1)], now: scene.now })
    })

    await within(scene, 'commit', async (inside) => {
      await inside.insert({ jobs: [sample(2)], now: scene.now })
    })

    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('ends a job, and enqueues the next, when the user’s transaction commits', async (scene) => {
    const { space, id, token } = await scene.running(sample(1))

    await within(scene, 'commit', async (inside) => {
      const { results } = await inside.settle({
        settlements: [{ space, id, token, verdict: verdict('done', { result: '1' }), enqueue: [sample(2)] }],
        now: scene.now,
      })
      assert.equal(results[0]?.status, 'ok')
    })

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['done', 'ready'])
  })

  test('leaves a job leased when the user’s transaction is rolled back', async (scene) => {
    const held = await scene.running(sample(1))
    const before = await scene.job(idOf(1))

    await within(scene, 'rollback', async (inside) => {
      await inside.settle({
        settlements: [
          {
            space: held.space,
            id: held.id,
            token: held.token,
            verdict: verdict('done'),
            enqueue: [sample(2)],
          },
        ],
        now: scene.now,
      })
    })

    assert.deepEqual(await scene.job(idOf(1)), before)
    assert.equal(await scene.find(idOf(2)), null)
    assert.deepEqual(await scene.settle(held, verdict('dead')), { status: 'ok', state: 'dead' })
  })

  test('refuses a token that does not hold the job inside a transaction as well', async (scene) => {
    const { space, id } = await scene.running(sample(1))

    await within(scene, 'commit', async (inside) => {
      const { results } = await inside.settle({
        settlements: [{ space, id, token: scene.token(), verdict: verdict('done'), enqueue: [sample(2)] }],
        now: scene.now,
      })
      assert.deepEqual(results, [{ status: 'refused', reason: 'lost' }])
    })

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['running', 'none'])
  })

  test('says ok again when a committed settlement is repeated outside', async (scene) => {
    const held = await scene.running(sample(1))
    await within(scene, 'commit', async (inside) => {
      await inside.settle({
        settlements: [{ space: held.space, id: held.id, token: held.token, verdict: verdict('done') }],
        now: scene.now,
      })
    })

    assert.equal((await scene.settle(held, verdict('done'))).status, 'ok')
  })

  test('refuses a holder inside a transaction whose job a rescuer has taken', async (scene) => {
    const { space, id, token } = await scene.running(sample(1), { leaseMs: 1_000 })
    const other = await scene.running(sample(2), { leaseMs: 1_000 })
    scene.pass(HOUR)
    const rescue = { rescue: true, onlyIfExpired: true }
    await scene.settle({ id, token }, verdict('ready', { count: 'lost' }), rescue)
    await scene.settle(other, verdict('failed', { keepMs: null }), rescue)

    await within(scene, 'commit', async (inside) => {
      const { results } = await inside.settle({
        settlements: [
          { space, id, token, verdict: verdict('done') },
          {
            space: other.space,
            id: other.id,
            token: other.token,
            verdict: verdict('done', { keepMs: null }),
          },
        ],
        now: scene.now,
      })
      assert.deepEqual(results, [
        { status: 'refused', reason: 'lost' },
        { status: 'refused', reason: 'gone' },
      ])
    })

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'none'])
  })

  test('takes hundreds of jobs in several calls of one transaction', async (scene) => {
    await within(scene, 'commit', async (inside) => {
      for (const from of [1, 201, 401]) await inside.insert({ jobs: samples(200, {}, from), now: scene.now })
    })

    assert.deepEqual(idsOf(await scene.take()), idsOf(samples(600)))
  })

  test('refuses what is no transaction', async (scene) => {
    for (const thing of [null, undefined, {}, 'tx', 5, [], () => {}]) {
      const attempt = async (): Promise<void> => {
        await scene.store.within?.(thing).insert({ jobs: [sample(1)], now: scene.now })
      }
      await assert.rejects(attempt, { code: 'TX_UNSUPPORTED' })
    }
    assert.equal(await scene.find(idOf(1)), null)
  })
}
