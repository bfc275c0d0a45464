/**
 * Integers that a double cannot hold. `JSON.parse` silently changes them: `9007199254740993` becomes
 * `9007199254740992`. JSON from clients is checked first, so that no id turns into another one.
 */
import { SkepError } from '../errors.ts'
import { show } from '../names.ts'

/** With fewer digits a double holds every integer. */
const MANY_DIGITS = /\d{16}/

/** Like `JSON.parse`, but throws `NUMBER_INEXACT` if that would change an integer. */
export function parseExact(what: string, text: string): unknown {
  const value: unknown = JSON.parse(text)
  assertExact(what, text)
  return value
}

/** Throws `NUMBER_INEXACT` if parsing this JSON text would change an integer. */
export function assertExact(what: string, text: string): void {
  if (!MANY_DIGITS.test(text)) return
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) at = endOfString(text, at + 1)
    else if (isDigit(unit)) {
      const end = endOfNumber(text, at)
      const isNegative = text[at - 1] === '-'
      const number = text.slice(isNegative ? at - 1 : at, end)
      if (!isKept(number)) refuse(what, number)
      at = end - 1
    }
  }
}

/** Whether the number survives parsing unchanged. Fractions and exponents are doubles anyway. */
function isKept(number: string): boolean {
  if (number.length < 16 || /[.eE]/.test(number)) return true
  const kept = Number(number)
  return String(kept) === number || (Number.isFinite(kept) && BigInt(kept) === BigInt(number))
}

function refuse(what: string, number: string): never {
  const kept = Number(number)
  throw new SkepError(
    'NUMBER_INEXACT',
    `The number ${show(number)} in the ${what} would be kept as ${kept}. Send it as a string.`,
    { facts: { what, number: number.slice(0, 64) } },
  )
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

function endOfString(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) return at
    at += unit === BACKSLASH ? 2 : 1
  }
  return at
}

function endOfNumber(text: string, from: number): number {
  let at = from
  while (at < text.length && /[\d.eE+-]/.test(text[at] as string)) at++
  return at
}
