import { describe, expect, it } from 'vitest'
import { mostWithin, rateThrough } from '../../bench/measure/rate.ts'

/** So many at each of these times. */
const bursts = (times: readonly number[], each: number): number[] =>
  times.flatMap((time) => Array(each).fill(time))

describe('the measured rate', () => {
  it('is the same for starts that are spread and for bursts', () => {
    const spread = Array.from({ length: 1_000 }, (_, i) => 5_000 + i * 10)

    expect(rateThrough(spread)).toBeCloseTo(100)
    expect(rateThrough(bursts([0, 1_000, 2_000, 3_000], 100))).toBeCloseTo(100)
  })

  it('is lower when time was lost', () => {
    const late = Array.from({ length: 1_000 }, (_, i) => i * 10 + (i < 500 ? 0 : 2_000))

    expect(rateThrough(late)).toBeLessThan(85)
  })
})

describe('the fullest second', () => {
  it('begins anywhere', () => {
    // Each whole second has a hundred, and two bursts are 300 ms apart.
    expect(mostWithin(bursts([800, 1_100, 2_900], 100), 1_000)).toBe(200)
  })

  it('does not contain its own end', () => {
    expect(mostWithin([0, 1_000], 1_000)).toBe(1)
    expect(mostWithin([0, 999], 1_000)).toBe(2)
    expect(mostWithin([], 1_000)).toBe(0)
  })
})
