import assert from 'node:assert/strict'
import { JOB_STATES, type JobState } from '../../../core/jobs/job.ts'
import { JOB_BYTES, type Texts, weightOf } from '../../../core/jobs/size.ts'
import type { WeighReply } from '../../../store/store.ts'
import { line, lines, note, progress, send } from '../job-log-samples.ts'
import {
  failure,
  HOUR,
  idOf,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  sample,
  samples,
  unique,
  verdict,
} from '../samples.ts'
import type { Scene, StoreCase } from '../scene.ts'

const LARGE = JSON.stringify('é'.repeat(20_000))

/** Weighs the sample queue, page by page. */
async function weigh(scene: Scene, state: JobState, limit = 1_000): Promise<Omit<WeighReply, 'cursor'>> {
  const sum = { jobs: 0, bytes: 0 }
  let cursor: string | null = null
  do {
    const call = { space: SPACE, queue: QUEUE, state, limit, cursor }
    const page: WeighReply = await scene.store.weigh(call)
    assert.ok(page.jobs <= limit)
    sum.jobs += page.jobs
    sum.bytes += page.bytes
    cursor = page.cursor
  } while (cursor !== null)
  return sum
}

/** Within what a store may weigh jobs with these texts, and so many bytes of logs. */
function assertWeight(weighed: Omit<WeighReply, 'cursor'>, jobs: readonly Texts[], logged = 0): void {
  const least = jobs.reduce((sum, job) => sum + weightOf(job), logged)
  const most = 2 * (least - JOB_BYTES * jobs.length) + 2 * JOB_BYTES * jobs.length
  assert.equal(weighed.jobs, jobs.length)
  assert.ok(weighed.bytes >= least && weighed.bytes <= most, `${least} <= ${weighed.bytes} <= ${most}`)
}

export function weighCases(test: StoreCase): void {
  test('weighs nothing where there is nothing', async (scene) => {
    await scene.insert(sample(1, { queue: OTHER_QUEUE }), sample(2, { space: OTHER_SPACE }))

    for (const state of JOB_STATES) assert.deepEqual(await weigh(scene, state), { jobs: 0, bytes: 0 }, state)
  })

  test('weighs the jobs of each state by themselves', async (scene) => {
    for (const [n, state] of JOB_STATES.entries()) {
      await scene.inState(sample(n + 1, { payload: JSON.stringify('x'.repeat(1_000 * (n + 1))) }), state)
    }
    await scene.insert(sample(20, { queue: OTHER_QUEUE }), sample(21, { space: OTHER_SPACE, payload: LARGE }))

    for (const [n, state] of JOB_STATES.entries()) {
      assertWeight(await weigh(scene, state), [await scene.job(idOf(n + 1))])
    }
  })

  test('weighs bytes and not letters, of whatever a job has', async (scene) => {
    const content = {
      headers: JSON.stringify({ trace: '漢'.repeat(500) }),
      overrides: JSON.stringify({ why: 'é'.repeat(300) }),
      lane: 'l'.repeat(100),
    }
    const key = 'k'.repeat(400)
    await scene.insert(sample(1, { ...content, payload: LARGE, unique: unique(key) }))

    assertWeight(await weigh(scene, 'ready'), [{ ...content, payload: LARGE, uniqueKey: key }])
  })

  test('weighs what a job got: its result, its failure, why it shall stop', async (scene) => {
    const [long, reason] = [failure('no'.repeat(2_000)), 'because '.repeat(100)]
    await scene.ended(sample(1), verdict('done', { result: LARGE }))
    await scene.ended(sample(2), verdict('dead', { failure: long }))
    await scene.running(sample(3))
    await scene.changeOne('cancel', idOf(3), { failure: failure(reason) })

    assertWeight(await weigh(scene, 'done'), [{ payload: '{"n":1}', result: LARGE }])
    assertWeight(await weigh(scene, 'dead'), [{ payload: '{"n":2}', failure: long }])
    assertWeight(await weigh(scene, 'running'), [{ payload: '{"n":3}', cancelReason: reason }])
  })

  test('weighs the lines that are kept of the log, and what goes with the progress', async (scene) => {
    const [held, silent] = [await scene.running(sample(1)), await scene.running(sample(2))]
    const text = 'é'.repeat(2_000)
    const told = 'p'.repeat(400)
    // The newest 256 KiB of these are kept.
    await send(scene, held, note(lines(1, 100, { text }), progress(1, 50, told)))
    const of = [{ payload: '{"n":1}' }, { payload: '{"n":2}' }]

    const kept = Math.floor(262_144 / 4_000) * 4_000
    assertWeight(await weigh(scene, 'running'), of, kept + told.length)
    await scene.settle(held, verdict('done'))
    assertWeight(await weigh(scene, 'done'), of.slice(0, 1), kept + told.length)
    await send(scene, silent, note([line(1, { text, fields: '{"a":1}' })]))
    assertWeight(await weigh(scene, 'running'), of.slice(1), 4_007)
  })

  test('weighs page by page what it weighs at once', async (scene) => {
    await scene.insert(...samples(40), ...samples(10, { lane: 'a' }, 101), ...samples(10, { lane: 'b' }, 201))
    await scene.insert(...samples(25, { delayMs: HOUR }, 301))
    await scene.insert(...samples(75, { queue: OTHER_QUEUE }, 401))
    await scene.take({ limit: 20 })
    await scene.insert(...samples(30, {}, 501))
    for (const { id, token } of await scene.take({ limit: 15 })) {
      await scene.settle({ id, token }, verdict('done', { result: '"ok"' }))
    }

    for (const [state, jobs] of [
      ['ready', 55],
      ['delayed', 25],
      ['running', 20],
      ['done', 15],
    ] as const) {
      const whole = await weigh(scene, state)
      assert.equal(whole.jobs, jobs, state)
      for (const limit of [1, 5, 7, 33]) assert.deepEqual(await weigh(scene, state, limit), whole, state)
    }
  })

  test('weighs less when jobs have gone, also in the midst of a walk', async (scene) => {
    await scene.insert(...samples(30, { payload: LARGE }))
    const call = { space: SPACE, queue: QUEUE, state: 'ready', limit: 10 } as const
    const first = await scene.store.weigh({ ...call, cursor: null })

    // Those of the page before, its last one among them, and some of the next.
    for (const n of [5, 10, 11, 12]) await scene.changeOne('remove', idOf(n))
    const second = await scene.store.weigh({ ...call, cursor: first.cursor })
    const third = await scene.store.weigh({ ...call, cursor: second.cursor })

    assert.deepEqual([first.jobs, second.jobs, third.jobs], [10, 10, 8])
    assertWeight(await weigh(scene, 'ready'), Array(26).fill({ payload: LARGE }))
  })
}
