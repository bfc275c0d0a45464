import assert from 'node:assert/strict'
import type { Settlement, Store } from '../../store/store.ts'
import { HOUR, idOf, idsOf, MINUTE, QUEUE, samples, unique, verdict } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

/** Claims and settles until nothing is left, as a worker does: each settle carries the next claim. */
export async function drain(scene: Scene, store: Store, workerId: string, limit: number): Promise<string[]> {
  const ended: string[] = []
  let settlements: Settlement[] = []
  for (;;) {
    const { now, ...next } = scene.call({ workerId, limit })
    const { results, claimed } = await store.settle({ settlements, claim: next, now })
    for (const [n, result] of results.entries()) {
      assert.deepEqual(result, { status: 'ok', state: 'done' })
      ended.push(settlements[n]?.id ?? '')
    }
    settlements = (claimed?.jobs ?? []).map(({ space, id, token }) => ({
      space,
      id,
      token,
      verdict: verdict('done'),
    }))
    if (settlements.length === 0) return ended
  }
}

export function concurrencyCases(test: StoreCase): void {
  test('drains a thousand jobs through eight workers, each exactly once', async (scene) => {
    const batch = samples(1_000)
    await scene.insert(...batch)

    const workers = Array.from({ length: 8 }, (_, n) => drain(scene, scene.store, `worker-${n}`, 5 + n * 7))
    const ended = (await Promise.all(workers)).flat()

    assert.deepEqual(ended.toSorted(), idsOf(batch))
    const { queues } = await scene.store.counts({ space: 'acme', now: scene.now })
    assert.equal(queues.find(({ queue }) => queue === QUEUE)?.states.done, 1_000)
  })

  test('loses nothing that is inserted while others drain', async (scene) => {
    const batches = Array.from({ length: 10 }, (_, n) => samples(20, {}, n * 20 + 1))
    await scene.insert(...(batches[0] ?? []))

    const [early] = await Promise.all([
      Promise.all(['a', 'b', 'c'].map((workerId) => drain(scene, scene.store, workerId, 7))),
      ...batches.slice(1).map((batch) => scene.insert(...batch)),
    ])
    const late = await drain(scene, scene.store, 'd', 50)

    assert.deepEqual([...early.flat(), ...late].toSorted(), idsOf(batches.flat()))
  })

  test('extends and settles the same jobs in opposite orders without getting stuck', async (scene) => {
    await scene.insert(...samples(60))
    const held = await scene.take()
    const back = held.toReversed()
    const ends = (leases: typeof held): Settlement[] =>
      leases.map(({ space, id, token }) => ({ space, id, token, verdict: verdict('done') }))

    const extended = await Promise.all([scene.extend(held), scene.extend(back), scene.extend(held)])
    const settled = await Promise.all([
      scene.settleAll(ends(held)),
      scene.settleAll(ends(back)),
      scene.extend(back),
      scene.change('cancel', { ids: idsOf(back) }),
    ])

    assert.ok(extended.flat().every(({ status }) => status === 'ok'))
    assert.ok([...settled[0], ...settled[1]].every(({ status }) => status === 'ok'))
    assert.equal((await scene.list('done')).length, 60)
  })

  test('inserts the same ids and keys in opposite orders without getting stuck', async (scene) => {
    const batch = samples(40).map((job, n) => ({ ...job, unique: unique(`k${n}`) }))
    const rivals = samples(40, {}, 101).map((job, n) => ({ ...job, unique: unique(`k${n}`) }))

    const results = await Promise.all([
      scene.insert(...batch),
      scene.insert(...batch.toReversed()),
      scene.insert(...rivals.toReversed()),
      scene.insert(...rivals),
    ])

    assert.equal(results.flat().length, 160)
    const ready = await scene.list('ready')
    assert.deepEqual(
      ready.map(({ uniqueKey }) => uniqueKey ?? '').toSorted(),
      batch.map((job) => job.unique.key).toSorted(),
    )
  })

  test('lets a job be cancelled or completed, and never both', async (scene) => {
    await scene.insert(...samples(30))
    const held = await scene.take({ limit: 15 })
    const settlements = held.map(({ space, id, token }) => ({ space, id, token, verdict: verdict('done') }))

    const [settled, changed] = await Promise.all([
      scene.settleAll(settlements),
      scene.change('cancel', { ids: idsOf(samples(30)) }),
    ])

    assert.ok(settled.every((result) => result.status === 'ok' && result.state === 'done'))
    for (const [n, result] of changed.entries()) {
      const refusedOrAsked = result.status === 'requested' || result.status === 'refused'
      assert.equal(n < 15 ? refusedOrAsked : result.status === 'ok', true)
    }
    assert.deepEqual(await scene.take(), [])
  })

  test('gives a job to a claimer or to the one who removes it, and never to both', async (scene) => {
    const batch = samples(50)
    await scene.insert(...batch)

    const [claimed, removed] = await Promise.all([
      scene.take({ limit: 25 }),
      scene.change('remove', { ids: idsOf(batch) }),
    ])

    const gone = idsOf(removed.filter(({ status }) => status === 'ok'))
    assert.deepEqual(
      idsOf(claimed).filter((id) => gone.includes(id)),
      [],
    )
    assert.deepEqual([...idsOf(claimed), ...gone].toSorted(), idsOf(batch))
  })

  test('makes due jobs ready once when several claimers come at once', async (scene) => {
    await scene.insert(...samples(100, { delayMs: MINUTE }))
    scene.pass(HOUR)

    const batches = await Promise.all(Array.from({ length: 6 }, () => scene.take({ limit: 30 })))
    const rest = await scene.take()

    const ids = [...batches.flat(), ...rest].map(({ id }) => id)
    assert.deepEqual(ids.toSorted(), idsOf(samples(100)))
  })

  test('prunes each job once when two prune at once', async (scene) => {
    await scene.insert(...samples(40))
    const held = await scene.take()
    const ends = held.map(({ space, id, token }) => ({
      space,
      id,
      token,
      verdict: verdict('done', { keepMs: 0 }),
    }))
    await scene.settleAll(ends)

    const counts = await Promise.all([scene.prune(30), scene.prune(30)])
    const rest = await scene.prune()

    assert.equal(counts[0] + counts[1] + rest, 40)
    assert.equal(await scene.find(idOf(1)), null)
  })

  for (const how of ['prune', 'remove', 'discard'] as const) {
    test(`lets no job come back whose insert is repeated in the moment of its ${how}`, async (scene) => {
      const batch = samples(60)
      await scene.insert(...batch)
      const held = await scene.take()
      const said = verdict('done', { keepMs: how === 'discard' ? null : 0 })
      const ends = held.map(({ space, id, token }) => ({ space, id, token, verdict: said }))
      if (how !== 'discard') await scene.settleAll(ends)
      const leave = (part: number): Promise<unknown> => {
        const some = ends.slice(part * 20, part * 20 + 20)
        if (how === 'prune') return scene.prune(20)
        return how === 'remove' ? scene.change('remove', { ids: idsOf(some) }) : scene.settleAll(some)
      }

      await Promise.all([0, 1, 2].flatMap((part) => [scene.insertAgain(...batch), leave(part)]))

      if (how === 'prune') await scene.prune()
      assert.deepEqual(new Set(await scene.states(...idsOf(batch))), new Set(['none']))
    })
  }

  test('reads steadily while everything moves', async (scene) => {
    await scene.insert(...samples(100))

    const readers = Array.from({ length: 10 }, () =>
      scene.store.counts({ space: 'acme', now: scene.now }).then(({ queues }) => {
        const states = queues.find(({ queue }) => queue === QUEUE)?.states
        return Object.values(states ?? {}).reduce((sum, count) => sum + count, 0)
      }),
    )
    const [totals] = await Promise.all([
      Promise.all(readers),
      drain(scene, scene.store, 'worker-a', 20),
      drain(scene, scene.store, 'worker-b', 20),
    ])

    assert.deepEqual(new Set(totals), new Set([100]))
  })
}
