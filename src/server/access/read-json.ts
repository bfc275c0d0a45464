/**
 * Reads JSON from strangers. Depth and size are counted before it is parsed, because parsing is where a small body can cost much:
 * two million brackets parse and then overflow whoever walks them, and half a million keys stop the process for a second.
 */
import { assertExact, SkepError } from '../../index.ts'

export interface JsonBounds {
  /** How deep arrays and objects may be inside of each other. */
  readonly depth: number
  /** How many members objects and arrays may have, all together. */
  readonly members: number
}

/** One payload has up to 10,000 keys; around it is what an operation takes. */
export const JSON_BOUNDS: JsonBounds = { depth: 72, members: 12_000 }
/** For bodies with many jobs. It is as much as may be parsed in a tenth of a second. */
export const BATCH_BOUNDS: JsonBounds = { depth: 72, members: 120_000 }

/** The value of a JSON text. Throws `REQUEST_INVALID`, `REQUEST_TOO_LARGE` or `NUMBER_INEXACT`, and never anything else. */
export function readJson(text: string, bounds: JsonBounds = JSON_BOUNDS): unknown {
  checkBounds(text, bounds)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new SkepError('REQUEST_INVALID', 'The body is not JSON. Send one JSON value, in UTF-8.')
  }
  assertExact('body', text)
  // Whoever writes these keys with escapes needs a backslash.
  if (text.includes('proto') || text.includes('\\u')) refusePoison(value)
  return value
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/** Counts without parsing. In a text that is no JSON it counts something else, which the parser refuses anyway. */
function checkBounds(text: string, { depth: deepest, members: most }: JsonBounds): void {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfText(text, i + 1)
        break
      case 0x5b: // [
      case 0x7b: // {
        members += 1
        if (++depth > deepest) throw tooLarge(`is nested deeper than ${deepest} levels`, { depth: deepest })
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1
        break
      case COMMA:
        members += 1
    }
    if (members > most) throw tooLarge(`has more than ${most} keys and elements`, { members: most })
  }
}

function endOfText(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) return at
    at += unit === BACKSLASH ? 2 : 1
  }
  return at
}

/** Keys that poison whoever copies the object: `__proto__`, and `constructor` with a `prototype`. */
function refusePoison(value: unknown): void {
  const left: unknown[] = [value]
  while (left.length > 0) {
    const one = left.pop()
    if (typeof one !== 'object' || one === null) continue
    if (Object.hasOwn(one, '__proto__') || hasPrototype(one)) {
      throw new SkepError(
        'REQUEST_INVALID',
        'The body has a key "__proto__" or "constructor.prototype", which can poison objects. Rename it.',
      )
    }
    for (const inner of Object.values(one)) left.push(inner)
  }
}

function hasPrototype(one: object): boolean {
  if (!Object.hasOwn(one, 'constructor')) return false
  const inner = (one as { readonly constructor: unknown }).constructor
  return typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')
}

function tooLarge(how: string, facts: Readonly<Record<string, unknown>>): SkepError {
  return new SkepError('REQUEST_TOO_LARGE', `The body ${how}. Send less at once.`, { facts })
}
