import { describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { createWorld, finish, newJob, newJobs, take } from './world.ts'

/** What `taken` must say of a job that starts for the first time. */
const told = ({ id, payload, headers, overrides, priority }: NewJob): object => ({
  id,
  payload,
  headers,
  overrides,
  priority,
  starts: 1,
  errors: 0,
})

describe('what a claim brings', () => {
  it('is each job as it was enqueued, whether it can be told together with others or not', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    // The separator of the list is no JSON, but somebody may write to the table by hand.
    const odd = [
      newJob({ payload: '"a\u001eb"' }),
      newJob({ payload: JSON.stringify('€'.repeat(2_000)) }),
      newJob({ headers: '{"trace":"1"}' }),
      newJob({ overrides: '{"timeoutMs":5}' }),
      newJob({ payload: '"a,\\u001eb"' }),
    ]
    const jobs = [...newJobs(3), ...odd, ...newJobs(3)].sort((a, b) => (a.id < b.id ? -1 : 1))
    await store.insert({ jobs })

    const taken = await take(store, 100)

    expect(taken).toMatchObject(jobs.map(told))
    expect(taken.every((job) => job.dueAt === job.enqueuedAt && job.dueAt > 0)).toBe(true)
  })

  it('is in order, with the priority and the past of each', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    const [first, ...rest] = newJobs(4)
    await store.insert({ jobs: [first!, ...rest] })
    await finish(store, await take(store, 1), { to: 'ready', count: 'errors' })
    const urgent = newJob({ priority: 5 })
    await store.insert({ jobs: [urgent] })

    const taken = await take(store, 100)

    expect(taken.map(({ id }) => id)).toEqual([urgent.id, ...rest.map(({ id }) => id), first!.id])
    expect(taken.map(({ priority }) => priority)).toEqual([5, 0, 0, 0, 0])
    expect(taken.map(({ starts, errors }) => [starts, errors])).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
      [2, 1],
    ])
  })
})
