import assert from 'node:assert/strict'
import { JOB_STATES, type JobState } from '../../core/jobs/job.ts'
import { HOUR, idOf, idsOf, MINUTE, QUEUE, SPACE, sample, samples, unique, verdict } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

async function countOf(scene: Scene, state: JobState): Promise<number> {
  const { queues } = await scene.store.counts({ space: SPACE, queues: [QUEUE], now: scene.now })
  return queues.find(({ queue }) => queue === QUEUE)?.states[state] ?? 0
}

/** Cases that the systems Skep descends from test, or should have tested. */
export function ancestorsCases(test: StoreCase): void {
  test('runs three jobs one after the other, and counts three, two, one, none', async (scene) => {
    await scene.insert(...samples(3))
    const counts = [await countOf(scene, 'ready')]

    for (let n = 0; n < 3; n++) {
      const [held] = await scene.take({ limit: 1 })
      assert.ok(held)
      await scene.settle(held, verdict('done', { keepMs: null }))
      counts.push(await countOf(scene, 'ready'))
    }

    assert.deepEqual(counts, [3, 2, 1, 0])
  })

  test('runs a job again whose lease is six minutes old, and not one whose lease is fresh', async (scene) => {
    await scene.running(sample(1), { leaseMs: 5 * MINUTE })
    scene.pass(6 * MINUTE)
    await scene.running(sample(2), { leaseMs: 5 * MINUTE })

    const leases = await scene.expired()
    for (const lease of leases)
      await scene.settle(lease, verdict('ready', { count: 'lost' }), { onlyIfExpired: true })

    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
    assert.equal(await scene.state(idOf(2)), 'running')
  })

  test('starts a job once for nine hints about it, told to ten workers', async (scene) => {
    await scene.insert(sample(1))

    const claims = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const taken = []
        for (let hint = 0; hint < 9; hint++) {
          taken.push(...(await scene.take({ ids: [idOf(1)], workerId: `worker-${n}` })))
        }
        return taken
      }),
    )

    assert.equal(claims.flat().length, 1)
    assert.equal((await scene.job(idOf(1))).starts, 1)
  })

  test('retries more than a thousand cancelled jobs', async (scene) => {
    const batch = samples(1_100)
    await scene.insert(...batch.slice(0, 600))
    await scene.insert(...batch.slice(600))
    const aside = { queue: QUEUE, limit: 1_000 } as const

    for (let n = 0; n < 2; n++) await scene.change('cancel', { ...aside, state: 'ready' })
    const cancelled = await countOf(scene, 'cancelled')
    for (let n = 0; n < 2; n++) await scene.change('retry', { ...aside, state: 'cancelled' })

    assert.equal(cancelled, 1_100)
    assert.equal(await countOf(scene, 'ready'), 1_100)
  })

  test('keeps a job’s id through archive, retry and retry', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.settle(held, verdict('delayed', { delayMs: 1, count: 'timeouts' }))
    scene.pass(1)
    const [again] = await scene.take()
    assert.ok(again)
    await scene.settle(again, verdict('failed'))

    await scene.changeOne('retry', idOf(1))

    const [last] = await scene.take()
    assert.deepEqual([again.id, last?.id], [idOf(1), idOf(1)])
  })

  test('counts hidden jobs apart from visible ones', async (scene) => {
    await scene.insert(...samples(5))

    await scene.take({ limit: 2 })
    const some = [await countOf(scene, 'ready'), await countOf(scene, 'running')]
    await scene.take()

    assert.deepEqual(some, [3, 2])
    assert.deepEqual([await countOf(scene, 'ready'), await countOf(scene, 'running')], [0, 5])
  })

  test('counts every loss of a job that kills its workers, so that its budget can end it', async (scene) => {
    await scene.insert(sample(1))

    for (let n = 1; n <= 4; n++) {
      const [held] = await scene.take({ leaseMs: 1_000, workerId: `worker-${n}` })
      assert.deepEqual([held?.starts, held?.lost], [n, n - 1])
      scene.pass(MINUTE)
      const [lease] = await scene.expired()
      assert.equal(lease?.lost, n - 1)
      await scene.settle(lease, verdict(n < 4 ? 'ready' : 'dead', { count: 'lost' }), { onlyIfExpired: true })
    }

    const job = await scene.job(idOf(1))
    assert.deepEqual([job.state, job.lost, job.starts], ['dead', 4, 4])
  })

  test('knows nothing of an earlier job when an id is used anew', async (scene) => {
    const removed = await scene.ended(sample(1), verdict('done'))
    await scene.changeOne('remove', idOf(1))
    const discarded = await scene.ended(sample(2), verdict('done', { keepMs: null }))
    await scene.insert(sample(1, { payload: '"anew"' }), sample(2, { payload: '"anew"' }))

    const results = await scene.settleAll(
      [removed, discarded].map(({ space, id, token }) => ({ space, id, token, verdict: verdict('dead') })),
    )

    const lost = { status: 'refused', reason: 'lost' }
    assert.deepEqual(results, [lost, lost])
    const jobs = await scene.take()
    assert.deepEqual(
      jobs.map(({ payload, starts }) => [payload, starts]),
      [
        ['"anew"', 1],
        ['"anew"', 1],
      ],
    )
  })

  test('answers every conflict of unique keys in every state and scope', async (scene) => {
    const waiting = ['delayed', 'ready']
    const wrong: string[] = []
    let n = 0
    for (const scope of ['queued', 'active', 'window'] as const) {
      for (const onConflict of ['ignore', 'replace', 'postpone'] as const) {
        for (const state of JOB_STATES) {
          const held = unique(`${scope}-${onConflict}-${state}`, { scope, onConflict, windowMs: HOUR })
          n += 2
          await scene.inState(sample(n, { unique: held }), state)

          const [result] = await scene.insert(sample(n + 1, { unique: held, delayMs: MINUTE }))

          const isHeld =
            scope === 'window' || waiting.includes(state) || (scope === 'active' && state === 'running')
          const changed = { ignore: 'ignored', replace: 'replaced', postpone: 'postponed' }[onConflict]
          const action = waiting.includes(state) ? changed : 'ignored'
          const seen = result?.status === 'duplicate' ? result.action : result?.status
          if (seen !== (isHeld ? action : 'ok')) wrong.push(`${held.key}: ${seen}`)
        }
      }
    }

    assert.deepEqual(wrong, [])
  })
}
