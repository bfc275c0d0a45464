import assert from 'node:assert/strict'
import {
  failure,
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import type { StoreCase } from '../scene.ts'

export function changeSelectionCases(test: StoreCase): void {
  test('changes the jobs of one queue in one state, and no other', async (scene) => {
    await scene.insert(
      ...samples(2),
      sample(3, { delayMs: HOUR }),
      sample(4, { queue: OTHER_QUEUE }),
      sample(5, { space: OTHER_SPACE }),
    )

    const results = await scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 100 })

    assert.deepEqual(results, [
      { id: idOf(1), status: 'ok' },
      { id: idOf(2), status: 'ok' },
    ])
    assert.deepEqual(await scene.states(...[1, 2, 3, 4].map(idOf)), [
      'cancelled',
      'cancelled',
      'delayed',
      'ready',
    ])
    assert.equal(await scene.state(idOf(5), OTHER_SPACE), 'ready')
  })

  test('changes at most as many as asked, in the order of the list', async (scene) => {
    await scene.insert(sample(1), sample(2, { priority: 9 }), sample(3))

    const results = await scene.change('bury', { queue: QUEUE, state: 'ready', limit: 2 })

    assert.deepEqual(idsOf(results), [idOf(2), idOf(1)])
    assert.equal(await scene.state(idOf(3)), 'ready')
  })

  test('retries the oldest of the dead first', async (scene) => {
    for (const n of [1, 2, 3]) {
      await scene.inState(sample(n), 'dead')
      scene.pass(1)
    }

    const results = await scene.change('retry', { queue: QUEUE, state: 'dead', limit: 2 })

    assert.deepEqual(idsOf(results), [idOf(1), idOf(2)])
    assert.deepEqual(await scene.states(...[1, 2, 3].map(idOf)), ['ready', 'ready', 'dead'])
  })

  for (const strict of [false, true]) {
    const lane = { lane: 'acme', strict }
    test(`retries ${strict ? 'a strict lane' : 'jobs'} in the order of their enqueues, over many pages`, async (scene) => {
      if (strict) await scene.limit({ strict: true })
      for (const n of [1, 2, 3, 4, 5, 6, 7]) {
        await scene.insert(sample(n, strict ? lane : {}))
        scene.pass(1)
      }
      // They end in another order within a page.
      for (const n of [2, 1, 4, 3, 6, 5, 7]) {
        await scene.changeOne('bury', idOf(n))
        scene.pass(1)
      }
      scene.pass(1)
      const since = scene.now
      let cursor: string | null = null
      do {
        const reply: Awaited<ReturnType<typeof scene.store.change>> = await scene.store.change({
          action: 'retry',
          space: SPACE,
          target: { queue: QUEUE, state: 'dead', limit: 2, cursor },
          failure: null,
          keepMs: 0,
          dueAt: since,
          now: scene.now,
        })
        cursor = reply.cursor
        scene.pass(MINUTE)
      } while (cursor !== null)

      const { jobs } = await scene.store.list({
        space: SPACE,
        queue: QUEUE,
        state: 'ready',
        limit: 10,
        cursor: null,
      })
      assert.deepEqual(idsOf(jobs), [1, 2, 3, 4, 5, 6, 7].map(idOf))
      assert.deepEqual(new Set(jobs.map(({ dueAt }) => dueAt)), new Set([since]))
    })
  }

  test('retries jobs by id in the order of their enqueues, and answers in the order given', async (scene) => {
    const lane = { lane: 'acme', strict: true }
    await scene.limit({ strict: true })
    for (const n of [1, 2, 3]) {
      await scene.insert(sample(n, lane))
      scene.pass(1)
    }
    for (const n of [1, 2, 3]) await scene.changeOne('bury', idOf(n))

    const results = await scene.change('retry', { ids: [3, 9, 1, 2].map(idOf) })

    assert.deepEqual(
      results.map(({ id, status }) => [id, status]),
      [
        [idOf(3), 'ok'],
        [idOf(9), 'refused'],
        [idOf(1), 'ok'],
        [idOf(2), 'ok'],
      ],
    )
    const { jobs } = await scene.store.list({
      space: SPACE,
      queue: QUEUE,
      state: 'ready',
      limit: 10,
      cursor: null,
    })
    assert.deepEqual(idsOf(jobs), [1, 2, 3].map(idOf))
  })

  test('retries jobs of a queue without order so that they start in the order of their enqueues, regardless of their ids', async (scene) => {
    const order = [4, 5, 1, 2, 3, 9, 8, 7]
    for (const n of order) {
      await scene.insert(sample(n))
      scene.pass(1)
    }
    for (const n of order) await scene.changeOne('bury', idOf(n))
    scene.pass(MINUTE)
    const since = scene.now
    const retry = async (ids: readonly number[], earlierMs?: number): Promise<void> => {
      await scene.store.change({
        action: 'retry',
        space: SPACE,
        target: { ids: ids.map(idOf) },
        failure: null,
        keepMs: 0,
        dueAt: since,
        ...(earlierMs !== undefined && { earlierMs }),
        now: scene.now,
      })
      scene.pass(MINUTE)
    }

    // One that there is not, and one that is ready by then, change nothing.
    await retry([1, 4, 3, 2, 5, 6], 2)
    await retry([7, 8, 4, 9])

    const found = { space: SPACE, queue: QUEUE, state: 'ready', limit: 10, cursor: null } as const
    const { jobs } = await scene.store.list(found)
    assert.deepEqual(idsOf(jobs), order.map(idOf))
    assert.deepEqual(
      jobs.map(({ dueAt }) => dueAt - since),
      [-3, -3, -2, -2, -2, -2, -1, 0],
    )
  })

  test('retries strict jobs of one moment as they arrived, whatever their ids and earlier retries', async (scene) => {
    const lane = { lane: 'acme', strict: true }
    await scene.limit({ strict: true })
    for (const n of [4, 1, 3, 2]) await scene.insert(sample(n, lane))
    for (const n of [1, 2, 3, 4]) await scene.changeOne('bury', idOf(n))
    // This one comes again by itself, and ends again.
    await scene.changeOne('retry', idOf(1))
    const [first] = await scene.take()
    assert.ok(first)
    assert.equal(first.id, idOf(1))
    await scene.settle(first, verdict('done'))
    scene.pass(1)

    await scene.change('retry', { ids: [1, 2, 3, 4].map(idOf) })

    const { jobs } = await scene.store.list({
      space: SPACE,
      queue: QUEUE,
      state: 'ready',
      limit: 10,
      cursor: null,
    })
    assert.deepEqual(idsOf(jobs), [4, 1, 3, 2].map(idOf))
    const arrivals = jobs.map(({ arrival }) => arrival as number)
    assert.deepEqual(
      arrivals.toSorted((a, b) => a - b),
      arrivals,
    )
  })

  test('changes nothing in a state in which the action is not possible', async (scene) => {
    await scene.insert(...samples(2))

    const results = await scene.change('retry', { queue: QUEUE, state: 'ready', limit: 100 })

    assert.deepEqual(results, [])
    assert.deepEqual(await scene.states(idOf(1), idOf(2)), ['ready', 'ready'])
  })

  test('asks all running jobs of a queue to stop', async (scene) => {
    await scene.insert(...samples(3))
    const held = await scene.take()

    const results = await scene.change('cancel', { queue: QUEUE, state: 'running', limit: 100 })

    assert.deepEqual(
      results.map(({ status }) => status),
      ['requested', 'requested', 'requested'],
    )
    const extended = await scene.extend(held)
    assert.ok(extended.every((result) => result.status === 'ok' && result.cancelReason !== null))
  })

  test('changes only jobs of the time asked for', async (scene) => {
    for (const n of [1, 2, 3, 4]) {
      await scene.inState(sample(n), 'dead')
      scene.pass(MINUTE)
    }

    const where = { after: START + MINUTE, before: START + 3 * MINUTE }
    const results = await scene.change('remove', { queue: QUEUE, state: 'dead', where, limit: 100 })

    assert.deepEqual(idsOf(results), [idOf(3), idOf(2)])
    assert.deepEqual(await scene.states(...[1, 2, 3, 4].map(idOf)), ['dead', 'none', 'none', 'dead'])
  })

  test('changes only jobs with the text asked for', async (scene) => {
    await scene.ended(sample(1), verdict('dead', { failure: failure('ECONNRESET') }))
    await scene.ended(sample(2, { payload: '"ECONNRESET"' }), verdict('dead'))
    await scene.ended(sample(3), verdict('dead', { failure: failure('econnreset') }))

    const where = { text: 'ECONNRESET' }
    const results = await scene.change('retry', { queue: QUEUE, state: 'dead', where, limit: 100 })

    assert.deepEqual(idsOf(results).toSorted(), [idOf(1), idOf(2)])
    assert.equal(await scene.state(idOf(3)), 'dead')
  })

  test('counts its limit by the jobs that match', async (scene) => {
    for (const n of [1, 2, 3, 4, 5, 6]) {
      await scene.insert(sample(n, { payload: n % 2 ? '"odd"' : '"even"' }))
      scene.pass(1)
    }

    const where = { text: 'even' }
    const results = await scene.change('remove', { queue: QUEUE, state: 'ready', where, limit: 2 })

    assert.deepEqual(idsOf(results), [idOf(2), idOf(4)])
  })

  test('retries one of several dead jobs that had the same unique key', async (scene) => {
    for (const n of [1, 2, 3]) await scene.ended(sample(n, { unique: unique('k') }), verdict('dead'))

    const results = await scene.change('retry', { queue: QUEUE, state: 'dead', limit: 100 })

    assert.equal(results.filter(({ status }) => status === 'ok').length, 1)
    assert.equal((await scene.list('ready')).length, 1)
    assert.equal((await scene.list('dead')).length, 2)
  })

  test('frees the unique keys of all jobs it ends', async (scene) => {
    const keys = ['a', 'b', 'c']
    await scene.insert(...keys.map((key, n) => sample(n + 1, { unique: unique(key) })))

    await scene.change('cancel', { queue: QUEUE, state: 'ready', limit: 100 })

    const results = await scene.insert(...keys.map((key, n) => sample(n + 11, { unique: unique(key) })))
    assert.ok(results.every(({ status }) => status === 'ok'))
  })

  test('goes on where the page before ended, and says when there is no more', async (scene) => {
    await scene.insert(...samples(5))
    const page = (cursor: string | null) =>
      scene.store.change({
        action: 'cancel',
        space: SPACE,
        target: { queue: QUEUE, state: 'ready', limit: 2, cursor },
        failure: null,
        keepMs: HOUR,
        now: scene.now,
      })

    const first = await page(null)
    const second = await page(first.cursor)
    const third = await page(second.cursor)

    assert.deepEqual(idsOf(first.results), [1, 2].map(idOf))
    assert.deepEqual(idsOf(second.results), [3, 4].map(idOf))
    assert.deepEqual(idsOf(third.results), [idOf(5)])
    assert.deepEqual([first.cursor === null, second.cursor === null, third.cursor], [false, false, null])
  })

  test('passes over running jobs that were asked to stop, and finished ones that cannot be retried', async (scene) => {
    for (const n of [1, 2, 3]) {
      await scene.running(sample(n))
      await scene.inState(sample(n + 10, { unique: unique(`key ${n}`) }), 'dead')
      scene.pass(1)
    }
    await scene.insert(sample(20, { unique: unique('key 3') }))
    const pages = async (action: 'cancel' | 'retry', state: 'running' | 'dead'): Promise<unknown[]> => {
      const told: unknown[] = []
      let cursor: string | null = null
      do {
        const reply: Awaited<ReturnType<typeof scene.store.change>> = await scene.store.change({
          action,
          space: SPACE,
          target: { queue: QUEUE, state, limit: 1, cursor },
          failure: null,
          keepMs: HOUR,
          now: scene.now,
        })
        told.push(...reply.results.map(({ id, status }) => [id, status]))
        cursor = reply.cursor
      } while (cursor !== null && told.length < 9)
      return told
    }

    assert.deepEqual(
      await pages('cancel', 'running'),
      [1, 2, 3].map((n) => [idOf(n), 'requested']),
    )
    assert.deepEqual(await pages('retry', 'dead'), [
      [idOf(11), 'ok'],
      [idOf(12), 'ok'],
      [idOf(13), 'refused'],
    ])
  })
}
