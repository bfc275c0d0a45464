import assert from 'node:assert/strict'
import type { NewJob } from '../../../core/jobs/job.ts'
import type { Schedule } from '../../../core/schedules/schedule.ts'
import type { Fire, FireResult, PutSchedule, PutScheduleResult } from '../../../store/schedules.ts'
import { idOf, MINUTE, OTHER_SPACE, SPACE, START, sample, unique, verdict } from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

/** The specification is the caller's own business: to a store it is a text. */
const SPEC = '{"n":1}'
export const FIRST: number = START + MINUTE

/** A draft of schedule `id`, new and made at run time, with what differs. */
export function draft(id: string, difference: Partial<PutSchedule> = {}): PutSchedule {
  return {
    space: SPACE,
    id,
    revision: `${id}-1`,
    spec: SPEC,
    dynamic: false,
    declaredBy: null,
    nextAt: FIRST,
    expect: null,
    ...difference,
  }
}

/** The fire of the first slot of schedule `id`, with one job, and with what differs. */
export function fire(id: string, difference: Partial<Fire> = {}): Fire {
  const slot = difference.slot ?? FIRST
  return {
    space: SPACE,
    id,
    revision: `${id}-1`,
    slot,
    upTo: slot,
    nextAt: slot + MINUTE,
    jobs: [sample(1)],
    skipped: 0,
    overlap: 'allow',
    failure: '{"kind":"cancel","message":"Replaced."}',
    keepMs: MINUTE,
    ...difference,
  }
}

export async function put(
  scene: Scene,
  ...schedules: readonly PutSchedule[]
): Promise<readonly PutScheduleResult[]> {
  return (await scene.store.putSchedules({ schedules, now: scene.now })).results
}

export async function fireAll(scene: Scene, ...fires: readonly Fire[]): Promise<readonly FireResult[]> {
  return (await scene.store.fireSchedules({ fires, now: scene.now })).results
}

async function outcome(scene: Scene, one: Fire): Promise<string> {
  const [result] = await fireAll(scene, one)
  return result?.status === 'refused' ? result.reason : (result?.status ?? 'none')
}

export async function read(scene: Scene, id: string, space: string = SPACE): Promise<Schedule | null> {
  return (await scene.store.getSchedules({ space, ids: [id], now: scene.now })).schedules[0] ?? null
}

async function stored(scene: Scene, id: string): Promise<Schedule> {
  const schedule = await read(scene, id)
  assert.ok(schedule, `schedule ${id} is not in the store`)
  return schedule
}

async function due(
  scene: Scene,
  difference: { limit?: number; known?: readonly string[]; except?: readonly string[]; space?: string } = {},
): Promise<{ ids: string[]; nextAt: number | null; now: number }> {
  const call = { space: SPACE, limit: 100, known: [], except: [], now: scene.now, ...difference }
  const { schedules, nextAt, now } = await scene.store.dueSchedules(call)
  return { ids: schedules.map(({ id }) => id), nextAt, now }
}

