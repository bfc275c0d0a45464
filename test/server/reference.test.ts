import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { LISTED } from '../../src/operations/table.ts'

it('has every operation in the reference, with its path, its scope and its summary', () => {
  const text = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))

  expect(rows).toEqual(
    LISTED.map(
      ({ name, method, path, scope, summary }) =>
        `| \`${name}\` | \`${method} ${path}\` | ${scope} | ${summary} |`,
    ),
  )
})
