import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const plain = queue<number>('plain')
const lane = queue<number>('lane', { lane: () => 'a', lanes: { order: 'strict', failing: 'skip' } })

describe.each(STORES)('jobs that are redriven in %s come back in the order of their enqueues', (name) => {
  it.each([
    ['1,200 jobs of a queue', plain, 1_200],
    ['600 jobs of a strict lane', lane, 600],
  ] as const)('%s, by selection and by a bulk action', { timeout: 120_000 }, async (_, of, count) => {
    const skep = openSkep(await openStore(name))
    const all = Array.from({ length: count }, (_unused, n) => n)
    await skep.enqueueMany(of, all)
    await skep.bury({ queue: of.name })
    const waiting = async (): Promise<unknown[]> => {
      const payloads: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await skep.list({
          queue: of.name,
          state: 'ready',
          limit: 200,
          ...(cursor && { cursor }),
        })
        payloads.push(...page.jobs.map(({ payload }) => payload))
        cursor = page.cursor ?? undefined
      } while (cursor !== undefined)
      return payloads
    }

    expect(await skep.redrive({ queue: of.name })).toMatchObject({ changed: count, refused: [] })
    expect(await waiting()).toEqual(all)

    await skep.bury({ queue: of.name })
    const serving = skep.bulk.serve()
    const { id } = await skep.bulk.start({ action: 'retry', query: `queue:${of.name} state:dead` })
    await expect.poll(async () => (await skep.bulk.get(id))?.status, { timeout: 60_000 }).toBe('done')
    await serving.stop()
    expect(await skep.bulk.get(id)).toMatchObject({ changed: count })
    expect(await waiting()).toEqual(all)
  })
})
