import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertExact, parseExact } from '../../src/core/json/lossless-json.ts'

const refused = (text: string): unknown => {
  try {
    assertExact('payload', text)
    return null
  } catch (error) {
    return (error as { readonly facts: { readonly number: string } }).facts.number
  }
}

describe('a whole number', () => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '1234567890123456789',
    '18446744073709551615',
    `${'9'.repeat(400)}`,
  ])('that would come out as another one is refused: %s', (number) => {
    for (const text of [number, `{"a":[1,${number}]}`, `[{"b":${number}},"x"]`, ` ${number} `]) {
      expect(refused(text)).toBe(number.slice(0, 64))
    }
  })

  it.each([
    '9007199254740992',
    '1152921504606846976',
    // As JSON.stringify writes a double.
    '123456789012345680000',
    '10000000000000000000000',
    '0.1234567890123456789',
    '1e400',
    '"9007199254740993"',
    '"a \\"9007199254740993"',
    '{"9007199254740993":1}',
    '"\\\\"',
  ])('that is kept, a fraction or a text is not: %s', (text) => {
    expect(refused(text)).toBeNull()
  })

  it('is refused exactly if it would be changed', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.json(), (number, other) => {
        const kept = Number(number)
        const isKept = BigInt(kept) === number || String(kept) === String(number)
        expect(refused(`{"other":"x","n":${number}}`) === null).toBe(isKept)
        // What JavaScript writes is never refused.
        expect(refused(JSON.stringify(JSON.parse(other)))).toBeNull()
        expect(parseExact('payload', JSON.stringify(kept))).toBe(kept)
      }),
    )
  })
})
