import { describe, expect, it } from 'vitest'
import { overCeiling } from '../../scripts/language.mjs'
import { lintedLines } from '../../scripts/shape/words.mjs'

describe('the language lint', () => {
  it('finds words in comments, strings and JSX, and not in names or patterns', () => {
    const text = [
      '// Whoever reads this.',
      'const nobody = /somebody/',
      "export const text = 'so many'",
      'box.anew()',
    ].join('\n')

    expect(lintedLines({ path: 'a.ts', text })).toEqual([1, 3])
    expect(lintedLines({ path: 'a.md', text: 'It shall\nbe told of.' })).toEqual([1, 2])
  })

  it('refuses a folder that has more of them than before, and any in a new folder', () => {
    expect(overCeiling({ a: 2, b: 0, c: 1 }, { a: 2, b: 5 })).toEqual(['c'])
    expect(overCeiling({ a: 3 }, { a: 2 })).toEqual(['a'])
  })
})