export function schedulesCases(test: StoreCase): void {
  test('a schedule that was put is read back as it is', async (scene) => {
    const awkward = '{"text":"quotes \\" and \\\\ and \\u0000, 💌"}'
    assert.deepEqual(await put(scene, draft('nightly', { spec: awkward, declaredBy: '', dynamic: true })), [
      'ok',
    ])

    assert.deepEqual(await stored(scene, 'nightly'), {
      space: SPACE,
      id: 'nightly',
      revision: 'nightly-1',
      spec: awkward,
      dynamic: true,
      declaredBy: '',
      nextAt: FIRST,
      pausedAt: null,
      pauseReason: null,
      pausedBy: null,
      lastSlot: null,
      lastFiredAt: null,
      lastJobId: null,
      fired: 0,
      skipped: 0,
      createdAt: scene.now,
      updatedAt: scene.now,
    })
    assert.equal(await read(scene, 'nightly', OTHER_SPACE), null)
  })

  test('the same specification again changes nothing, whatever else is said', async (scene) => {
    await put(scene, draft('a'))
    scene.pass(5)

    assert.deepEqual(await put(scene, draft('a', { revision: 'a-2', nextAt: 1 })), ['unchanged'])

    const { revision, nextAt, updatedAt } = await stored(scene, 'a')
    assert.deepEqual([revision, nextAt, updatedAt], ['a-1', FIRST, scene.now - 5])
  })

  test('another specification replaces exactly what its caller has read, and keeps the account', async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST
    await fireAll(scene, fire('a'))
    const change = draft('a', { revision: 'a-2', spec: '{"n":2}', nextAt: FIRST + 5 })

    const position = { revision: 'a-1', nextAt: FIRST + MINUTE }
    assert.deepEqual(await put(scene, change), ['refused'])
    assert.deepEqual(await put(scene, { ...change, expect: { revision: 'a-0', nextAt: FIRST + MINUTE } }), [
      'refused',
    ])
    assert.deepEqual(await put(scene, { ...change, expect: { revision: 'a-1', nextAt: FIRST } }), ['refused'])
    assert.deepEqual(await put(scene, { ...change, expect: { revision: 'a-1', nextAt: null } }), ['refused'])
    assert.deepEqual(await put(scene, { ...change, expect: position }), ['ok'])
    // Its reply was lost, and it is sent again.
    assert.deepEqual(await put(scene, { ...change, expect: position }), ['ok'])

    const { revision, spec, nextAt, fired, lastJobId } = await stored(scene, 'a')
    assert.deepEqual([revision, spec, nextAt, fired, lastJobId], ['a-2', '{"n":2}', FIRST + 5, 1, idOf(1)])
  })

  test('a change of owner alone is a change', async (scene) => {
    await put(scene, draft('a'))
    const expect = { revision: 'a-1', nextAt: FIRST }
    assert.deepEqual(await put(scene, draft('a', { revision: 'a-2', declaredBy: 'app', expect })), ['ok'])
    assert.equal((await stored(scene, 'a')).declaredBy, 'app')
  })

  test('what somebody else has removed is not put in its place', async (scene) => {
    const expect = { revision: 'a-0', nextAt: FIRST }
    assert.deepEqual(await put(scene, draft('a', { expect })), ['refused'])
    assert.equal(await read(scene, 'a'), null)
  })

  test('a removal names what was there, and with an owner takes only what is theirs', async (scene) => {
    await put(scene, draft('a', { declaredBy: 'app' }), draft('b', { declaredBy: 'other' }), draft('c'))
    await put(scene, draft('a', { space: OTHER_SPACE }))
    const { removeSchedules } = scene.store

    const owned = await removeSchedules({ space: SPACE, ids: ['a', 'b', 'c', 'x'], declaredBy: 'app' })
    assert.deepEqual(owned.removed, ['a'])
    const made = await removeSchedules({ space: SPACE, ids: ['b'], declaredBy: null })
    assert.deepEqual(made.removed, [])
    assert.deepEqual(
      (await removeSchedules({ space: SPACE, ids: ['x', 'c', 'a'], declaredBy: null })).removed,
      ['c'],
    )
    assert.deepEqual([await read(scene, 'a'), await read(scene, 'c')], [null, null])
    assert.ok(await read(scene, 'b'))
    assert.ok(await read(scene, 'a', OTHER_SPACE))
  })

  test('a paused schedule keeps the first reason and is not due; resumed, it goes on where it is told to', async (scene) => {
    await put(scene, draft('a'), draft('b'))
    const pause = (reason: string): Promise<{ readonly paused: readonly string[] }> =>
      scene.store.pauseSchedules({ space: SPACE, ids: ['a', 'x'], reason, by: 'ada', now: scene.now })
    assert.deepEqual((await pause('too loud')).paused, ['a'])
    scene.now = FIRST
    assert.deepEqual((await pause('again')).paused, ['a'])

    const paused = await stored(scene, 'a')
    assert.deepEqual([paused.pausedAt, paused.pauseReason, paused.pausedBy], [START, 'too loud', 'ada'])
    assert.deepEqual((await due(scene)).ids, ['b'])
    assert.equal(await outcome(scene, fire('a')), 'paused')

    const resume = async (
      id: string,
      revision: string,
      nextAt: number,
    ): Promise<PutScheduleResult | undefined> => {
      const one = { space: SPACE, id, expect: { revision, nextAt }, nextAt: FIRST + 7 }
      return (await scene.store.resumeSchedules({ schedules: [one], now: scene.now })).results[0]
    }
    assert.equal(await resume('a', 'a-0', FIRST), 'refused')
    assert.equal(await resume('a', 'a-1', FIRST + 1), 'refused')
    assert.equal(await resume('x', 'x-1', FIRST), 'refused')
    assert.equal(await resume('a', 'a-1', FIRST), 'ok')
    assert.equal(await resume('a', 'a-1', FIRST), 'unchanged')
    const { nextAt, pausedAt, pauseReason, pausedBy } = await stored(scene, 'a')
    assert.deepEqual([nextAt, pausedAt, pauseReason, pausedBy], [FIRST + 7, null, null, null])
  })

  test('lists go page by page, by id, and can name an owner', async (scene) => {
    const ids = ['d', 'B', 'a.1', 'a/1', 'c']
    await put(scene, ...ids.map((id) => draft(id, { declaredBy: id === 'd' || id === 'c' ? 'app' : null })))
    await put(scene, draft('z', { space: OTHER_SPACE }))
    const listed: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Scene['store']['listSchedules']>> = await scene.store.listSchedules({
        space: SPACE,
        limit: 2,
        cursor,
      })
      assert.ok(page.schedules.length <= 2)
      listed.push(...page.schedules.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== null)
    assert.deepEqual(listed, ['B', 'a.1', 'a/1', 'c', 'd'])

    const owned = await scene.store.listSchedules({ space: SPACE, declaredBy: 'app', limit: 2, cursor: null })
    assert.deepEqual([owned.schedules.map(({ id }) => id), owned.cursor], [['c', 'd'], null])
  })

  test('due are those whose slot has come, earliest first, and the reply tells when the next one comes', async (scene) => {
    await put(
      scene,
      draft('late', { nextAt: FIRST + 10 }),
      draft('b', { nextAt: FIRST }),
      draft('a', { nextAt: FIRST }),
      draft('far', { nextAt: FIRST + 500 }),
      draft('over', { nextAt: null }),
      draft('foreign', { space: OTHER_SPACE }),
    )
    assert.deepEqual(await due(scene), { ids: [], nextAt: FIRST, now: scene.now })
    scene.now = FIRST + 10
    assert.deepEqual(await due(scene), { ids: ['a', 'b', 'late'], nextAt: FIRST + 500, now: scene.now })
    assert.deepEqual(await due(scene, { limit: 2 }), { ids: ['a', 'b'], nextAt: null, now: scene.now })
    assert.deepEqual((await due(scene, { except: ['a', 'far'] })).ids, ['b', 'late'])
    assert.equal((await due(scene, { except: ['a', 'far'] })).nextAt, null)
    scene.now = FIRST + 500
    assert.deepEqual((await due(scene)).nextAt, null)
  })

  test('a schedule with a payload by function is due for those who can make it', async (scene) => {
    await put(
      scene,
      draft('fn', { dynamic: true, nextAt: FIRST + 1 }),
      draft('other', { dynamic: true, nextAt: FIRST + 20 }),
      draft('plain', { nextAt: FIRST + 2 }),
    )
    assert.equal((await due(scene)).nextAt, FIRST + 2)
    assert.equal((await due(scene, { known: ['fn'] })).nextAt, FIRST + 1)
    scene.now = FIRST + 5
    assert.deepEqual(await due(scene), { ids: ['plain'], nextAt: null, now: scene.now })
    assert.deepEqual(await due(scene, { known: ['fn', 'x'] }), {
      ids: ['fn', 'plain'],
      nextAt: null,
      now: scene.now,
    })
    assert.deepEqual(await due(scene, { known: ['other'] }), {
      ids: ['plain'],
      nextAt: FIRST + 20,
      now: scene.now,
    })
    assert.deepEqual((await due(scene, { known: ['fn'], except: ['fn'] })).ids, ['plain'])
    assert.deepEqual((await due(scene, { known: ['fn'], limit: 1 })).ids, ['fn'])
  })
}

