import { expect, it } from 'vitest'
import type { RunMove } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { type Control, Engine } from '../../src/flows/control-jobs.ts'
import type { Maker } from '../../src/flows/next-move.ts'
import { Registry } from '../../src/flows/registry.ts'
import { bury, flow, queue } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

it('a success that was decided before a failure, and comes after it, is not lost', async () => {
  const scene = openScene()
  let isBroken = true
  const only = queue<{ n: number }, { ok: number }>('only')
  const short = flow('short', (f) => f.step(only))
  const run = await scene.skep.start(short, { n: 1 })
  scene.skep.worker([only.handle(() => (isBroken ? bury('Broken.') : { ok: 1 }))])
  await scene.until(async () => (await scene.counts('only')).dead === 1)
  const registry = new Registry()
  registry.add(short.tree)
  const engine = new Engine({
    store: scene.truth,
    space: scene.space,
    registry,
    maker: sampleMaker(scene.space),
  })
  const movesOf = async (...of: readonly Control[]): Promise<RunMove[]> =>
    (await engine.decide(of.map((order) => ({ id: order.id, order })))).flatMap((decision) =>
      'move' in decision ? [decision.move] : [],
    )
  const controlOf = async (event: string): Promise<Control> => {
    const { jobs } = await scene.skep.jobs.list({ queue: 'flow:short' })
    const controls = await Promise.all(
      jobs.map(async ({ id }) => (await scene.skep.jobs.get(id))?.payload as unknown as Control),
    )
    return controls.find((one) => one.event === event) as Control
  }

  const [failure] = await movesOf(await controlOf('failure'))
  isBroken = false
  await scene.skep.jobs.retry({ queue: 'only', state: 'dead' })
  await scene.until(async () => (await scene.counts('flow:short')).ready === 2)
  const [success] = await movesOf(await controlOf('success'))
  const { results } = await scene.truth.moveRuns({ moves: [failure as RunMove, success as RunMove] })
  expect(results.map(({ status }) => status)).toEqual(['ok', 'refused'])

  const again = (failure as RunMove).jobs.map(({ payload }) => JSON.parse(payload) as Control)
  await scene.truth.moveRuns({ moves: await movesOf(...again) })
  expect(await run.get()).toMatchObject({ status: 'done', state: { n: 1, ok: 1 } })
})

/** Makes no jobs but those that move runs on. */
function sampleMaker(space: string): Maker {
  let made = 0
  const uuid = (): string => `01a31c50-0000-7000-8000-${String(++made).padStart(12, '0')}`
  return {
    uuid,
    keepMs: 1_000,
    stateBytes: 10_000,
    job: () => Promise.reject(new Error('There is no further step.')),
    control: ({ queue: name }, run, { event, id }): NewJob => ({
      id: uuid(),
      space,
      queue: name,
      payload: JSON.stringify({ run, event, id }),
      headers: null,
      priority: 0,
      delayMs: 0,
      runAt: null,
      unique: null,
      overrides: null,
      lane: null,
      strict: false,
      cost: 1,
      member: null,
    }),
  }
}
