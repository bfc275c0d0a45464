import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { openScene, type Scene } from './support/scene.ts'

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** Counts how many handlers run at once, in all and for each queue. */
class Gauge {
  readonly most = new Map<string, number>()
  readonly #now = new Map<string, number>()

  async run(scene: Scene, name: string, ms: number): Promise<void> {
    for (const key of ['all', name]) {
      const now = (this.#now.get(key) ?? 0) + 1
      this.#now.set(key, now)
      this.most.set(key, Math.max(now, this.most.get(key) ?? 0))
    }
    await new Promise<void>((resolve) => void scene.runtime.timer(ms, resolve))
    for (const key of ['all', name]) this.#now.set(key, (this.#now.get(key) ?? 0) - 1)
  }
}

describe('concurrency', () => {
  it.each([1, 2, 3, 4, 5])(
    'of the worker and of each queue is used and never exceeded (seed %i)',
    async (seed) => {
      const scene = openScene({ seed })
      const gauge = new Gauge()
      const one = queue<number>('one', { concurrencyPerWorker: 1 })
      const three = queue<number>('three', { concurrencyPerWorker: 3 })
      const free = queue<number>('free')
      for (const each of [one, three, free]) await scene.skep.enqueueMany(each, many(60))
      const duration = (): number => Math.floor(scene.runtime.random() * 40)

      scene.skep.worker(
        [one, three, free].map((each) => each.handle(() => gauge.run(scene, each.name, duration()))),
        { concurrency: 6 },
      )
      for (const each of [one, three, free]) {
        await scene.until(async () => (await scene.counts(each.name)).done === 60)
      }

      expect(Object.fromEntries(gauge.most)).toEqual({ all: 6, one: 1, three: 3, free: expect.any(Number) })
    },
  )

  it('of one means one after the other, in order', async () => {
    const scene = openScene()
    const order: number[] = []
    const single = queue<number>('single')
    await scene.skep.enqueueMany(single, many(50))
    const handler = single.handle(async ({ payload }) => {
      order.push(payload)
      await new Promise<void>((resolve) => void scene.runtime.timer(scene.runtime.random() * 30, resolve))
      order.push(payload)
    })

    scene.skep.worker([handler], { concurrency: 1 })
    await scene.until(async () => (await scene.counts('single')).done === 50)

    expect(order).toEqual(many(50).flatMap((n) => [n, n]))
  })

  it('counts a handler that was given up no longer, but says that it still runs', async () => {
    const scene = openScene()
    const stuck = queue<number>('stuck', { timeout: '1s' })
    await scene.skep.enqueueMany(stuck, many(6))

    const worker = scene.skep.worker([stuck.handle(() => new Promise<void>(() => {}))], {
      concurrency: 2,
      grace: 0,
    })
    await scene.until(() => worker.health().zombies >= 6)

    expect(worker.health().running).toBeLessThanOrEqual(2)
  })

  it('gives each job to one worker only, however many ask', async () => {
    const scene = openScene()
    const shared = queue<number>('shared')
    const runs: number[] = []
    await scene.skep.enqueueMany(shared, many(300))
    const handler = shared.handle(async ({ payload }) => {
      runs.push(payload)
      await new Promise<void>((resolve) => void scene.runtime.timer(3, resolve))
    })

    for (let n = 0; n < 5; n++) scene.client().worker([handler], { concurrency: 4 })
    await scene.until(async () => (await scene.counts('shared')).done === 300)

    expect(runs.toSorted((a, b) => a - b)).toEqual(many(300))
  })
})
