import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createSkep,
  fixed,
  type Handler,
  type Queue,
  queue,
  retry,
  type Skep,
  type Store,
  silentLogger,
  snooze,
} from '../../src/index.ts'
import { openStore, STORES } from '../client/support/stores.ts'
import { aborted, gate } from './support/scene.ts'

const options = { onError: retry(0, fixed(0)) } as const
const QUEUES: readonly Queue<number, number>[] = [
  queue<number, number>('strict', { ...options, order: 'strict' }),
  queue<number, number>('single', { ...options, concurrency: 1 }),
]
const patience = { timeout: 20_000, interval: 5 }

function openSkep(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  onTestFinished(() => skep.close(), 60_000)
  return skep
}

describe.each(STORES)('a worker that stops on %s', (name) => {
  it('leaves no handler running beside the next holder, and saves how each one ended', async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const cleaned = gate()
    const live = new Map<string, number>()
    const twice: string[] = []
    const begun: string[] = []
    const handlers: Handler[] = QUEUES.map((of) =>
      of.handle(async ({ queue: at, payload, attempt, signal }) => {
        live.set(at, (live.get(at) ?? 0) + 1)
        if ((live.get(at) as number) > 1) twice.push(at)
        begun.push(`${at} ${payload}`)
        if (attempt === 1 && payload === 0) {
          await aborted(signal)
          await cleaned.promise
        }
        live.set(at, (live.get(at) as number) - 1)
        if (payload === 0 && attempt === 1) {
          if (at === 'strict') throw new Error('Aborted.')
          return snooze('10ms')
        }
        return payload
      }),
    )
    for (const of of QUEUES) await skep.enqueueMany(of, [0, 1])
    const first = skep.worker(handlers, { drain: 0, grace: '1m' })
    await expect.poll(() => begun.length, patience).toBe(2)
    const second = openSkep(store)
    await second.worker(handlers).ready

    const stopped = first.stop()
    // The other worker looks many times while these handlers end.
    for (let n = 0; n < 20; n++) await second.queues.list(QUEUES)
    expect(begun).toHaveLength(2)
    cleaned.open()
    await stopped

    await expect
      .poll(async () => (await second.queues.list(QUEUES)).map(({ done }) => done), patience)
      .toEqual([2, 2])
    expect(twice).toEqual([])
    const { jobs } = await second.jobs.list({ state: 'done' })
    expect(jobs.map(({ errors, lost, timeouts }) => errors + lost + timeouts)).toEqual([0, 0, 0, 0])
    expect(jobs.reduce((sum, { snoozes }) => sum + snoozes, 0)).toBe(1)
  }, 60_000)
})
