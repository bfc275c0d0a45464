import assert from 'node:assert/strict'
import type { NewJob } from '../../../core/jobs/job.ts'
import { failure, HOUR, idOf, idsOf, MINUTE, START, sample, unique, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

const NEW: Partial<NewJob> = { payload: '"new"', headers: '{"a":"b"}', priority: 7, overrides: '{"x":1}' }

export function uniqueConflictCases(test: StoreCase): void {
  test('replace gives a waiting job the new content and time', async (scene) => {
    await scene.insert(sample(1, { unique: unique('k'), delayMs: HOUR }))
    scene.pass(MINUTE)

    const [result] = await scene.insert(
      sample(2, { ...NEW, unique: unique('k', { onConflict: 'replace', scope: 'queued' }) }),
    )

    assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'replaced' })
    const { payload, headers, priority, overrides, state, dueAt, ...job } = await scene.job(idOf(1))
    assert.deepEqual({ payload, headers, priority, overrides }, NEW)
    assert.deepEqual([state, dueAt, job.enqueuedAt, job.uniqueScope], ['ready', scene.now, START, 'active'])
  })

  test('replace can delay a job that was ready', async (scene) => {
    await scene.insert(sample(1, { unique: unique('k') }))

    await scene.insert(sample(2, { unique: unique('k', { onConflict: 'replace' }), delayMs: HOUR }))

    const job = await scene.job(idOf(1))
    assert.deepEqual([job.state, job.dueAt], ['delayed', START + HOUR])
    assert.deepEqual((await scene.claim()).nextDueAt, START + HOUR)
  })

  test('replace gives a job the place of its new priority', async (scene) => {
    await scene.insert(sample(1, { unique: unique('k') }), sample(2, { priority: 5 }))

    await scene.insert(sample(3, { priority: 9, unique: unique('k', { onConflict: 'replace' }) }))

    assert.deepEqual(idsOf(await scene.take()), [idOf(1), idOf(2)])
  })

  test('postpone starts the delay again', async (scene) => {
    const debounced = (n: number): NewJob =>
      sample(n, {
        payload: `${n}`,
        delayMs: MINUTE,
        unique: unique('k', { scope: 'queued', onConflict: 'postpone' }),
      })
    await scene.insert(debounced(1))
    scene.pass(MINUTE - 1)

    const [result] = await scene.insert(debounced(2))

    assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'postponed' })
    scene.pass(MINUTE - 1)
    assert.deepEqual(await scene.take(), [])
    scene.pass(1)
    assert.deepEqual(
      (await scene.take()).map(({ payload }) => payload),
      ['2'],
    )
  })

  test('postpone without a delay gives the new content and leaves the time', async (scene) => {
    await scene.insert(sample(1, { unique: unique('k'), delayMs: HOUR }))

    await scene.insert(sample(2, { ...NEW, unique: unique('k', { onConflict: 'postpone' }) }))

    const job = await scene.job(idOf(1))
    assert.deepEqual([job.payload, job.state, job.dueAt], ['"new"', 'delayed', START + HOUR])
  })

  test('ignore leaves a waiting job as it is', async (scene) => {
    await scene.insert(sample(1, { unique: unique('k'), delayMs: HOUR }))
    const before = await scene.job(idOf(1))

    const [result] = await scene.insert(sample(2, { ...NEW, unique: unique('k') }))

    assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'ignored' })
    assert.deepEqual(await scene.job(idOf(1)), before)
  })

  for (const onConflict of ['replace', 'postpone'] as const) {
    test(`${onConflict} never changes a job that runs`, async (scene) => {
      const held = await scene.running(sample(1, { unique: unique('k') }))
      const before = await scene.job(idOf(1))

      const [result] = await scene.insert(
        sample(2, { ...NEW, delayMs: HOUR, unique: unique('k', { onConflict }) }),
      )

      assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'ignored' })
      assert.deepEqual(await scene.job(idOf(1)), before)
      assert.equal((await scene.settle(held, verdict('done'))).status, 'ok')
    })

    test(`${onConflict} never changes a finished job whose window lasts`, async (scene) => {
      const window = { scope: 'window', windowMs: HOUR } as const
      await scene.ended(sample(1, { unique: unique('k', window) }), verdict('done'))
      const before = await scene.job(idOf(1))

      const [result] = await scene.insert(
        sample(2, { ...NEW, unique: unique('k', { ...window, onConflict }) }),
      )

      assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'ignored' })
      assert.deepEqual(await scene.job(idOf(1)), before)
    })
  }

  for (const onConflict of ['replace', 'postpone'] as const) {
    test(`${onConflict} gives a job that waits for its retry the whole budget again`, async (scene) => {
      const held = await scene.running(sample(1, { unique: unique('k') }))
      const retried = verdict('delayed', { delayMs: HOUR, count: 'errors', failure: failure('away') })
      await scene.settle(held, retried)

      await scene.insert(sample(2, { ...NEW, unique: unique('k', { onConflict }) }))

      const { starts, errors, timeouts, lost, snoozes, ...job } = await scene.job(idOf(1))
      // Starts go on counting: they number the attempts.
      assert.deepEqual([starts, errors, timeouts, lost, snoozes], [1, 0, 0, 0, 0])
      assert.deepEqual([job.payload, job.failure], [NEW.payload, null])
    })
  }
}
