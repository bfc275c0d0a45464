import { expect, it } from 'vitest'
import { diffLines } from './diff.ts'

const shown = (before: string, after: string): string =>
  diffLines(before, after)
    .map(({ sign, text }) => `${sign}${text}`)
    .join('|')

it('marks removed and added lines', () => {
  expect(shown('a\nb\nc', 'a\nx\nc')).toBe(' a|-b|+x| c')
  expect(shown('a', 'a\nb')).toBe(' a|+b')
  expect(shown('same', 'same')).toBe(' same')
  expect(shown('a\nb\nc\nd', 'b\nd')).toBe('-a| b|-c| d')
})
