import { describe, expect, it } from 'vitest'
import { charged, startsAt, usualBurst } from '../../src/core/rate.ts'

describe('a rate of which nothing more is said', () => {
  it.each([
    [200, 1_000, 10],
    [30, 1_000, 2],
    [20, 1_000, 1],
    [1, 60_000, 1],
    [5, 10, 5],
  ])('of %i in %i ms lets %i start at once', (limit, perMs, burst) => {
    expect(usualBurst(limit, perMs)).toBe(burst)
  })

  it('starts a tenth too many in no second, also if the first of it are called 40 ms after their claim', () => {
    const rate = { limit: 200, perMs: 1_000, burst: usualBurst(200, 1_000) }
    const claims: number[] = []
    let fullAtUs = 0
    for (let now = 10_000; now < 11_040; now++) {
      while (startsAt(rate, fullAtUs, 1) <= now) {
        fullAtUs = charged(rate, fullAtUs, 1, now)
        claims.push(now)
      }
    }

    expect(claims.length).toBeLessThanOrEqual(220)
    expect(claims.length).toBeGreaterThan(200)
  })
})
