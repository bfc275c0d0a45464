import { describe, expect, it } from 'vitest'
import { waitingOf } from '../../src/core/flows/wakeups.ts'
import { rankOf } from '../../src/core/jobs/job.ts'
import { shownPriority, storedPriority } from '../../src/core/jobs/priority.ts'
import { LIMITS } from '../../src/core/limits.ts'

const ALL = Array.from({ length: 2 * LIMITS.priority + 1 }, (_, n) => n - LIMITS.priority)
const LATEST = 8.64e15
const TEN_YEARS = 10 * 365 * 86_400_000

describe('a stored priority', () => {
  it.each(['head-start', 'strict'] as const)('is shown as it was given (%s)', (mode) => {
    expect(ALL.map((priority) => shownPriority(storedPriority(priority, mode)))).toEqual(ALL)
  })

  it('is the same for 0 in both modes', () => {
    expect(storedPriority(0, 'strict')).toBe(storedPriority(0, 'head-start'))
  })

  it('gives ranks that stay exact, from the first moment to the last', () => {
    for (const [dueAt, priority] of [
      [0, 100],
      [0, -100],
      [LATEST, 100],
      [LATEST, -100],
    ] as const) {
      const rank = rankOf(dueAt, storedPriority(priority, 'strict'))

      expect(Number.isSafeInteger(rank)).toBe(true)
      expect(Number.isSafeInteger(rank - 1)).toBe(true)
      expect(rank).not.toBe(rankOf(dueAt + 1, storedPriority(priority, 'strict')))
    }
  })

  it('of one strict step more is before whatever has waited for ten years', () => {
    for (const priority of ALL.slice(1)) {
      const old = rankOf(0, storedPriority(priority - 1, 'strict'))

      expect(rankOf(TEN_YEARS, storedPriority(priority, 'strict'))).toBeLessThan(old)
    }
  })
})

describe('where jobs wait', () => {
  it('is told once for each queue: the first due time and the lowest rank, which may be those of two jobs', () => {
    const told = waitingOf([
      { queue: 'b', dueAt: 10, priority: 0 },
      { queue: 'a', dueAt: 30, priority: 2 },
      { queue: 'b', dueAt: 20, priority: 1 },
    ])

    expect(told).toEqual([
      { queue: 'a', dueAt: 30, rank: rankOf(30, 2) },
      { queue: 'b', dueAt: 10, rank: rankOf(20, 1) },
    ])
  })
})
