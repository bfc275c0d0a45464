import assert from 'node:assert/strict'
import {
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  SPACE,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'

export function settleEnqueueCases(test: StoreCase): void {
  test('inserts the jobs a handler enqueued together with its end', async (scene) => {
    const held = await scene.running(sample(1))
    scene.pass(MINUTE)

    const result = await scene.settle(held, verdict('done'), {
      enqueue: [
        sample(2),
        sample(3, { delayMs: HOUR }),
        sample(4, { space: OTHER_SPACE, queue: OTHER_QUEUE }),
      ],
    })

    assert.deepEqual(result, {
      status: 'ok',
      state: 'done',
      inserted: [
        { status: 'ok', state: 'ready', dueAt: scene.now },
        { status: 'ok', state: 'delayed', dueAt: scene.now + HOUR },
        { status: 'ok', state: 'ready', dueAt: scene.now },
      ],
    })
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['done', 'ready', 'delayed'])
    assert.equal(await scene.state(idOf(4), OTHER_SPACE), 'ready')
  })

  test('inserts the jobs a handler enqueued when its job is removed', async (scene) => {
    const held = await scene.running(sample(1))

    await scene.settle(held, verdict('done', { keepMs: null }), { enqueue: [sample(2)] })

    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['none', 'ready'])
  })

  test('answers duplicates among the enqueued jobs as insert does', async (scene) => {
    await scene.insert(sample(9, { unique: unique('k'), delayMs: HOUR }))
    const held = await scene.running(sample(1))

    const result = await scene.settle(held, verdict('done'), {
      enqueue: [
        sample(2, { unique: unique('k', { onConflict: 'replace' }), payload: '"new"' }),
        sample(3, { unique: unique('k') }),
        sample(4, { unique: unique('l') }),
        sample(5, { unique: unique('l') }),
        sample(9),
      ],
    })

    assert.ok(result.status === 'ok')
    assert.deepEqual(result.inserted, [
      { status: 'duplicate', id: idOf(9), action: 'replaced' },
      { status: 'duplicate', id: idOf(9), action: 'ignored' },
      { status: 'ok', state: 'ready', dueAt: scene.now },
      { status: 'duplicate', id: idOf(4), action: 'ignored' },
      { status: 'ok', state: 'ready', dueAt: scene.now, known: true },
    ])
    assert.equal((await scene.job(idOf(9))).payload, '"new"')
  })

  test('lets a successor have the unique key that its predecessor gives up', async (scene) => {
    const held = await scene.running(sample(1, { unique: unique('chain') }))

    const result = await scene.settle(held, verdict('done'), {
      enqueue: [sample(2, { unique: unique('chain') })],
    })

    assert.ok(result.status === 'ok')
    assert.deepEqual(result.inserted, [{ status: 'ok', state: 'ready', dueAt: scene.now }])
  })

  test('refuses the successor while its predecessor keeps the unique key to try again', async (scene) => {
    const held = await scene.running(sample(1, { unique: unique('chain') }))

    const result = await scene.settle(held, verdict('delayed'), {
      enqueue: [sample(2, { unique: unique('chain') })],
    })

    assert.ok(result.status === 'ok')
    assert.deepEqual(result.inserted, [{ status: 'duplicate', id: idOf(1), action: 'ignored' }])
  })

  test('claims in the same call', async (scene) => {
    await scene.insert(...samples(3))
    const [first] = await scene.take({ limit: 1 })
    assert.ok(first)
    const { now: _, ...next } = scene.call({ limit: 1, workerId: 'worker-b' })

    const reply = await scene.store.settle({
      settlements: [{ space: first.space, id: first.id, token: first.token, verdict: verdict('done') }],
      claim: next,
      now: scene.now,
    })

    assert.deepEqual(reply.results, [{ status: 'ok', state: 'done' }])
    assert.deepEqual([idsOf(reply.claimed?.jobs ?? []), reply.claimed?.now], [[idOf(2)], scene.now])
    assert.equal(reply.claimed?.jobs[0]?.token, next.token)
    assert.equal((await scene.job(idOf(2))).worker, 'worker-b')
  })

  test('can claim the jobs that the same call has just freed and inserted', async (scene) => {
    const held = await scene.running(sample(1))
    scene.pass(MINUTE)
    const { now: _, ...next } = scene.call()

    const reply = await scene.store.settle({
      settlements: [
        {
          space: held.space,
          id: held.id,
          token: held.token,
          verdict: verdict('ready', { refund: true, keepPlace: true }),
          enqueue: [sample(3), sample(2)],
        },
      ],
      claim: next,
      now: scene.now,
    })

    assert.deepEqual(idsOf(reply.claimed?.jobs ?? []), [1, 2, 3].map(idOf))
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['running', 'running', 'running'])
  })

  test('tells with the next claim when a job it has just delayed is due', async (scene) => {
    const held = await scene.running(sample(1))
    const { now: _, ...next } = scene.call()

    const reply = await scene.store.settle({
      settlements: [
        { space: held.space, id: held.id, token: held.token, verdict: verdict('delayed', { delayMs: HOUR }) },
      ],
      claim: next,
      now: scene.now,
    })

    assert.deepEqual(reply.claimed, { jobs: [], nextDueAt: scene.now + HOUR, now: scene.now })
  })

  test('claims in the same call even if every settlement is refused', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))
    const { now: _, ...next } = scene.call({ sources: [source({ queue: OTHER_QUEUE })] })

    const reply = await scene.store.settle({
      settlements: [{ space: SPACE, id: idOf(1), token: scene.token(), verdict: verdict('done') }],
      claim: next,
      now: scene.now,
    })

    assert.equal(reply.results[0]?.status, 'refused')
    assert.deepEqual(idsOf(reply.claimed?.jobs ?? []), [idOf(2)])
  })
}
