import { describe, expect, it } from 'vitest'
import { bury, queue } from '../../src/index.ts'
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
    let ran: number[] = []
    const runAll = async (): Promise<readonly number[]> => {
      ran = []
      const worker = skep.worker(
        [
          of.handle(({ payload }) => {
            ran.push(payload)
            return bury('Again.')
          }),
        ],
        { concurrency: 1 },
      )
      await expect.poll(async () => (await skep.counts([of.name]))[0]?.dead, { timeout: 60_000 }).toBe(count)
      await worker.stop()
      return ran
    }

    expect(await skep.redrive({ queue: of.name })).toMatchObject({ changed: count, refused: [] })
    expect(await runAll()).toEqual(all)

    const serving = skep.bulk.serve()
    const { id } = await skep.bulk.start({ action: 'retry', query: `queue:${of.name} state:dead` })
    await expect.poll(async () => (await skep.bulk.get(id))?.status, { timeout: 60_000 }).toBe('done')
    await serving.stop()
    expect(await skep.bulk.get(id)).toMatchObject({ changed: count })
    expect(await runAll()).toEqual(all)
  })
})
