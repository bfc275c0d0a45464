import { describe, expect, it } from 'vitest'
import { flow, queue } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const a = queue<{ n: number }, { a: number }>('a')

describe('a start', () => {
  it('with an id that was started before does nothing', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a))
    const id = scene.runtime.uuid()
    let calls = 0
    await scene.skep.start(order, { n: 1 }, { id })

    const run = await scene.skep.start(order, { n: 2 }, { id })

    scene.skep.worker([order, a.handle(({ payload }) => ({ a: payload.n * 100 + calls++ }))])
    expect(await scene.through(run.result())).toEqual({ n: 1, a: 100 })
    await scene.advance(10_000)
    expect(calls).toBe(1)
  })
})
