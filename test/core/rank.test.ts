import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Job, PRIORITY_STEP_MS, rankOf } from '../../src/core/jobs/job.ts'
import { byRank } from '../../src/core/jobs/transitions.ts'

const NOW = 1_800_000_000_000

describe('rank', () => {
  const ready = fc.record({
    id: fc.uuid(),
    dueAt: fc.integer({ min: NOW, max: NOW + 1e9 }),
    priority: fc.integer({ min: -100, max: 100 }),
  })

  it('orders by priority among jobs that are due together', () => {
    expect(rankOf(NOW, 1)).toBeLessThan(rankOf(NOW, 0))
    expect(rankOf(NOW, 100)).toBeLessThan(rankOf(NOW, 99))
    expect(rankOf(NOW, -1)).toBeGreaterThan(rankOf(NOW, 0))
  })

  it('orders first in, first out within a priority', () => {
    fc.assert(
      fc.property(fc.integer({ min: -100, max: 100 }), fc.nat(1e9), (priority, later) => {
        expect(rankOf(NOW, priority)).toBeLessThanOrEqual(rankOf(NOW + later, priority))
      }),
    )
  })

  it('lets every job reach the front after a time that its priority bounds', () => {
    fc.assert(
      fc.property(ready, (job) => {
        const wait = (100 - job.priority) * PRIORITY_STEP_MS
        expect(rankOf(job.dueAt, job.priority)).toBeLessThan(rankOf(job.dueAt + wait + 1, 100))
      }),
    )
  })

  it('is a whole number that every store can hold', () => {
    const edge = [rankOf(0, 100), rankOf(NOW + 3_153_600_000_000, -100)]

    expect(edge.every(Number.isSafeInteger)).toBe(true)
  })

  it('is a total order together with the id', () => {
    fc.assert(
      fc.property(fc.uniqueArray(ready, { selector: ({ id }) => id, minLength: 2 }), (jobs) => {
        const sorted = (jobs as unknown as Job[]).toSorted(byRank)
        const again = (jobs as unknown as Job[]).toReversed().toSorted(byRank)
        expect(sorted).toEqual(again)
      }),
    )
  })
})
