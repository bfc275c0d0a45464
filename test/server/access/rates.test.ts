import { virtualRuntime } from 'skep/testing'
import { describe, expect, it } from 'vitest'
import { Rates } from '../../../src/server/quotas/rates.ts'

const rate = { perSecond: 10, burst: 5 }

describe('a rate', () => {
  it('lets a burst pass, then tells how long to wait', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const rates = new Rates(rate, runtime)

    const waits = Array.from({ length: 6 }, () => rates.take('a'))

    expect(waits).toEqual([0, 0, 0, 0, 0, 100])
  })

  it('is kept exactly in the long run', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const rates = new Rates(rate, runtime)
    let passed = 0

    for (let ms = 0; ms < 10_000; ms += 20) {
      if (rates.take('a') === 0) passed += 1
      await runtime.advance(20)
    }

    expect(passed).toBeGreaterThanOrEqual(100)
    expect(passed).toBeLessThanOrEqual(105)
  })

  it('takes nothing when it refuses, so that waiting as long as it says is enough', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const rates = new Rates(rate, runtime)
    for (let i = 0; i < 5; i++) rates.take('a')

    for (let i = 0; i < 50; i++) rates.take('a')
    await runtime.advance(rates.wait('a'))

    expect(rates.take('a')).toBe(0)
  })

  it('belongs to each key alone', () => {
    const rates = new Rates(rate, virtualRuntime({ seed: 1 }))
    for (let i = 0; i < 9; i++) rates.take('a')

    expect(rates.take('b')).toBe(0)
  })

  it('lets more than a burst through from a full bucket, and pays for it after', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const rates = new Rates(rate, runtime)

    expect(rates.take('a', 50)).toBe(0)
    expect(rates.take('a', 1)).toBe(5_000 - 400)
  })

  it('remembers a bounded number of keys', () => {
    const rates = new Rates(rate, virtualRuntime({ seed: 1 }), 100)

    for (let i = 0; i < 10_000; i++) rates.take(`key ${i}`)

    expect(rates.size).toBe(100)
  })
})
