import { describe, expect, it } from 'vitest'
import { PART } from '../../src/stores/postgres/jobs/insert.ts'
import { createWorld, newJob, newJobs, take } from './world.ts'

describe('an insert of very many jobs', () => {
  it('puts in all of them, in order, and tells what became of each', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    const known = newJob({ delayMs: 60_000 })
    await store.insert({ jobs: [known] })
    const jobs = [...newJobs(2 * PART), known, newJob({ delayMs: 1_000 })]

    const { results } = await store.insert({ jobs })

    expect(results).toHaveLength(jobs.length)
    expect(results.slice(0, -2).every(({ status }) => status === 'ok')).toBe(true)
    expect(results.slice(-2)).toMatchObject([{ state: 'delayed' }, { state: 'delayed' }])
    const { queues } = await store.counts({ space: 'acme' })
    expect(queues[0]?.states).toMatchObject({ ready: 2 * PART, delayed: 2 })
    expect((await take(store, 2 * PART)).map(({ id }) => id)).toEqual(
      jobs.slice(0, 2 * PART).map(({ id }) => id),
    )
  })

  it('puts in none of them if the last one is refused', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    const jobs = [...newJobs(PART), newJob({ payload: '"\u0000"' })]

    await expect(store.insert({ jobs })).rejects.toMatchObject({ name: 'StoreError' })

    expect((await store.counts({ space: 'acme' })).queues).toEqual([])
  })
})
