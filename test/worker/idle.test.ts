import { expect, it } from 'vitest'
import { createSkep, exponential, fixed, queue, retry, snooze } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { virtualRuntime } from '../../src/testing.ts'

const work = queue<string>('work', {
  onError: retry(3, exponential('5m')),
  onTimeout: retry(1, fixed('1m')),
})

function open() {
  const runtime = virtualRuntime({ seed: 1 })
  const skep = createSkep({ store: memoryStore({ runtime }), runtime, history: false })
  return { runtime, skep }
}

it('runUntilIdle ends when a worker has done everything, delays and retries included', async () => {
  const { runtime, skep } = open()
  skep.worker([
    work.handle(async ({ payload, attempt }) => {
      if (payload === 'fails' || (payload === 'fails once' && attempt === 1)) throw new Error('declined')
      if (payload === 'snoozes' && attempt === 1) return snooze('30m')
      if (payload === 'takes long') await new Promise<void>((resolve) => runtime.timer(600_000, resolve))
      return undefined
    }),
  ])
  const payloads = ['works', 'fails', 'fails once', 'snoozes', 'takes long', 'delayed']
  for (const payload of payloads) {
    await skep.enqueue(work, payload, payload === 'delayed' ? { delay: '2h' } : {})
  }
  const before = runtime.now()

  await runtime.runUntilIdle()

  const [{ done, dead, ready, delayed, running } = {}] = await skep.queues.list([work])
  expect({ done, dead, ready, delayed, running }).toEqual({
    done: 5,
    dead: 1,
    ready: 0,
    delayed: 0,
    running: 0,
  })
  expect(runtime.now() - before).toBeGreaterThanOrEqual(2 * 3_600_000)
  await skep.close()
})

it('runUntilIdle ends at once with a worker that has nothing to do, and again after more was enqueued', async () => {
  const { runtime, skep } = open()
  let runs = 0
  skep.worker([work.handle(() => void runs++)])
  await runtime.runUntilIdle()
  expect(runs).toBe(0)

  await skep.enqueue(work, 'works')
  await runtime.runUntilIdle()

  expect(runs).toBe(1)
  await skep.close()
})

it('runUntilIdle rejects while a job is due later than it may go', async () => {
  const { runtime, skep } = open()
  skep.worker([work.handle(() => {})])
  await skep.enqueue(work, 'later', { delay: '3d' })

  await expect(runtime.runUntilIdle({ maxMs: 600_000 })).rejects.toThrow(/Not idle/)
  await skep.close()
})
