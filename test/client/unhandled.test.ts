import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const known = queue<number>('known')
const orphan = queue<number, number>('orphan', {
  lane: () => 'acme',
  lanes: { order: 'strict', failing: 'skip' },
})

const HOUR = 3_600_000

describe.each(STORES)('jobs of a queue that no live worker handles, in %s', (name) => {
  it('are visible as unhandled, obey holds and cancels, and run in their order when a worker appears', async () => {
    const skep = openSkep(await openStore(name))
    const other = skep.worker([known.handle(() => {})])
    await other.ready
    const jobs = []
    for (let n = 0; n < 6; n++) jobs.push(await skep.enqueue(orphan, n))
    const first = jobs[0]!
    const result = first.result({ timeout: HOUR })
    const view = async (): Promise<unknown> => (await skep.queues.list(['orphan']))[0]

    expect(await view()).toMatchObject({ ready: 6, unhandled: 6, hold: null })
    expect((await first.explain()).causes).toMatchObject([{ cause: 'no-worker', gone: [] }])
    expect((await skep.doctor()).findings).toContainEqual(
      expect.objectContaining({
        status: 'warn',
        text: expect.stringContaining('no worker handles the queue'),
      }),
    )
    expect(await skep.metrics.prometheus()).toMatch(/skep_jobs_unhandled\{[^}]*queue="orphan"[^}]*\} 6\n/)

    await skep.queues.pause('orphan')
    await skep.jobs.cancel(jobs[3]!.id)
    expect(await view()).toMatchObject({ ready: 5, cancelled: 1, unhandled: 5, hold: 'pause' })

    const ran: number[] = []
    const worker = skep.worker([
      orphan.handle(({ payload }) => {
        ran.push(payload)
        return payload
      }),
    ])
    await worker.ready
    await expect.poll(view, { timeout: 20_000 }).toMatchObject({ ready: 5, unhandled: 0, hold: 'pause' })
    expect(ran).toEqual([])

    await skep.queues.resume('orphan')
    await expect.poll(() => ran, { timeout: 20_000 }).toEqual([0, 1, 2, 4, 5])
    expect(await result).toBe(0)
  })

  it('are unhandled again when the last worker has stopped', async () => {
    const skep = openSkep(await openStore(name))
    const worker = skep.worker([orphan.handle(({ payload }) => payload)])
    await worker.ready
    await (await skep.enqueue(orphan, 1)).result({ timeout: HOUR })
    await worker.stop()

    await skep.enqueue(orphan, 2)

    expect((await skep.queues.list(['orphan']))[0]).toMatchObject({ ready: 1, unhandled: 1 })
  })
})
