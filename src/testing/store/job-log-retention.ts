import assert from 'node:assert/strict'
import { LIMITS } from '../../core/limits.ts'
import { line, lines, note, progress, read, send, texts } from './job-log-samples.ts'
import { DAY, HOUR, idOf, MINUTE, sample, samples, verdict } from './samples.ts'
import type { StoreCase } from './scene.ts'

const NONE = { progress: null, lines: [], last: 0, dropped: 0 }

export function notesLifeCases(test: StoreCase): void {
  test('a settlement brings the rest along', async (scene) => {
    const held = await scene.running(sample(1))
    await send(scene, held, note(lines(1, 2)))

    const said = await scene.settle(held, verdict('done', { result: '7' }), {
      note: note(lines(2, 4), progress(1, 100)),
    })

    assert.deepEqual(said, { status: 'ok', state: 'done' })
    assert.deepEqual(await texts(scene, held.id), ['line 1', 'line 2', 'line 3', 'line 4'])
    assert.equal((await read(scene, held.id)).progress?.value, 100)
    assert.equal((await scene.job(held.id)).result, '7')
  })

  test('a settlement that is repeated doubles nothing', async (scene) => {
    const held = await scene.running(sample(1))
    const more = { note: note(lines(1, 2)) }

    await scene.settle(held, verdict('delayed', { count: 'errors' }), more)
    const again = await scene.settle(held, verdict('delayed', { count: 'errors' }), more)

    assert.deepEqual(again, { status: 'ok', state: 'delayed' })
    assert.deepEqual(await texts(scene, held.id), ['line 1', 'line 2'])
  })

  test('a settlement that is refused writes nothing', async (scene) => {
    const zombie = await scene.running(sample(1))
    await scene.settle(zombie, verdict('ready'), { rescue: true })
    await scene.running(sample(1))

    const said = await scene.settle(zombie, verdict('done'), { note: note([line(1)]) })

    assert.deepEqual(said, { status: 'refused', reason: 'lost' })
    assert.deepEqual(await read(scene, zombie.id), NONE)
  })

  test('settlements with and without notes go in one call, with the next claim', async (scene) => {
    await scene.insert(...samples(6))
    const held = await scene.take({ limit: 5 })

    const { results, claimed } = await scene.store.settle({
      settlements: held.map(({ space, id, token }, i) => ({
        space,
        id,
        token,
        verdict: verdict(i === 4 ? 'dead' : 'done'),
        ...(i % 2 === 0 ? { note: note([line(1, { text: `${i}` })]) } : {}),
      })),
      claim: scene.call({ limit: 5 }),
      now: scene.now,
    })

    assert.ok(results.every(({ status }) => status === 'ok'))
    assert.deepEqual(
      claimed?.jobs.map(({ id }) => id),
      [idOf(6)],
    )
    const kept = await Promise.all(held.map(({ id }) => texts(scene, id)))
    assert.deepEqual(kept, [['0'], [], ['2'], [], ['4']])
  })

  test('they go with a job that is discarded, and only with that', async (scene) => {
    await scene.insert(...samples(3))
    const held = await scene.take()
    for (const one of held) await send(scene, one, note([line(1)], progress(1, 1)))

    await scene.settleAll(
      held.map(({ space, id, token }, i) => ({
        space,
        id,
        token,
        verdict: verdict('done', { keepMs: i === 1 ? null : DAY }),
        noted: true,
      })),
    )

    assert.deepEqual(await read(scene, idOf(2)), NONE)
    assert.deepEqual([await texts(scene, idOf(1)), await texts(scene, idOf(3))], [['line 1'], ['line 1']])
  })

  test('nothing is written about a job that was discarded', async (scene) => {
    const held = await scene.ended(sample(1), verdict('done', { keepMs: null }))

    const said = await send(scene, held, note([line(1)]))

    assert.deepEqual(said, { status: 'refused', reason: 'gone' })
    assert.deepEqual(await read(scene, held.id), NONE)
  })

  test('they go with a job that is removed, waiting or finished', async (scene) => {
    const [waits, done] = [await scene.running(sample(1)), await scene.running(sample(2))]
    for (const one of [waits, done]) await send(scene, one, note([line(1)], progress(1, 1)))
    await scene.settle(waits, verdict('delayed'))
    await scene.settle(done, verdict('done'))

    await scene.change('remove', { ids: [waits.id, done.id] })

    assert.deepEqual([await read(scene, waits.id), await read(scene, done.id)], [NONE, NONE])
    const said = await send(scene, done, note([line(2)]))
    assert.deepEqual(said, { status: 'refused', reason: 'gone' })
  })

  test('they go with a job that is pruned, and no others do', async (scene) => {
    const [short, long] = [await scene.running(sample(1)), await scene.running(sample(2))]
    for (const one of [short, long]) await send(scene, one, note([line(1)], progress(1, 1)))
    await scene.settle(short, verdict('done', { keepMs: MINUTE }))
    await scene.settle(long, verdict('done', { keepMs: DAY }))
    scene.pass(HOUR)

    assert.equal(await scene.prune(), 1)

    assert.deepEqual(await read(scene, short.id), NONE)
    assert.deepEqual(await texts(scene, long.id), ['line 1'])
  })

  test('they go in time though their job stays, and not before', async (scene) => {
    const held = await scene.running(sample(1), { leaseMs: 30 * DAY })
    await send(scene, held, note([line(1)], progress(1, 1)))
    scene.pass(LIMITS.notesKeptMs - HOUR)
    await send(scene, held, note([line(2)]))
    scene.pass(LIMITS.notesKeptMs)

    await scene.prune()
    const before = await texts(scene, held.id)
    scene.pass(HOUR)
    await scene.prune()

    assert.deepEqual(before, ['line 1', 'line 2'])
    assert.deepEqual(await read(scene, held.id), NONE)
    assert.equal(await scene.state(held.id), 'running')
    assert.deepEqual(await send(scene, held, note([line(3)])), { status: 'ok' })
  })

  test('they stay through a retry, and the old run can add nothing', async (scene) => {
    const old = await scene.running(sample(1))
    await send(scene, old, note([line(1, { text: 'before' })], progress(1, 80)))
    await scene.settle(old, verdict('dead'))
    await scene.changeOne('retry', old.id)

    const said = await send(scene, old, note([line(2, { text: 'ghost' })]))
    const next = await scene.running(sample(1))
    await send(scene, next, note([line(1, { text: 'after' })]))

    assert.deepEqual(said, { status: 'refused', reason: 'lost' })
    assert.deepEqual(await texts(scene, old.id), ['before', 'after'])
  })

  test('many writers at once lose and double nothing', async (scene) => {
    await scene.insert(...samples(20))
    const held = await scene.take()
    const rounds = Array.from({ length: 10 }, (_, round) => round)

    // Each sends what it has so far, again and again, all at the same time.
    await Promise.all(
      rounds.flatMap((round) => [
        scene.store.note({
          notes: held.map(({ space, id, token }) => ({ space, id, token, ...note(lines(1, round + 1)) })),
          now: scene.now,
        }),
        scene.store.note({
          notes: held
            .toReversed()
            .map(({ space, id, token }) => ({ space, id, token, ...note(lines(1, round + 1)) })),
          now: scene.now,
        }),
      ]),
    )

    for (const { id } of held) {
      assert.deepEqual(
        await texts(scene, id),
        rounds.map((round) => `line ${round + 1}`),
      )
    }
  })
}
