import { expect, it } from 'vitest'
import { queue } from '../../../src/index.ts'
import { openScene, type Scene } from '../../worker/support/scene.ts'

const parent = queue<number, number>('parent')
const child = queue<number>('child')

/** A worker whose handler enqueues a child, and a job for it. */
async function begin(scene: Scene, trouble: () => void): Promise<string> {
  const handler = parent.handle(async ({ payload, enqueue }) => {
    await enqueue(child, payload)
    trouble()
    return payload
  })
  await scene.through(scene.skep.worker([handler]).ready)
  return (await scene.skep.enqueue(parent, 1)).id
}

it('what a handler enqueued needs no call of its own: it is there with the success', async () => {
  const scene = openScene()
  const id = await begin(scene, () => scene.faults.break('before', ['insert']))
  await scene.advance(1_000)
  expect(await scene.state(id)).toBe('done')
  expect(await scene.counts('child')).toEqual({ ready: 1 })
})

it('what a handler enqueued does not exist before its success is saved', async () => {
  const scene = openScene()
  const id = await begin(scene, () => scene.faults.break('before', ['settle']))
  await scene.advance(5_000)
  expect(await scene.state(id)).toBe('running')
  expect(await scene.counts('child')).toEqual({})

  scene.faults.heal()
  await scene.until(async () => (await scene.state(id)) === 'done')
  expect(await scene.counts('child')).toEqual({ ready: 1 })
})
