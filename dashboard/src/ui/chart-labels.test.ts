import { expect, it } from 'vitest'
import { firstRow } from './label-rows.ts'

it('stacks overlapping deploy labels in rows, and omits those that do not fit', () => {
  expect(firstRow([], 10)).toBe(0)
  expect(firstRow([100], 100)).toBe(0)
  expect(firstRow([100], 60)).toBe(1)
  expect(firstRow([100, 90], 60)).toBe(2)
  expect(firstRow([100, 90, 80], 60)).toBeNull()
})
