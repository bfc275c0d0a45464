import { describe, expect, it } from 'vitest'
import { faultsOf } from './json-schema.ts'
import { bytesText, countText, fullCountText, plural, rateText, short } from './numbers.ts'
import { agoText, durationText } from './times.ts'

describe('formatted numbers', () => {
  it('are exact up to the cap and end in a plus sign above it', () => {
    expect(countText(48_213)).toBe('48,213')
    expect(countText(499_999)).toBe('499,999')
    expect([500_000, 612_345, 7_000_000].map((count) => countText(count))).toEqual([
      '500k+',
      '500k+',
      '500k+',
    ])
    expect(fullCountText(1_234_567)).toBe('1,234,567')
    expect(countText(1_200, false)).toBe('1.2k+')
    expect(plural(1, 'job')).toBe('1 job')
    expect(plural(0, 'job')).toBe('0 jobs')
  })

  it('have a short form', () => {
    expect([999, 1_000, 48_213, 999_000, 1_500_000].map(short)).toEqual([
      '999',
      '1k',
      '48.2k',
      '999k',
      '1.5m',
    ])
    expect([0, 0.001, 0.034, 12.71, 1_230.4].map(rateText)).toEqual(['0', '<0.01', '0.03', '12.7', '1,230'])
    expect([0, 1_023, 1_536, 5_000_000].map(bytesText)).toEqual(['0 B', '1023 B', '1.5 KB', '4.8 MB'])
  })
})

describe('formatted times', () => {
  it('formats durations', () => {
    expect([0.2, 84, 1_530, 59_400, 250_000, 7_200_000, 90_000_000].map(durationText)).toEqual([
      '<1 ms',
      '84 ms',
      '1.5 s',
      '59 s',
      '4m 10s',
      '2h',
      '1d 1h',
    ])
  })

  it('formats relative times', () => {
    expect(agoText(1_000, 1_500)).toBe('just now')
    expect(agoText(0, 12_900)).toBe('12 s ago')
    expect(agoText(250_000, 0)).toBe('in 4m 10s')
  })
})

describe('JSON Schema validation hints', () => {
  const schema = {
    type: 'object',
    required: ['to'],
    properties: {
      to: { type: 'string', minLength: 3 },
      size: { enum: ['s', 'm'] },
      parts: { type: 'array', items: { $ref: '#/$defs/part' } },
    },
    additionalProperties: false,
    $defs: { part: { type: 'integer', minimum: 1 } },
  }

  it('accepts a valid value', () => {
    expect(faultsOf(schema, { to: 'ada', size: 'm', parts: [1, 2] })).toEqual([])
  })

  it('reports each invalid path', () => {
    expect(faultsOf(schema, { size: 'l', parts: [0, 'x'], more: 1 })).toEqual([
      'payload.to is missing',
      'payload.size should be one of "s", "m"',
      'payload.parts[0] should be at least 1',
      'payload.parts[1] should be integer',
      'payload.more is not in the schema',
    ])
  })

  it('ignores unknown keywords', () => {
    expect(faultsOf({ type: 'string', format: 'email' }, 'x')).toEqual([])
    expect(faultsOf(true, 1)).toEqual([])
  })
})
