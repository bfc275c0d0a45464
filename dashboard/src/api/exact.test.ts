import { describe, expect, it } from 'vitest'
import { ExactNumber, parseExact, stringifyExact } from './exact.ts'

// Node 20 does not pass the source of a number to a reviver. Browsers and Node 21 or later do.
const passesSource = (() => {
  let isPassed = false
  JSON.parse('1', (_key, value: unknown, context?: { readonly source?: string }) => {
    isPassed = context?.source === '1'
    return value
  })
  return isPassed
})()

describe('JSON with exact numbers', () => {
  it.skipIf(!passesSource)('preserves numbers that a double cannot represent', () => {
    const text = '{"id":9007199254740993,"deep":[1.00000000000000000001,1e400],"small":42}'
    const value = parseExact(text) as { readonly id: unknown; readonly small: unknown }
    expect(value.id).toBeInstanceOf(ExactNumber)
    expect(value.small).toBe(42)
    expect(stringifyExact(value)).toBe(text)
  })

  it('returns plain numbers for everything a double can represent', () => {
    expect(parseExact('[9007199254740991, 1.50, 1e2, -0.000000000000001]')).toEqual([
      9007199254740991, 1.5, 100, -1e-15,
    ])
  })

  it('escapes bidirectional control characters, and parses back to the same value', () => {
    const value = {
      'a\u202e': ['\u200e\u200f\u061c', { b: '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069' }],
    }
    for (const indent of [0, 2]) {
      expect(stringifyExact(value, indent)).not.toMatch(/\p{Bidi_Control}/u)
      expect(JSON.parse(stringifyExact(value, indent))).toEqual(value)
    }
  })

  it('matches the output of JSON.stringify', () => {
    for (const value of [
      null,
      true,
      'a"\u2028',
      [],
      {},
      [1, [2, { a: undefined, b: null }]],
      { '': { x: [] } },
    ]) {
      expect(stringifyExact(value)).toBe(JSON.stringify(value))
      expect(stringifyExact(value, 2)).toBe(JSON.stringify(value, null, 2))
    }
  })
})
