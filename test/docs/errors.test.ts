import { ERROR_CODES } from 'skep'
import { expect, it } from 'vitest'
import { headingsOf, readPage } from './markdown.ts'

it('explains every error code once, and no other', () => {
  const headings = headingsOf(readPage('docs/errors.md'))

  const explained = headings.filter((line) => line.startsWith('## ')).map((line) => line.slice(3))

  expect(explained).toEqual([...ERROR_CODES])
})
