// During a deployment two kinds of workers serve one version of a flow, if somebody forgot to raise it.
import { expect, it } from 'vitest'
import { flow, queue } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const a = queue<{ n: number }, { a: number }>('a')
const b = queue<{ n: number }, { b: number }>('b')
const old = flow('order', (f) => f.step(a).parallel({ risk: (g) => g.step(b).sleep('1s'), money: b }))
const changed = flow('order', (f) => f.step(a).parallel({ money: b }))

it('leaves a branch that it does not know to those who do, at no cost to the run', async () => {
  const scene = openScene()
  const handlers = [a.handle(() => ({ a: 1 })), b.handle(() => ({ b: 2 }))]
  const first = scene.skep.worker([old, ...handlers])
  const run = await scene.skep.start(old, { n: 1 })
  await scene.until(async () => (await run.branches()).length === 1)
  await first.stop()
  scene.client().worker([changed, ...handlers])
  await scene.until(async () => (await scene.counts('flow:order')).delayed === 1)

  // Much longer than any number of tries of a function that throws.
  await scene.advance(600_000)
  expect((await run.get())?.status).toBe('running')
  scene.client().worker([old, ...handlers])
  await scene.until(async () => (await run.get())?.status === 'done')

  expect((await run.get())?.state).toMatchObject({ risk: { b: 2 }, money: { b: 2 } })
})
