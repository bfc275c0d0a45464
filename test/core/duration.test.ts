import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Duration, toMs } from '../../src/core/duration.ts'

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['2w', 1_209_600_000],
    ['1.5s', 1_500],
    ['0.5ms', 1],
    ['0s', 0],
    ['90 s', 90_000],
    [0, 0],
    [1_234, 1_234],
    [0.4, 0],
  ] as [Duration, number][])('reads %s as %i ms', (duration, ms) => {
    expect(toMs('delay', duration)).toBe(ms)
  })

  it.each([
    '',
    ' ',
    '5',
    's',
    '-5s',
    '+5s',
    '5 minutes',
    '5M',
    '5S',
    '1e3s',
    '0x10s',
    '.5s',
    '5.s',
    '1,5s',
    '5s ',
    ' 5s',
    '5s\n',
    '１s',
    'Infinitys',
    'NaNs',
    -1,
    Number.NaN,
    Infinity,
    -Infinity,
    null,
    undefined,
    true,
    [],
    {},
    5n,
    Symbol('5s'),
  ])('refuses %s with a message that says what to write', (duration) => {
    expect(() => toMs('timeout', duration as Duration)).toThrow(
      expect.objectContaining({ code: 'DURATION_INVALID', message: expect.stringContaining("'30s'") }),
    )
  })

  it('names the option and what was given in the error', () => {
    expect(() => toMs('onError delay', '5 min' as Duration)).toThrow(/onError delay is "5 min"/)
    expect(() => toMs('lease', Number.NaN)).toThrow(/lease is NaN/)
  })

  it('gives whole milliseconds for any number with a unit', () => {
    const unit = fc.constantFrom('ms', 's', 'm', 'h', 'd', 'w')
    fc.assert(
      fc.property(fc.double({ min: 0, max: 5_000, noNaN: true }), unit, (amount, suffix) => {
        const text = `${amount.toFixed(3)}${suffix}` as Duration

        const ms = toMs('delay', text)

        expect(Number.isInteger(ms)).toBe(true)
        expect(ms).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it('refuses or reads any text, and never throws anything else', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(toMs('delay', text as Duration)).toBeGreaterThanOrEqual(0)
        } catch (error) {
          expect(error).toMatchObject({ code: 'DURATION_INVALID' })
        }
      }),
    )
  })
})
