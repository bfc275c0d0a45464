import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packTally, Tally, unpackTally } from '../../src/metrics/counters.ts'
import {
  BUCKETS,
  boundMs,
  bucketOf,
  Histogram,
  packHistogram,
  unpackInto,
} from '../../src/metrics/histogram.ts'

const durations = fc.array(fc.double({ min: 0, max: 1e10, noNaN: true }), { maxLength: 200 })

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.add(value)
  return histogram
}

describe('a histogram', () => {
  it('puts every duration into a bucket that it fits', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
        const bucket = bucketOf(ms)

        expect(bucket).toBeGreaterThanOrEqual(0)
        expect(bucket).toBeLessThan(BUCKETS)
        if (bucket < BUCKETS - 1) expect(ms).toBeLessThanOrEqual(boundMs(bucket) * (1 + 1e-9))
        if (bucket > 0) expect(ms).toBeGreaterThan(boundMs(bucket - 1) * (1 - 1e-9))
      }),
    )
  })

  it('takes what is no duration as none', () => {
    const histogram = histogramOf([-5, Number.NaN])

    expect(histogram.counts[0]).toBe(2)
    expect(histogram.sumMs).toBe(0)
  })

  it('knows quantiles to within a fifth', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99, 1),
        (values, share) => {
          const sorted = [...values].sort((a, b) => a - b)
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number

          const told = histogramOf(values).quantile(share) as number

          expect(told / exact).toBeGreaterThan(0.8)
          expect(told / exact).toBeLessThan(1.25)
        },
      ),
    )
  })

  it('has no quantile of nothing', () => {
    expect(new Histogram().quantile(0.5)).toBeNull()
  })

  it('is the same merged as counted together, and the same after it was stored', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const together = histogramOf([...some, ...others])
        const merged = histogramOf(some)
        merged.merge(histogramOf(others))
        const stored = new Histogram()
        unpackInto(stored, JSON.parse(JSON.stringify(packHistogram(together))))

        expect([...merged.counts]).toEqual([...together.counts])
        expect([...stored.counts]).toEqual([...together.counts])
        expect(stored.count).toBe(together.count)
        expect(Math.abs(stored.sumMs - together.sumMs)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('passes over what was stored by hand', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const tally = new Tally()

        unpackTally(tally, value)
        unpackInto(tally.wait, value)

        expect(tally.wait.count).toBeGreaterThanOrEqual(0)
        expect(Number.isFinite(tally.wait.sumMs)).toBe(true)
      }),
    )
  })
})

describe('a tally', () => {
  it('is the same after it was stored', () => {
    const tally = new Tally()
    tally.enqueued = 3
    tally.dead = 1
    tally.cancelled = 7
    tally.wait.add(12)
    tally.run.add(3_000)
    const stored = new Tally()

    unpackTally(stored, JSON.parse(JSON.stringify(packTally(tally, true))))

    expect(stored).toEqual(tally)
  })

  it('without detail has its counts alone', () => {
    const tally = new Tally()
    tally.done = 2
    tally.run.add(3)
    const stored = new Tally()

    unpackTally(stored, packTally(tally, false))

    expect(stored.done).toBe(2)
    expect(stored.run.count).toBe(0)
  })
})
