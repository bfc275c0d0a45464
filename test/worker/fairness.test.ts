import { expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { gate, openScene } from './support/scene.ts'

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

it('serves a queue with one job while another one keeps every slot and its buffer busy', async () => {
  const scene = openScene()
  const busy = queue<number>('busy')
  const rare = queue<number>('rare')
  let done = 0
  let doneBeforeRare: number | null = null
  await scene.skep.enqueueMany(busy, many(6_000))
  const handlers = [
    busy.handle(async () => {
      await new Promise<void>((resolve) => void scene.runtime.timer(5, resolve))
      if (done++ === 1_000) void scene.skep.enqueue(rare, 1)
    }),
    rare.handle(async () => {
      doneBeforeRare = done
    }),
  ]

  scene.skep.worker(handlers)
  await scene.until(() => doneBeforeRare !== null)

  // A buffer holds 500 at most, so nobody waits longer than for the claims that were on their way.
  expect(doneBeforeRare).toBeLessThan(3_000)
})

it('serves two queues with a backlog in turn when slots come free one at a time', async () => {
  const scene = openScene()
  const left = queue<number>('left')
  const right = queue<number>('right')
  const order: string[] = []
  const slow = async (name: string): Promise<void> => {
    order.push(name)
    await new Promise<void>((resolve) => void scene.runtime.timer(2_000, resolve))
  }
  await scene.skep.enqueueMany(left, many(30))
  await scene.skep.enqueueMany(right, many(30))

  scene.skep.worker([left.handle(() => slow('left')), right.handle(() => slow('right'))], { concurrency: 2 })
  await scene.until(() => order.length >= 20)

  expect(order.filter((name) => name === 'left').length).toBeGreaterThanOrEqual(8)
  expect(order.filter((name) => name === 'right').length).toBeGreaterThanOrEqual(8)
})

it('serves each of five queues, whichever of them are empty', async () => {
  const scene = openScene()
  const queues = many(5).map((n) => queue<number>(`queue-${n}`))
  const order: string[] = []
  for (const each of [queues[0], queues[2], queues[4]]) await scene.skep.enqueueMany(each!, many(40))
  const handler = async (name: string): Promise<void> => {
    order.push(name)
    await new Promise<void>((resolve) => void scene.runtime.timer(2_000, resolve))
  }

  scene.skep.worker(
    queues.map((each) => each.handle(() => handler(each.name))),
    { concurrency: 3 },
  )
  await scene.until(() => order.length >= 45)

  for (const name of ['queue-0', 'queue-2', 'queue-4']) {
    expect(order.filter((one) => one === name).length).toBeGreaterThanOrEqual(10)
  }
})

it('goes on with a queue of concurrency 1 at once, although the other queue it was claimed with is empty', async () => {
  const scene = openScene()
  const single = queue<number>('single', { concurrencyPerWorker: 1 })
  const idle = queue<number>('idle')
  const gates = many(4).map(() => gate())
  const started: number[] = []
  await scene.skep.enqueueMany(single, many(4))
  const handlers = [
    single.handle(async ({ payload }) => {
      started.push(payload)
      await gates[payload]!.promise
    }),
    idle.handle(() => {}),
  ]
  scene.skep.worker(handlers)
  await scene.until(() => started.length === 1)

  for (const n of many(4)) {
    const before = scene.runtime.mono()
    gates[n]!.open()
    await scene.runtime.settle()
    await scene.until(() => started.length === Math.min(4, n + 2))
    expect(scene.runtime.mono()).toBe(before)
  }

  expect(started).toEqual([0, 1, 2, 3])
})
