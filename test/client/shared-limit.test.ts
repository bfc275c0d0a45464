import { expect, it } from 'vitest'
import { createSkep, queue, sharedLimit, silentLogger } from '../../src/index.ts'
import { openStore, STORES } from './support/stores.ts'

// Far longer than the test: without a hint the second queue would wait for its poll.
const POLL = { poll: '5m' } as const

it.each(STORES.flatMap((name) => [[name, 'one worker'] as const, [name, 'two workers'] as const]))(
  'Room in a shared limit wakes the other queues that share it (%s, %s)',
  async (name, where) => {
    const api = sharedLimit('api', { concurrency: 1 })
    const first = queue<number>('first', { limit: api })
    const second = queue<number>('second', { limit: api })
    const store = await openStore(name)
    const skep = createSkep({ store, logger: silentLogger })
    const started: string[] = []
    let finish: () => void = () => {}
    const running = new Promise<void>((resolve) => {
      const handlers = [
        first.handle(async () => {
          started.push('first')
          await new Promise<void>((end) => {
            finish = end
            resolve()
          })
        }),
        second.handle(() => void started.push('second')),
      ]
      for (const some of where === 'one worker' ? [handlers] : handlers.map((one) => [one]))
        skep.worker(some, POLL)
    })

    const one = await skep.enqueue(first, 1)
    await running
    const other = await skep.enqueue(second, 1)
    await expect.poll(async () => (await other.explain()).causes[0]?.cause).toBe('shared-full')
    // The worker has claimed for it in vain by now, so only a hint makes it claim again.
    await new Promise((resolve) => setTimeout(resolve, 300))
    finish()
    await one.result({ timeout: '20s' })
    await other.result({ timeout: '20s' })

    expect(started).toEqual(['first', 'second'])
    await skep.close()
  },
)
