import { expect, it } from 'vitest'
import { firstRow } from './label-rows.ts'

it('puts labels of deploys that follow each other closely below one another, and leaves out what has no room', () => {
  expect(firstRow([], 10)).toBe(0)
  expect(firstRow([100], 100)).toBe(0)
  expect(firstRow([100], 60)).toBe(1)
  expect(firstRow([100, 90], 60)).toBe(2)
  expect(firstRow([100, 90, 80], 60)).toBeNull()
})
