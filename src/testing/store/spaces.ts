import assert from 'node:assert/strict'
import type { ClaimedJob, JobState, NewJob } from '../../core/jobs/job.ts'
import { group, groupOf, members, move, run, runOf } from './flows/group-samples.ts'
import { line, note, progress } from './job-log-samples.ts'
import {
  DAY,
  HOUR,
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  sample,
  samples,
  tokenOf,
  unique,
  verdict,
} from './samples.ts'
import { type Scene, type StoreCase, source } from './scene.ts'

const THERE = { space: OTHER_SPACE }
const both = [source(), source(THERE)]

/** The same ids in two spaces: nothing that is done in one reaches the other. */
export function spaceCases(test: StoreCase): void {
  test('lists the spaces that have jobs, and only when asked to', async (scene) => {
    const ask = async (queues: readonly string[] = []): Promise<unknown> =>
      (await scene.store.counts({ space: SPACE, queues, spaces: true, now: scene.now })).spaces
    const none = { delayed: 0, ready: 0, running: 0, done: 0, failed: 0, dead: 0, cancelled: 0 }
    assert.deepEqual(await ask(), [])

    await scene.insert(...samples(3), sample(4, { delayMs: HOUR }), sample(5, { queue: OTHER_QUEUE }))
    await scene.insert(sample(6, THERE), sample(7, { ...THERE, delayMs: HOUR }))
    await scene.take({ limit: 1 })

    const here = { space: SPACE, queues: 2, states: { ...none, ready: 3, running: 1, delayed: 1 } }
    const there = { space: OTHER_SPACE, queues: 1, states: { ...none, ready: 1, delayed: 1 } }
    const all = [here, there].sort((a, b) => (a.space < b.space ? -1 : 1))
    assert.deepEqual(await ask(), all)
    assert.deepEqual(await ask([QUEUE]), all)
    assert.equal((await scene.store.counts({ space: SPACE, now: scene.now })).spaces, undefined)
    for (const n of [6, 7]) assert.equal(await scene.changeOne('remove', idOf(n), THERE), 'ok')
    assert.deepEqual(await ask(), [here])
  })

  test('keeps two jobs with one id in two spaces', async (scene) => {
    const results = await scene.insert(
      sample(1),
      sample(1, { ...THERE, queue: OTHER_QUEUE, payload: '"there"' }),
    )

    assert.deepEqual(
      results.map((result) => result.status === 'ok' && result.known),
      [undefined, undefined],
    )
    const [here, there] = [await scene.job(idOf(1)), await scene.job(idOf(1), OTHER_SPACE)]
    assert.deepEqual([here.queue, here.payload], [QUEUE, '{"n":1}'])
    assert.deepEqual([there.space, there.queue, there.payload], [OTHER_SPACE, OTHER_QUEUE, '"there"'])
    const [known] = await scene.insertAgain(sample(1, { ...THERE, queue: OTHER_QUEUE }))
    assert.deepEqual(known, { status: 'ok', state: 'ready', dueAt: scene.now, known: true })
    assert.equal((await scene.list('ready')).length, 1)
  })

  for (const again of [false, true]) {
    test(`inserts what another space ${again ? 'has archived or removed' : 'has'}, in one call with more`, async (scene) => {
      if (again) {
        await scene.ended(sample(1, THERE), verdict('done'))
        await scene.ended(sample(2, THERE), verdict('done', { keepMs: null }))
      } else await scene.insert(...samples(2, THERE))
      const results = await scene.store.insert({ jobs: samples(3), again, now: scene.now })

      assert.deepEqual(
        results.results,
        samples(3).map(() => ({ status: 'ok', state: 'ready', dueAt: scene.now })),
      )
      assert.deepEqual(idsOf(await scene.take()), [1, 2, 3].map(idOf))
    })
  }

  test('claims each for its own space, by rank, by id and first', async (scene) => {
    await scene.insert(...samples(4), ...samples(4, THERE))

    const named = await scene.take({ sources: both, ids: [idOf(3)] })
    const first = await scene.take({ sources: [source({ ...THERE, limit: 1 })], first: [idOf(4)] })
    const rest = await scene.take({ sources: both })

    assert.deepEqual(named.map(placeOf), [`${SPACE} 3`, `${OTHER_SPACE} 3`])
    assert.deepEqual(first.map(placeOf), [`${OTHER_SPACE} 4`])
    assert.deepEqual(rest.map(placeOf).sort(), [
      `${SPACE} 1`,
      `${SPACE} 2`,
      `${SPACE} 4`,
      `${OTHER_SPACE} 1`,
      `${OTHER_SPACE} 2`,
    ])
  })

  test('renews and ends the lease of one alone, also under one token', async (scene) => {
    await scene.insert(...samples(3), ...samples(3, THERE))
    const jobs = await scene.take({ sources: both })
    const theirs = jobs.filter(({ space }) => space === OTHER_SPACE)
    assert.equal(jobs.length, 6)

    assert.deepEqual(
      await scene.extend(theirs, HOUR),
      theirs.map(() => ({ status: 'ok', cancelReason: null })),
    )
    const kept = await scene.settleAll([
      end(theirs[0], 'done'),
      end(theirs[1], 'delayed'),
      { ...end(theirs[2], 'done'), verdict: verdict('done', { keepMs: null }) },
    ])
    assert.ok(kept.every(({ status }) => status === 'ok'))

    assert.deepEqual(await scene.states(...[1, 2, 3].map(idOf)), ['running', 'running', 'running'])
    assert.deepEqual(await states(scene, 3), ['done', 'delayed', 'none'])
    const [mine] = await scene.list('running')
    assert.equal((mine?.leaseUntil ?? 0) - scene.now, 30_000)
    scene.pass(MINUTE)
    const expired = await scene.expired({ sources: both })
    assert.deepEqual(
      expired.map(placeOf),
      [1, 2, 3].map((n) => `${SPACE} ${n}`),
    )
    const ended = await scene.settleAll(
      expired.map((lease) => ({ ...end(lease, 'done'), onlyIfExpired: true })),
    )
    assert.ok(ended.every(({ status }) => status === 'ok'))
    assert.deepEqual(await states(scene, 3), ['done', 'delayed', 'none'])
  })

  test('refuses the token of another space, and says it of a repetition there', async (scene) => {
    await scene.insert(...samples(2))
    const [one, two] = await scene.take()
    assert.ok(one && two)
    await scene.insert(...samples(2, THERE))
    const alien = [one, two].map(({ id, token }) => ({ space: OTHER_SPACE, id, token }))

    const waiting = await scene.settleAll(alien.map((lease) => ({ ...lease, verdict: verdict('done') })))
    const extended = await scene.extend(alien)
    const noted = await scene.store.note({
      notes: alien.map((lease) => ({ ...lease, ...note([line(1)]) })),
      now: scene.now,
    })
    await scene.settleAll([
      end(one, 'done'),
      { ...end(two, 'done'), verdict: verdict('done', { keepMs: null }) },
    ])
    const gone = await scene.settleAll([
      ...alien.map((lease) => ({ ...lease, verdict: verdict('done') })),
      end(one, 'done'),
      end(two, 'done'),
    ])

    const lost = { status: 'refused', reason: 'lost' }
    assert.deepEqual([...waiting, ...extended, ...noted.results], [lost, lost, lost, lost, lost, lost])
    assert.deepEqual(
      gone.map((result) => (result.status === 'refused' ? result.reason : result.status)),
      ['lost', 'lost', 'ok', 'ok'],
    )
    assert.deepEqual(await states(scene, 2), ['ready', 'ready'])
  })

  test('changes those of its space', async (scene) => {
    const all = [1, 2, 3, 4, 5, 6].map(idOf)
    await scene.insert(...samples(6, { delayMs: HOUR }), ...samples(6, { ...THERE, delayMs: HOUR }))
    const before = await Promise.all(all.map((id) => scene.job(id)))
    const there = { space: OTHER_SPACE }

    for (const [n, action] of (
      ['cancel', 'promote', 'prioritize', 'reschedule', 'remove', 'bury'] as const
    ).entries())
      assert.equal(
        await scene.changeOne(action, idOf(n + 1), { ...there, priority: 2, dueAt: scene.now + 1 }),
        'ok',
      )
    assert.equal(await scene.changeOne('retry', idOf(6), there), 'ok')
    assert.equal(await scene.changeOne('retry', idOf(5), there), 'unknown')

    assert.deepEqual(await Promise.all(all.map((id) => scene.job(id))), before)
    assert.deepEqual(await states(scene, 6), ['cancelled', 'ready', 'delayed', 'delayed', 'none', 'ready'])
  })

  test('cancels, retries and removes ended and running ones of its space', async (scene) => {
    for (const place of [{}, THERE]) {
      await scene.ended(sample(1, place), verdict('dead'))
      await scene.ended(sample(2, place), verdict('done'))
      await scene.running(sample(3, place))
    }

    for (const [id, action] of [
      [1, 'retry'],
      [2, 'remove'],
      [3, 'cancel'],
    ] as const)
      await scene.change(action, { ids: [idOf(id)] }, THERE)

    assert.deepEqual(await scene.states(...[1, 2, 3].map(idOf)), ['dead', 'done', 'running'])
    assert.equal((await scene.job(idOf(3))).cancelReason, null)
    assert.deepEqual(await states(scene, 3), ['ready', 'none', 'running'])
    assert.equal((await scene.job(idOf(3), OTHER_SPACE)).cancelReason, '')
  })

  test('prunes, counts and lists them apart', async (scene) => {
    await scene.ended(sample(1), verdict('done', { keepMs: MINUTE }))
    await scene.ended(sample(1, THERE), verdict('done', { keepMs: DAY }))
    scene.pass(MINUTE)

    assert.equal(await scene.prune(), 1)

    assert.deepEqual([await scene.state(idOf(1)), await scene.state(idOf(1), OTHER_SPACE)], ['none', 'done'])
    for (const [space, done] of [
      [SPACE, 0],
      [OTHER_SPACE, 1],
    ] as const) {
      const [counts] = (await scene.store.counts({ space, queues: [QUEUE] })).queues
      assert.equal(counts?.states.done, done)
      assert.equal((await scene.list('done', { space })).length, done)
    }
  })

  test('gives a unique key of each space up by itself', async (scene) => {
    const key = { unique: unique('k') }
    const [mine, theirs] = [
      await scene.running(sample(1, key)),
      await scene.running(sample(1, { ...THERE, ...key })),
    ]

    await scene.settle(theirs, verdict('done'))
    const [held, free] = await scene.insert(sample(2, key), sample(2, { ...THERE, ...key }))
    assert.deepEqual([held?.status, free?.status], ['duplicate', 'ok'])

    await scene.change('remove', { ids: [idOf(2)] }, THERE)
    assert.equal((await scene.insert(sample(3, key)))[0]?.status, 'duplicate')
    const queued = { unique: unique('q', { scope: 'queued' }) }
    await scene.insert(sample(4, queued), sample(4, { ...THERE, ...queued }))
    await scene.take({ sources: [source(THERE)] })
    assert.equal((await scene.insert(sample(5, queued)))[0]?.status, 'duplicate')
    assert.equal((await scene.settle(mine, verdict('done'))).status, 'ok')
  })

  test('replaces the job of its own space that holds a key', async (scene) => {
    const key = { unique: unique('k', { onConflict: 'replace' }), delayMs: HOUR }
    await scene.insert(sample(1, key), sample(1, { ...THERE, ...key }))

    const [result] = await scene.insert(sample(2, { ...THERE, ...key, payload: '"new"' }))

    assert.deepEqual(result, { status: 'duplicate', id: idOf(1), action: 'replaced' })
    assert.deepEqual(
      [(await scene.job(idOf(1))).payload, (await scene.job(idOf(1), OTHER_SPACE)).payload],
      ['{"n":1}', '"new"'],
    )
  })

  test('keeps the notes of each, and removes them with their own job', async (scene) => {
    const [mine, theirs] = [await scene.running(sample(1)), await scene.running(sample(1, THERE))]
    const notes = [mine, theirs].map(({ space, id, token }) => ({
      ...note([line(1, { text: space })], progress(1, space === SPACE ? 10 : 20)),
      space,
      id,
      token,
    }))

    const { results } = await scene.store.note({ notes, now: scene.now })
    assert.ok(results.every(({ status }) => status === 'ok'))
    assert.deepEqual(await notesIn(scene, SPACE), [10, [SPACE]])
    assert.deepEqual(await notesIn(scene, OTHER_SPACE), [20, [OTHER_SPACE]])
    await scene.settle(theirs, verdict('done', { keepMs: null }), { noted: true })

    assert.deepEqual(await notesIn(scene, OTHER_SPACE), [null, []])
    assert.deepEqual(await notesIn(scene, SPACE), [10, [SPACE]])
  })

  test('ends the members of groups of its space', async (scene) => {
    const theirs = group(2, { id: groupOf(2), space: OTHER_SPACE, jobs: { success: sample(1_000, THERE) } })
    await scene.store.insert({
      jobs: [...members(2), ...members(2, theirs.id, 1, THERE)],
      groups: [group(2), theirs],
      now: scene.now,
    })
    const jobs = await scene.take({ sources: [source(THERE)] })

    await scene.settleAll(jobs.map((job) => end(job, 'done')))

    const groups = await Promise.all(
      [SPACE, OTHER_SPACE].map(async (space) => {
        const ids = [space === SPACE ? groupOf(1) : groupOf(2)]
        return (await scene.store.getGroups({ space, ids })).groups[0]?.done
      }),
    )
    assert.deepEqual(groups, [0, 2])
    const open = { space: SPACE, group: groupOf(1), from: 0, limit: 10 }
    assert.equal((await scene.store.openMembers(open)).members.length, 2)
    assert.deepEqual(
      [await scene.state(idOf(1_000)), await scene.state(idOf(1_000), OTHER_SPACE)],
      ['none', 'ready'],
    )
  })

  test('moves the run of its space, and keeps two with one id', async (scene) => {
    const runs = [
      run(1, { attributes: ['a:1'] }),
      run(1, { ...THERE, attributes: ['a:1'], state: '{"there":1}' }),
    ]
    await scene.store.insert({ jobs: [], runs, now: scene.now })

    const moves = [{ ...move(1, 0, { status: 'done', keepMs: MINUTE }), space: OTHER_SPACE }]
    assert.deepEqual((await scene.store.moveRuns({ moves, now: scene.now })).results, [{ status: 'ok' }])

    const found = async (space: string): Promise<unknown> => {
      const [one] = (await scene.store.getRuns({ space, ids: [runOf(1)] })).runs
      const call = { space, attribute: 'a:1', limit: 10, cursor: null }
      return one && [one.status, one.state, (await scene.store.listRuns(call)).runs.length]
    }
    assert.deepEqual(await found(SPACE), ['running', '{}', 1])
    assert.deepEqual(await found(OTHER_SPACE), ['done', '{"there":1}', 1])
    scene.pass(HOUR)
    await scene.prune()
    assert.deepEqual(await found(SPACE), ['running', '{}', 1])
    assert.deepEqual(await found(OTHER_SPACE), null)
  })

  test('keeps strict lanes of both in their order', async (scene) => {
    await scene.limit({ strict: true, laneConcurrency: 1 })
    await scene.store.setLimits({
      space: OTHER_SPACE,
      limits: [{ target: { queue: QUEUE }, by: 'hand', fields: { strict: true, laneConcurrency: 1 } }],
      now: scene.now,
    })
    const strict = { lane: 'a', strict: true }
    await scene.insert(...samples(2, strict), ...samples(2, { ...strict, ...THERE }))

    const jobs = await scene.take({ sources: both })
    assert.deepEqual(jobs.map(placeOf), [`${SPACE} 1`, `${OTHER_SPACE} 1`])
    await scene.settle(jobs[1] as ClaimedJob, verdict('delayed', { delayMs: HOUR }))
    await scene.settle(jobs[0] as ClaimedJob, verdict('done'))

    assert.deepEqual((await scene.take({ sources: both })).map(placeOf), [`${SPACE} 2`])
  })

  test('lets many of both end in one call, some with what follows', async (scene) => {
    const count = 12
    await scene.insert(...samples(count), ...samples(count, THERE))
    const jobs = await scene.take({ sources: both })
    const follow = (job: ClaimedJob): NewJob =>
      sample(100 + Number.parseInt(job.id.slice(-4), 16), { space: job.space })

    const results = await scene.settleAll(
      jobs.map((job, n) => ({
        ...end(job, 'done'),
        verdict: verdict('done', { keepMs: n % 3 ? null : HOUR }),
        ...(n % 2 === 0 && { enqueue: [follow(job)] }),
      })),
    )

    assert.ok(results.every(({ status }) => status === 'ok'))
    for (const space of [SPACE, OTHER_SPACE]) {
      const [counts] = (await scene.store.counts({ space, queues: [QUEUE] })).queues
      assert.deepEqual([counts?.states.running, counts?.states.ready], [0, count / 2])
    }
    const again = await scene.settleAll(jobs.map((job) => end(job, 'done')))
    assert.deepEqual(
      again.map((result) => (result.status === 'ok' ? result.state : result.status)),
      jobs.map(() => 'done'),
    )
  })
}

function placeOf({ space, id }: Pick<ClaimedJob, 'space' | 'id'>): string {
  return `${space} ${Number.parseInt(id.slice(-6), 16)}`
}

function end(job: Pick<ClaimedJob, 'space' | 'id' | 'token'> | undefined, to: 'done' | 'delayed') {
  const { space = SPACE, id = idOf(0), token = tokenOf(0) } = job ?? {}
  return { space, id, token, verdict: verdict(to) }
}

async function states(scene: Scene, count: number): Promise<(JobState | 'none')[]> {
  const ids = samples(count).map(({ id }) => id)
  return Promise.all(ids.map((id) => scene.state(id, OTHER_SPACE)))
}

async function notesIn(scene: Scene, space: string): Promise<[number | null, string[]]> {
  const { progress: told, lines } = await scene.store.notes({ space, id: idOf(1), after: 0, limit: 10 })
  return [told?.value ?? null, lines.map(({ text }) => text)]
}
