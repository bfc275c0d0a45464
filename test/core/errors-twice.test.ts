import { expect, it, vi } from 'vitest'
import { LeaseLostError, SkepError, StoreError } from '../../src/core/errors.ts'

it('knows an error of a second copy of the package, as when one is ESM and the other CommonJS', async () => {
  vi.resetModules()
  const other = await import('../../src/core/errors.ts')
  const error = new other.StoreError('STORE_UNKNOWN', 'The reply was lost.')

  expect(other.StoreError).not.toBe(StoreError)
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toBeInstanceOf(SkepError)
  expect(error).toBeInstanceOf(Error)
  expect(error).not.toBeInstanceOf(LeaseLostError)
})

it('takes nothing else for one of its errors', () => {
  for (const value of [null, undefined, 'STORE_UNKNOWN', {}, new Error('no'), { code: 'STORE_UNKNOWN' }]) {
    expect(value instanceof SkepError).toBe(false)
  }
  expect(new SkepError('CLOSED', 'closed') instanceof StoreError).toBe(false)
})
