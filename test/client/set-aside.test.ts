import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SetAside } from '../../src/client/jobs/set-aside.ts'
import { byEnqueue, stepsBefore } from '../../src/core/jobs/transitions.ts'

describe('jobs that a retry sets aside', () => {
  it.each([
    ['all of which fit', 2_000],
    ['of which not all fit', 90],
  ])('%s come back in the order of their enqueues, whatever their ids', (_, most) => {
    const jobs = Array.from({ length: 1_000 }, (_, n) => ({
      id: createHash('md5').update(`${n}`).digest('hex'),
      enqueuedAt: Math.floor(n / 3),
    }))
    const found = jobs.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const due = new Map<string, number>()
    let walks = 0

    for (let aside: SetAside | null = new SetAside(null, most); aside !== null; aside = aside.next()) {
      walks++
      for (const job of found) if (!due.has(job.id)) aside.add(job)
      while (!aside.isOver) {
        const { ids, earlierMs } = aside.first(50)
        // As a store does it.
        for (const [n, step] of stepsBefore(ids).entries()) due.set(ids[n] as string, 1e6 - earlierMs - step)
        aside.drop(ids.length)
      }
    }

    const started = jobs.toSorted(
      (a, b) => (due.get(a.id) as number) - (due.get(b.id) as number) || (a.id < b.id ? -1 : 1),
    )
    expect(started.map(({ id }) => id)).toEqual(jobs.toSorted(byEnqueue).map(({ id }) => id))
    expect(Math.max(...due.values())).toBe(1e6)
    expect(Math.min(...due.values())).toBeGreaterThan(1e6 - jobs.length)
    expect(walks > 1).toBe(most < jobs.length)
  })
})
