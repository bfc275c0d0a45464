/**
 * Keys and ranges of them, so that whoever takes jobs can take a part of a queue and leave the rest to others.
 *
 * The key of a job is a number from 0 to 65,535 that follows from its lane alone. So all jobs of a lane have one key, and what
 * a lane promises (its order, its limits) does not depend on who takes which range. Jobs without a lane are one lane, the
 * default one, and its key is 0: they are in the first range, all of them.
 *
 * Keys are divided into 16 slices, and a range is made of whole slices: it begins and ends at a multiple of 4,096. A store keeps
 * the lanes of each slice in their order, so a claim from a range has to do with no lane outside of it.
 */
import { SkepError } from '../errors.ts'

/** Some of the keys: from `from` on, and before `to`. Both are multiples of 4,096; see {@link parseKeyRange}. */
export interface KeyRange {
  readonly from: number
  readonly to: number
}

/** How many keys there are. */
export const KEYS = 65_536

/** How many slices they are divided into. */
export const SLICES = 16

const SLICE_SIZE = KEYS / SLICES

/** All keys. */
export const EVERY_KEY: KeyRange = Object.freeze({ from: 0, to: KEYS })

// A prime below 2^24, and its golden section: so no product is too large for a double, also in Lua, and keys that follow each
// other ("a", "b"; "1", "2") lie far apart.
export const PRIME = 16_777_213
export const FACTOR = 10_368_889

const encoder = new TextEncoder()

/** The key of the jobs of a lane; null and '' are the default lane. It is the same in every store, for ever. */
export function keyOf(lane: string | null): number {
  if (lane === null || lane === '') return 0
  let hash = 0
  for (const byte of encoder.encode(lane)) hash = ((hash + byte + 1) * FACTOR) % PRIME
  return Math.floor((hash * KEYS) / PRIME)
}

/** The slice of a lane's key. */
export function sliceOf(lane: string | null): number {
  return Math.floor(keyOf(lane) / SLICE_SIZE)
}

/** The slices of a range: from `first` on, and before `end`. */
export function slicesOf({ from, to }: KeyRange): { readonly first: number; readonly end: number } {
  return { first: from / SLICE_SIZE, end: to / SLICE_SIZE }
}

/** Whether the jobs of a lane are in a range. */
export function isInRange({ from, to }: KeyRange, lane: string | null): boolean {
  const key = keyOf(lane)
  return key >= from && key < to
}

/**
 * Reads a range as Vitess writes it: the beginning and the end in hexadecimal digits, of which those at the end may be left out.
 * `-80` is the first half, `80-` the second, `40-80` the second quarter, `-` everything. Throws `OPTION_INVALID` unless
 * it begins before it ends, and both are at the border of a sixteenth: only the first digit is not 0.
 */
export function parseKeyRange(text: string): KeyRange {
  const [, first, last] = /^([0-9a-f]{0,4})-([0-9a-f]{0,4})$/i.exec(text) ?? []
  if (first === undefined || last === undefined) throw invalid(text)
  const from = first === '' ? 0 : borderOf(first)
  const to = last === '' ? KEYS : borderOf(last)
  if (from % SLICE_SIZE !== 0 || to % SLICE_SIZE !== 0 || from >= to) throw invalid(text)
  return { from, to }
}

/** Reads ranges with commas between them: `-40,c0-`. Together they are what is in any of them. */
export function parseKeyRanges(text: string): KeyRange[] {
  return joined(text.split(',').map((part) => parseKeyRange(part.trim())))
}

/** Writes a range as {@link parseKeyRange} reads it. */
export function printKeyRange({ from, to }: KeyRange): string {
  return `${from === 0 ? '' : textOf(from)}-${to === KEYS ? '' : textOf(to)}`
}

/** Ranges in their order, those that touch or overlap made one: so no key is in two of them. */
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
