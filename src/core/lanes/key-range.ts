/**
 * Keys and ranges of them, so that a worker can claim a part of a queue and leave the rest to others.
 *
 * The key of a job is a number from 0 to 65,535 that depends on its lane alone. So all jobs of a lane have
 * one key, and the guarantees of a lane (its order, its limits) do not depend on which worker claims which
 * range. Jobs without a lane share the default lane, whose key is 0, so all of them are in the first range.
 *
 * Keys are divided into 16 slices, and a range consists of whole slices: it begins and ends at a multiple of
 * 4,096. A store keeps the lanes of each slice in order, so a claim from a range touches no lane outside it.
 */
import { SkepError } from '../errors.ts'

/** Keys from `from` (inclusive) to `to` (exclusive), both multiples of 4,096; see {@link parseKeyRange}. */
export interface KeyRange {
  readonly from: number
  readonly to: number
}

export const KEYS = 65_536

export const SLICES = 16

const SLICE_SIZE = KEYS / SLICES

export const EVERY_KEY: KeyRange = Object.freeze({ from: 0, to: KEYS })

// A prime below 2^24, and its golden section: no product exceeds a double, also in Lua, and consecutive keys
// ("a", "b"; "1", "2") are spread far apart.
export const PRIME = 16_777_213
export const FACTOR = 10_368_889

const encoder = new TextEncoder()

/** The key of a lane; null and '' are the default lane. The same in every store, and must never change. */
export function keyOf(lane: string | null): number {
  if (lane === null || lane === '') return 0
  let hash = 0
  for (const byte of encoder.encode(lane)) hash = ((hash + byte + 1) * FACTOR) % PRIME
  return Math.floor((hash * KEYS) / PRIME)
}

export function sliceOf(lane: string | null): number {
  return Math.floor(keyOf(lane) / SLICE_SIZE)
}

/** The slices of a range: from `first` (inclusive) to `end` (exclusive). */
export function slicesOf({ from, to }: KeyRange): { readonly first: number; readonly end: number } {
  return { first: from / SLICE_SIZE, end: to / SLICE_SIZE }
}

export function isInRange({ from, to }: KeyRange, lane: string | null): boolean {
  const key = keyOf(lane)
  return key >= from && key < to
}

/**
 * Parses a range in Vitess notation: begin and end in hexadecimal digits, of which trailing zeros may be
 * omitted. `-80` is the first half, `80-` the second, `40-80` the second quarter, `-` everything. Throws
 * `OPTION_INVALID` unless it begins before it ends and both are multiples of a sixteenth.
 */
export function parseKeyRange(text: string): KeyRange {
  const [, first, last] = /^([0-9a-f]{0,4})-([0-9a-f]{0,4})$/i.exec(text) ?? []
  if (first === undefined || last === undefined) throw invalid(text)
  const from = first === '' ? 0 : borderOf(first)
  const to = last === '' ? KEYS : borderOf(last)
  if (from % SLICE_SIZE !== 0 || to % SLICE_SIZE !== 0 || from >= to) throw invalid(text)
  return { from, to }
}

/** Parses ranges separated by commas: `-40,c0-`. The result is their union. */
export function parseKeyRanges(text: string): KeyRange[] {
  return joined(text.split(',').map((part) => parseKeyRange(part.trim())))
}

/** Prints a range in the notation of {@link parseKeyRange}. */
export function printKeyRange({ from, to }: KeyRange): string {
  return `${from === 0 ? '' : textOf(from)}-${to === KEYS ? '' : textOf(to)}`
}

/** Sorts ranges and merges those that touch or overlap, so that no key is in two of them. */
export function joined(ranges: readonly KeyRange[]): KeyRange[] {
  const result: KeyRange[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last && from <= last.to) result[result.length - 1] = { from: last.from, to: Math.max(last.to, to) }
    else result.push({ from, to })
  }
  return result
}

function borderOf(digits: string): number {
  return Number.parseInt(digits.padEnd(4, '0'), 16)
}

function textOf(border: number): string {
  return border.toString(16).padStart(4, '0').slice(0, 2)
}

function invalid(text: string): SkepError {
  return new SkepError(
    'OPTION_INVALID',
    `"${text.slice(0, 40)}" is not a range of keys. Write its beginning and its end as hexadecimal digits with "-" between them, ` +
      'such as "-80", "40-80" or "80-"; each is a sixteenth of all keys: 10, 20, … f0.',
    { facts: { range: text.slice(0, 40) } },
  )
}