export function fireCases(test: StoreCase): void {
  test('a fire makes the job and moves the chain on', async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST + 3

    const [result] = await fireAll(scene, fire('a', { skipped: 2 }))

    assert.deepEqual(result, {
      status: 'fired',
      inserted: [{ id: idOf(1), dueAt: scene.now }],
      replaced: null,
    })
    assert.equal(await scene.state(idOf(1)), 'ready')
    const { nextAt, lastSlot, lastFiredAt, lastJobId, fired, skipped, revision } = await stored(scene, 'a')
    assert.deepEqual(
      { nextAt, lastSlot, lastFiredAt, lastJobId, fired, skipped, revision },
      {
        nextAt: FIRST + MINUTE,
        lastSlot: FIRST,
        lastFiredAt: scene.now,
        lastJobId: idOf(1),
        fired: 1,
        skipped: 2,
        revision: 'a-1',
      },
    )
  })

  test('the same fire again makes nothing', async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST
    assert.equal(await outcome(scene, fire('a')), 'fired')
    assert.equal(await outcome(scene, fire('a', { jobs: [sample(2)] })), 'moved')
    assert.equal(await scene.state(idOf(2)), 'none')
    assert.equal((await stored(scene, 'a')).fired, 1)
  })

  test('a fire for what has changed meanwhile makes nothing', async (scene) => {
    await put(scene, draft('changed'), draft('removed'), draft('moved'))
    const expect = { revision: 'changed-1', nextAt: FIRST }
    await put(scene, draft('changed', { revision: 'changed-2', spec: '{}', expect }))
    await scene.store.removeSchedules({ space: SPACE, ids: ['removed'] })
    scene.now = FIRST

    assert.equal(await outcome(scene, fire('changed')), 'changed')
    assert.equal(await outcome(scene, fire('removed')), 'gone')
    assert.equal(await outcome(scene, fire('moved', { slot: FIRST - 1 })), 'moved')
    assert.equal(await outcome(scene, fire('moved', { space: OTHER_SPACE })), 'gone')
    assert.equal(await scene.state(idOf(1)), 'none')
    assert.equal((await stored(scene, 'changed')).nextAt, FIRST)
  })

  test("no slot is fired before it has come by the store's clock", async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST - 1
    assert.equal(await outcome(scene, fire('a')), 'early')
    scene.now = FIRST
    assert.equal(await outcome(scene, fire('a', { upTo: FIRST + 1 })), 'early')
    assert.equal(await scene.state(idOf(1)), 'none')
    assert.equal(await outcome(scene, fire('a')), 'fired')
  })

  test('a chain can end, move without a job, and make several jobs at once', async (scene) => {
    await put(scene, draft('a'), draft('b'), draft('c'))
    scene.now = FIRST + MINUTE
    const jobs: NewJob[] = [sample(1), sample(2, { runAt: scene.now + MINUTE }), sample(3)]
    const results = await fireAll(
      scene,
      fire('a', { nextAt: null }),
      fire('b', { jobs: [], skipped: 0, nextAt: FIRST + 9 }),
      fire('c', { jobs: jobs.slice(1), upTo: scene.now, nextAt: FIRST + 2 * MINUTE }),
    )

    assert.deepEqual(
      results.map((result) => (result.status === 'fired' ? result.inserted.length : result.reason)),
      [1, 0, 2],
    )
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['ready', 'delayed', 'ready'])
    assert.equal((await stored(scene, 'a')).nextAt, null)
    const moved = await stored(scene, 'b')
    assert.deepEqual([moved.nextAt, moved.fired, moved.lastSlot], [FIRST + 9, 0, null])
    const several = await stored(scene, 'c')
    assert.deepEqual([several.fired, several.lastSlot, several.lastJobId], [2, scene.now, idOf(3)])
  })

  test('one that is refused does not keep the others of its call', async (scene) => {
    await put(scene, draft('a'), draft('b'))
    scene.now = FIRST
    const results = await fireAll(
      scene,
      fire('x', { jobs: [sample(9)] }),
      fire('a'),
      fire('b', { revision: 'b-0', jobs: [sample(8)] }),
      fire('b', { jobs: [sample(2)] }),
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      ['refused', 'fired', 'refused', 'fired'],
    )
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(8), idOf(9)), [
      'ready',
      'ready',
      'none',
      'none',
    ])
  })

  test('a job that is there already is not made twice, whatever became of it', async (scene) => {
    await put(scene, draft('a'))
    await scene.ended(sample(1), verdict('done'))
    scene.now = FIRST
    assert.equal(await outcome(scene, fire('a')), 'fired')
    assert.equal(await scene.state(idOf(1)), 'done')
  })

  test('unique keys hold for the jobs of schedules', async (scene) => {
    await put(scene, draft('a'))
    await scene.insert(sample(1, { unique: unique('k') }))
    scene.now = FIRST
    const jobs = [sample(2, { unique: unique('k') }), sample(3, { unique: unique('free') })]
    assert.equal(await outcome(scene, fire('a', { jobs })), 'fired')
    assert.deepEqual(await scene.states(idOf(1), idOf(2), idOf(3)), ['ready', 'none', 'ready'])
    assert.equal((await scene.job(idOf(3))).uniqueKey, 'free')
  })

  test('jobs keep everything they were made of', async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST
    const job = sample(1, {
      payload: '{"text":"\\u0000 \\"💌\\" \\\\"}',
      headers: '{"trace":"1"}',
      priority: -7,
      overrides: '{"timeoutMs":5}',
      runAt: FIRST + 5,
    })
    await fireAll(scene, fire('a', { jobs: [job] }))
    const { payload, headers, priority, overrides, dueAt, enqueuedAt, state } = await scene.job(idOf(1))
    assert.deepEqual(
      { payload, headers, priority, overrides, dueAt, enqueuedAt, state },
      {
        payload: job.payload,
        headers: job.headers,
        priority: -7,
        overrides: job.overrides,
        dueAt: FIRST + 5,
        enqueuedAt: FIRST,
        state: 'delayed',
      },
    )
  })

  for (const state of ['delayed', 'ready', 'running', 'done', 'dead', 'cancelled', 'none'] as const) {
    const isUnderWay = state === 'delayed' || state === 'ready' || state === 'running'
    const begun = async (scene: Scene): Promise<void> => {
      await put(scene, draft('a'))
      scene.now = FIRST
      const first = sample(1, state === 'delayed' ? { runAt: FIRST + 10 * MINUTE } : {})
      await fireAll(scene, fire('a', { jobs: [first] }))
      if (state === 'running' || state === 'done' || state === 'dead') {
        const [held] = await scene.take()
        assert.ok(held)
        if (state !== 'running') await scene.settle(held, verdict(state))
      }
      if (state === 'cancelled') await scene.changeOne('cancel', idOf(1))
      if (state === 'none') await scene.changeOne('remove', idOf(1))
      assert.equal(await scene.state(idOf(1)), state)
      scene.now = FIRST + MINUTE
    }
    const second = (overlap: Fire['overlap']): Fire =>
      fire('a', { slot: FIRST + MINUTE, jobs: [sample(2)], overlap })

    test(`overlap skip ${isUnderWay ? 'makes no job' : 'makes a job'} when the last one is ${state}`, async (scene) => {
      await begun(scene)
      assert.equal(await outcome(scene, second('skip')), 'fired')
      assert.equal(await scene.state(idOf(2)), isUnderWay ? 'none' : 'ready')
      const { nextAt, fired, skipped, lastJobId, lastSlot } = await stored(scene, 'a')
      assert.deepEqual(
        { nextAt, fired, skipped, lastJobId, lastSlot },
        isUnderWay
          ? { nextAt: FIRST + 2 * MINUTE, fired: 1, skipped: 1, lastJobId: idOf(1), lastSlot: FIRST }
          : {
              nextAt: FIRST + 2 * MINUTE,
              fired: 2,
              skipped: 0,
              lastJobId: idOf(2),
              lastSlot: FIRST + MINUTE,
            },
      )
    })

    test(`overlap replace ${isUnderWay ? 'stops' : 'leaves'} the last job when it is ${state}`, async (scene) => {
      await begun(scene)
      const [result] = await fireAll(scene, second('replace'))
      assert.deepEqual(
        result?.status === 'fired' && result.replaced,
        isUnderWay ? { id: idOf(1), isRunning: state === 'running' } : null,
      )
      assert.equal(await scene.state(idOf(2)), 'ready')
      const waits = state === 'delayed' || state === 'ready'
      assert.equal(await scene.state(idOf(1)), waits ? 'cancelled' : state)
      if (waits) {
        const { failure, finishedAt, expiresAt } = await scene.job(idOf(1))
        assert.deepEqual(
          [failure, finishedAt, expiresAt],
          [second('replace').failure, scene.now, scene.now + MINUTE],
        )
      }
      if (state === 'running') assert.equal((await scene.job(idOf(1))).cancelReason, 'Replaced.')
      assert.equal((await stored(scene, 'a')).fired, 2)
    })

    test(`overlap allow leaves the last job alone when it is ${state}`, async (scene) => {
      await begun(scene)
      assert.equal(await outcome(scene, second('allow')), 'fired')
      assert.deepEqual(await scene.states(idOf(1), idOf(2)), [state, 'ready'])
    })
  }

  test('of many fires of one slot at the same time exactly one makes its job', async (scene) => {
    await put(scene, draft('a'))
    scene.now = FIRST
    const rivals = await Promise.all(
      Array.from({ length: 20 }, (_, n) => fireAll(scene, fire('a', { jobs: [sample(n + 1)] }))),
    )
    assert.equal(rivals.flat().filter(({ status }) => status === 'fired').length, 1)
    assert.equal((await scene.list('ready')).length, 1)
  })
}
