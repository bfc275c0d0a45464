import assert from 'node:assert/strict'
import { JOB_STATES, type JobState, type UniqueScope } from '../../../core/jobs/job.ts'
import { HOUR, idOf, MINUTE, OTHER_QUEUE, OTHER_SPACE, START, sample, unique, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

/** The states in which a job still holds its key. */
const HELD: Readonly<Record<UniqueScope, readonly JobState[]>> = {
  queued: ['delayed', 'ready'],
  active: ['delayed', 'ready', 'running'],
  window: JOB_STATES,
}

export function uniqueCases(test: StoreCase): void {
  for (const scope of ['queued', 'active', 'window'] as const) {
    for (const state of JOB_STATES) {
      const isHeld = HELD[scope].includes(state)
      test(`scope ${scope}: a ${state} job ${isHeld ? 'holds' : 'has given up'} its key`, async (scene) => {
        const held = unique('k', { scope, windowMs: scope === 'window' ? HOUR : 0 })
        await scene.inState(sample(1, { unique: held }), state)

        const [result] = await scene.insert(sample(2, { unique: held }))

        const duplicate = { status: 'duplicate', id: idOf(1), action: 'ignored' }
        assert.deepEqual(result, isHeld ? duplicate : { status: 'ok', state: 'ready', dueAt: scene.now })
        assert.equal(await scene.state(idOf(2)), isHeld ? 'none' : 'ready')
      })
    }
  }

  test('remembers the key and scope of a job', async (scene) => {
    await scene.insert(
      sample(1, { unique: unique('a', { scope: 'queued' }) }),
      sample(2, { unique: unique('b', { scope: 'window', windowMs: 5 }) }),
    )

    const [one, two] = [await scene.job(idOf(1)), await scene.job(idOf(2))]
    assert.deepEqual([one.uniqueKey, one.uniqueScope], ['a', 'queued'])
    assert.deepEqual([two.uniqueKey, two.uniqueScope], ['b', 'window'])
  })

  test('holds a key in its own queue and space only', async (scene) => {
    const held = unique('k')

    const results = await scene.insert(
      sample(1, { unique: held }),
      sample(2, { unique: held, queue: OTHER_QUEUE }),
      sample(3, { unique: held, space: OTHER_SPACE }),
    )

    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok', 'ok'],
    )
  })

  test('compares keys byte by byte', async (scene) => {
    // Case, blanks, composed and decomposed letters, look-alikes, signs with a meaning in patterns or SQL.
    const keys = ['Order-1', 'order-1', 'order-1 ', ' order-1', 'order-1\u00a0', 'ordér-1', 'orde\u0301r-1']
    keys.push(
      'ördеr-1',
      'ſ',
      's',
      'ß',
      'ss',
      'ﬁ',
      'fi',
      'İ',
      'i',
      'ı',
      '１',
      '1',
      '%',
      '_',
      "'",
      '"',
      '\\',
      '\\\\',
    )
    keys.push('null', '{}', '{a}', '$1', '🐝', '🐝\u200d', 'x'.repeat(512))

    const results = await scene.insert(...keys.map((key, n) => sample(n + 1, { unique: unique(key) })))
    const repeated = await scene.insert(...keys.map((key, n) => sample(n + 101, { unique: unique(key) })))

    assert.deepEqual(
      keys.filter((_, n) => results[n]?.status !== 'ok'),
      [],
    )
    assert.deepEqual(
      repeated.map((result) => result.status === 'duplicate' && result.id),
      keys.map((_, n) => idOf(n + 1)),
    )
  })

  test('finds duplicates inside one batch', async (scene) => {
    const results = await scene.insert(
      sample(1, { unique: unique('k'), payload: '"one"', delayMs: HOUR }),
      sample(2, { unique: unique('k', { onConflict: 'replace' }), payload: '"two"', delayMs: MINUTE }),
      sample(3, { unique: unique('other') }),
      sample(4, { unique: unique('k') }),
    )

    assert.deepEqual(results, [
      { status: 'ok', state: 'delayed', dueAt: START + HOUR },
      { status: 'duplicate', id: idOf(1), action: 'replaced' },
      { status: 'ok', state: 'ready', dueAt: START },
      { status: 'duplicate', id: idOf(1), action: 'ignored' },
    ])
    const job = await scene.job(idOf(1))
    assert.deepEqual([job.payload, job.dueAt], ['"two"', START + MINUTE])
  })

  test('gives a key to exactly one of several that ask for it at once', async (scene) => {
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => scene.insert(sample(n + 1, { unique: unique('k') }))),
    )

    const winners = results.flat().filter(({ status }) => status === 'ok')
    const losers = results.flat().filter((result) => result.status === 'duplicate')
    const [holder] = await scene.list('ready')
    assert.deepEqual([winners.length, losers.length], [1, 7])
    assert.ok(losers.every((result) => result.status === 'duplicate' && result.id === holder?.id))
  })

  test('answers ok for the holder itself when it is inserted again', async (scene) => {
    const job = sample(1, { unique: unique('k', { onConflict: 'replace' }) })
    await scene.insert(job)

    const [result] = await scene.insertAgain({ ...job, payload: '"new"' })

    assert.deepEqual(result, { status: 'ok', state: 'ready', dueAt: START, known: true })
    assert.equal((await scene.job(idOf(1))).payload, job.payload)
  })

  test('gives a key up when its job is discarded, removed, cancelled or buried', async (scene) => {
    const keys = ['discard', 'remove', 'cancel', 'bury'] as const
    await scene.ended(sample(1, { unique: unique('discard') }), verdict('done', { keepMs: null }))
    for (const [n, action] of (['remove', 'cancel', 'bury'] as const).entries()) {
      await scene.insert(sample(n + 2, { unique: unique(action) }))
      await scene.changeOne(action, idOf(n + 2))
    }

    const results = await scene.insert(...keys.map((key, n) => sample(n + 11, { unique: unique(key) })))

    assert.deepEqual(
      results.map(({ status }) => status),
      keys.map(() => 'ok'),
    )
  })

  test('holds an active key through retries and hand-backs', async (scene) => {
    const held = await scene.running(sample(1, { unique: unique('k') }))

    await scene.settle(held, verdict('delayed', { count: 'errors' }))

    const [result] = await scene.insert(sample(2, { unique: unique('k') }))
    assert.equal(result?.status, 'duplicate')
  })

  test('lets only the holder give a key up', async (scene) => {
    const queued = unique('k', { scope: 'queued' })
    const first = await scene.running(sample(1, { unique: queued }))
    await scene.insert(sample(2, { unique: queued }))

    await scene.settle(first, verdict('done'))

    const [result] = await scene.insert(sample(3, { unique: queued }))
    assert.deepEqual(result, { status: 'duplicate', id: idOf(2), action: 'ignored' })
  })

  test('does not take a key back when a job that gave it up is retried and starts again', async (scene) => {
    const queued = unique('k', { scope: 'queued' })
    const first = await scene.running(sample(1, { unique: queued }))
    await scene.settle(first, verdict('ready', { count: 'errors' }))
    await scene.insert(sample(2, { unique: queued, delayMs: HOUR }))

    await scene.take({ ids: [idOf(1)] })

    const [result] = await scene.insert(sample(3, { unique: queued }))
    assert.deepEqual(result, { status: 'duplicate', id: idOf(2), action: 'ignored' })
  })

  test('holds a window key until its window ends, even without its job', async (scene) => {
    const window = unique('k', { scope: 'window', windowMs: HOUR })
    await scene.ended(sample(1, { unique: window }), verdict('done', { keepMs: null }))
    scene.pass(HOUR - 1)

    const inside = await scene.insert(sample(2, { unique: window }))
    scene.pass(1)
    const after = await scene.insert(sample(3, { unique: window }))
    const next = await scene.insert(sample(4, { unique: window }))

    assert.deepEqual(inside, [{ status: 'duplicate', id: idOf(1), action: 'ignored' }])
    assert.deepEqual(after, [{ status: 'ok', state: 'ready', dueAt: scene.now }])
    assert.deepEqual(next, [{ status: 'duplicate', id: idOf(3), action: 'ignored' }])
  })

  test('leaves the later holder its key when the job of an ended window finishes', async (scene) => {
    const first = await scene.running(
      sample(1, { unique: unique('k', { scope: 'window', windowMs: MINUTE }) }),
    )
    scene.pass(HOUR)
    await scene.insert(sample(2, { unique: unique('k') }))

    await scene.settle(first, verdict('done'))

    const [result] = await scene.insert(sample(3, { unique: unique('k') }))
    assert.deepEqual(result, { status: 'duplicate', id: idOf(2), action: 'ignored' })
  })
}
