// During a deployment two kinds of workers serve one version of a flow, if somebody forgot to raise it.
import { expect, it } from 'vitest'
import { flow, queue } from '../../src/index.ts'
import { FaultyStore } from '../worker/support/faulty-store.ts'
import { openScene, type Scene, type SceneOptions } from '../worker/support/scene.ts'

const a = queue<{ n: number }, { a: number }>('a')
const b = queue<{ n: number }, { b: number }>('b')
const old = flow('order', (f) => f.step(a).parallel({ risk: (g) => g.step(b).sleep('1s'), money: b }))
const changed = flow('order', (f) => f.step(a).parallel({ money: b }))
const handlers = [a.handle(() => ({ a: 1 })), b.handle(() => ({ b: 2 }))]

/** A run with a branch that only the old flow has, after those who knew it have left. */
async function strandedRun(options: SceneOptions = {}) {
  const scene = openScene(options)
  const first = scene.skep.worker([old, ...handlers])
  const run = await scene.skep.start(old, { n: 1 })
  await scene.until(async () => (await run.branches()).length === 1)
  await first.stop()
  return { scene, run }
}

/** How often a control job was handed back because of its branch. */
function handedBack(scene: Scene): number {
  return scene.log.filter(({ message }) => message.includes('but this worker has')).length
}

it('leaves a branch that it does not know to those who do, at no cost to the run', async () => {
  const { scene, run } = await strandedRun()
  scene.client().worker([changed, ...handlers])
  await scene.until(async () => (await scene.counts('flow:order')).delayed === 1)

  // Much longer than any number of tries of a function that throws.
  await scene.advance(600_000)
  expect((await run.get())?.status).toBe('running')
  // Soon at first, and then rarely: nothing changes until somebody comes who has it.
  expect(handedBack(scene)).toBeGreaterThan(20)
  expect(handedBack(scene)).toBeLessThan(50)
  scene.client().worker([old, ...handlers])
  await scene.until(async () => (await run.get())?.status === 'done')

  expect((await run.get())?.state).toMatchObject({ risk: { b: 2 }, money: { b: 2 } })
})

it.each([1, 2, 3].flatMap((seed) => [{ seed }, { seed, notices: true as const }]))(
  'does not win it again and again from one that has it and is a little slower: %o',
  async (options) => {
    const { scene, run } = await strandedRun(options)
    for (let n = 0; n < 3; n++) scene.client().worker([changed, ...handlers])
    await scene.until(() => handedBack(scene) > 0)

    const slow = new FaultyStore(scene.truth, scene.runtime)
    slow.break({ slowMs: 50 })
    scene.client(slow.store).worker([old, ...handlers])
    await scene.until(async () => (await run.get())?.status === 'done', 600_000)

    expect((await run.get())?.state).toMatchObject({ risk: { b: 2 }, money: { b: 2 } })
    // Each of those who do not have it wins it a few times, until all of them let others go first.
    expect(handedBack(scene)).toBeLessThan(12)
    slow.heal()
  },
)
