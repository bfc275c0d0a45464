import { expect, it } from 'vitest'
import { LIMITS } from '../../../src/core/limits.ts'
import { backoffMs, exponential, fixed } from '../../../src/core/policies/policy.ts'

it('a wait is never longer than what a store can hold, however the jitter falls', () => {
  const longest = LIMITS.delayMs
  const growing = exponential(longest, { max: longest, jitter: 1 })
  expect(backoffMs(growing, 1_000, 0.999)).toBe(longest)
  expect(backoffMs(fixed(longest, { jitter: 1 }), 1, 0.999)).toBe(longest)
})
