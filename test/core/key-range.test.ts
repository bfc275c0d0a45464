import { describe, expect, it } from 'vitest'
import { SkepError } from '../../src/core/errors.ts'
import {
  EVERY_KEY,
  isInRange,
  joined,
  KEYS,
  keyOf,
  parseKeyRange,
  parseKeyRanges,
  printKeyRange,
  SLICES,
  sliceOf,
} from '../../src/core/lanes/key-range.ts'

describe('The key of a lane', () => {
  it('is 0 for jobs without one', () => {
    expect([keyOf(null), keyOf('')]).toEqual([0, 0])
  })

  it('stays the same for ever', () => {
    expect(['a', 'b', 'é', 'tenant-1', '日本語', '😀'].map(keyOf)).toEqual([
      37_181, 12_148, 6_062, 31_100, 35_773, 49_844,
    ])
  })

  it.each([
    [
      'letters',
      (n: number) => String.fromCharCode(33 + (n % 90)) + String.fromCharCode(33 + Math.floor(n / 90)),
    ],
    ['numbers', (n: number) => String(n)],
    ['names with numbers', (n: number) => `customer-${n}`],
    ['numbers with a common end', (n: number) => `${n}@example.com`],
    ['ids', (n: number) => `0199a7b2-7c00-7000-8000-${n.toString(16).padStart(12, '0')}`],
  ])('puts %s into all slices alike', (_what, laneOf) => {
    const counts = Array.from({ length: SLICES }, () => 0)
    for (let n = 0; n < 4_000; n++) {
      const lane = laneOf(n)
      expect(keyOf(lane)).toBeGreaterThanOrEqual(0)
      expect(keyOf(lane)).toBeLessThan(KEYS)
      counts[sliceOf(lane)] = (counts[sliceOf(lane)] as number) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(150)
    expect(Math.max(...counts)).toBeLessThan(350)
  })
})

describe('A range of keys', () => {
  it.each([
    ['-', 0, 65_536],
    ['-80', 0, 0x8000],
    ['80-', 0x8000, 65_536],
    ['40-80', 0x4000, 0x8000],
    ['4-8', 0x4000, 0x8000],
    ['F0-', 0xf000, 65_536],
    ['f000-', 0xf000, 65_536],
    ['0-1000', 0, 0x1000],
  ])('is read from "%s"', (text, from, to) => {
    expect(parseKeyRange(text)).toEqual({ from, to })
    expect(parseKeyRange(printKeyRange({ from, to }))).toEqual({ from, to })
  })

  it('is written with two digits', () => {
    const texts = ['-', '-80', '80-', '4-8', 'f000-'].map((text) => printKeyRange(parseKeyRange(text)))
    expect(texts).toEqual(['-', '-80', '80-', '40-80', 'f0-'])
  })

  it.each(['', '80', '80-40', '80-80', '48-', '-8001', 'g0-', '10-20-30', '-10000', '80-,', ' -80 -'])(
    'is not read from "%s"',
    (text) => {
      expect(() => parseKeyRanges(text)).toThrow(SkepError)
    },
  )

  it('begins with its border and ends before the next', () => {
    const lane = Array.from({ length: 50_000 }, (_, n) => `lane ${n}`).find(
      (name) => keyOf(name) > 0 && keyOf(name) % 4_096 === 0,
    ) as string
    const border = keyOf(lane)

    expect(isInRange({ from: 0, to: border }, lane)).toBe(false)
    expect(isInRange({ from: border, to: KEYS }, lane)).toBe(true)
  })

  it('has each key in exactly one of its parts', () => {
    const parts = ['-40', '40-50', '50-'].map(parseKeyRange)
    for (const lane of ['', 'a', 'b', 'c', 'é', 'tenant-1', 'tenant-2']) {
      expect(parts.filter((part) => isInRange(part, lane))).toHaveLength(1)
    }
  })

  it('is joined with others', () => {
    expect(parseKeyRanges('c0-,-40, 40-50,20-30')).toEqual([parseKeyRange('-50'), parseKeyRange('c0-')])
    expect(joined([])).toEqual([])
    expect(joined([EVERY_KEY, EVERY_KEY])).toEqual([EVERY_KEY])
  })
})
