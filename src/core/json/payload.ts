import { type ErrorCode, SkepError } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { hasControl, show, utf8Bytes } from '../names.ts'

/**
 * Encodes a value as the JSON text that is stored, or rejects it.
 *
 * Every store accepts the result and reads it back equal, so no store has rules of its own. `what` names the
 * value in the error ("payload", "result").
 */
export function encodeJson(what: string, value: unknown, maxBytes: number = LIMITS.payloadBytes): string {
  if (value === undefined) return 'null'
  if (isOrdinary(value, ORDINARY_DEPTH)) {
    const text = JSON.stringify(value) as string
    if (isHarmless(text) && fits(text, maxBytes)) return text
  }
  inspect(what, value, { keys: 0 }, 1, '$')
  const text = JSON.stringify(value) as string
  if (!fits(text, maxBytes)) {
    refuse(
      'PAYLOAD_TOO_LARGE',
      what,
      '$',
      `is ${utf8Bytes(text)} bytes as JSON; the limit is ${maxBytes}. Store the data elsewhere and enqueue a reference, or raise payloadBytes`,
    )
  }
  return text
}

/** Whether a text is within the limit. A UTF-16 unit is 1 to 3 bytes, so only texts near it are counted. */
export function fits(text: string, maxBytes: number): boolean {
  return text.length <= maxBytes && (text.length * 3 <= maxBytes || utf8Bytes(text) <= maxBytes)
}

/** The maximum depth of an ordinary value. */
export const ORDINARY_DEPTH = 8

/**
 * Whether a value consists only of plain objects, lists and primitives, with harmless keys, as most payloads
 * do. It needs no full check: anything else that may be wrong shows in its text, see {@link isHarmless}.
 */
export function isOrdinary(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (depth === 0 || hasToJson(value)) return false
  return Array.isArray(value) ? isOrdinaryList(value, depth) : isOrdinaryObject(value, depth)
}

function isOrdinaryList(list: readonly unknown[], depth: number): boolean {
  for (let i = 0; i < list.length; i++) if (!isOrdinary(list[i], depth - 1)) return false
  return true
}

function isOrdinaryObject(value: object, depth: number): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  // Does not allocate a list of keys. An inherited key only leads to the full check.
  for (const key in value) {
    if (key === '__proto__' || key === 'constructor') return false
    if (!isOrdinary((value as Record<string, unknown>)[key], depth - 1)) return false
  }
  return true
}

/**
 * Whether the text of an ordinary value contains nothing to reject: JSON escapes a NUL and a lone surrogate,
 * and every key and element takes two characters. `mayEscape` is false if there is known to be no escape.
 */
export function isHarmless(text: string, mayEscape = true): boolean {
  return text.length <= LIMITS.payloadKeys && !(mayEscape && hasEscape(text))
}

/** Whether the text contains a character escaped by number, or seems to. */
export function hasEscape(json: string): boolean {
  return json.includes('\\u')
}

/** Decodes stored JSON text. The caller buries what cannot be decoded, with its raw text. */
export function decodeJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SkepError('PAYLOAD_UNREADABLE', `The stored ${what} is not JSON: ${show(text)}.`, { cause })
  }
}

function inspect(what: string, given: unknown, seen: { keys: number }, depth: number, path: string): void {
  // Like JSON.stringify, toJSON is called once: its result is not asked again.
  const value = hasToJson(given) ? given.toJSON() : given
  switch (typeof value) {
    case 'string':
      if (!isStorable(value)) {
        refuse(
          'PAYLOAD_TEXT_INVALID',
          what,
          path,
          'holds a NUL or half a surrogate pair, which databases refuse. Remove it or encode the text (base64)',
        )
      }
      return
    case 'boolean':
      return
    case 'number':
      if (!Number.isFinite(value))
        refuse('PAYLOAD_NOT_JSON', what, path, `is ${value}, which JSON cannot hold`)
      return
    case 'object':
      break
    default:
      refuse('PAYLOAD_NOT_JSON', what, path, `is a ${typeof value}, which JSON cannot hold. Convert it first`)
  }
  if (value === null) return

  const object = value as Record<string, unknown>
  if (depth > LIMITS.payloadDepth) {
    refuse('PAYLOAD_TOO_DEEP', what, path, `is nested deeper than ${LIMITS.payloadDepth} levels. Flatten it`)
  }
  if (Array.isArray(value)) {
    count(what, seen, value.length, path)
    for (let i = 0; i < value.length; i++) {
      if (!isPlain(value[i])) inspect(what, value[i], seen, depth + 1, `${path}[${i}]`)
    }
    return
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = (prototype as { constructor?: { name?: string } }).constructor?.name ?? 'class instance'
    refuse(
      'PAYLOAD_NOT_JSON',
      what,
      path,
      `is a ${name}, which JSON cannot hold. Convert it to a plain object`,
    )
  }
  const keys = Object.keys(object)
  count(what, seen, keys.length, path)
  for (const key of keys) {
    if (key === '__proto__') {
      refuse(
        'PAYLOAD_FORBIDDEN_KEY',
        what,
        path,
        'has a key "__proto__", which can poison objects. Rename it',
      )
    }
    const inner = object[key]
    // Like JSON.stringify, undefined properties are left out.
    if (inner === undefined) continue
    if (!isStorable(key)) {
      refuse('PAYLOAD_TEXT_INVALID', what, path, 'has a key with a NUL or half a surrogate pair. Rename it')
    }
    if (!isPlain(inner)) inspect(what, inner, seen, depth + 1, `${path}.${key}`)
  }
  if (Object.hasOwn(object, 'constructor') && isObjectWith(object['constructor'], 'prototype')) {
    refuse(
      'PAYLOAD_FORBIDDEN_KEY',
      what,
      path,
      'has "constructor.prototype", which can poison objects. Rename it',
    )
  }
}

/** Most values are primitives: checking them first avoids building their path. */
function isPlain(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return isStorable(value)
    case 'number':
      return Number.isFinite(value)
    default:
      return value === null || typeof value === 'boolean'
  }
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { toJSON?: unknown }).toJSON === 'function'
  )
}

function isObjectWith(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
}

function count(what: string, seen: { keys: number }, more: number, path: string): void {
  seen.keys += more
  if (seen.keys > LIMITS.payloadKeys) {
    refuse(
      'PAYLOAD_TOO_LARGE',
      what,
      path,
      `exceeds ${LIMITS.payloadKeys} keys and elements in total. Split the job, or store the data elsewhere`,
    )
  }
}

function refuse(code: ErrorCode, what: string, path: string, problem: string): never {
  throw new SkepError(code, `The ${what} at ${show(path)} ${problem}.`, { facts: { what, path } })
}

/** Headers as stored JSON text, or null when there are none. */
export function encodeHeaders(headers: Readonly<Record<string, string>> | undefined): string | null {
  if (headers === undefined) return null
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new SkepError('HEADERS_INVALID', `The headers are ${show(headers)}; use an object of strings.`)
  }
  const entries = Object.entries(headers)
  if (entries.length === 0) return null
  for (const [name, value] of entries) {
    const ok =
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name) &&
      typeof value === 'string' &&
      value.isWellFormed() &&
      !hasControl(value)
    if (!ok) {
      throw new SkepError(
        'HEADERS_INVALID',
        `Header ${show(name)} is not valid. Names are letters, digits or "_ - ."; values are text without control characters.`,
        { facts: { name } },
      )
    }
  }
  const text = JSON.stringify(Object.fromEntries(entries))
  if (entries.length > LIMITS.headers || utf8Bytes(text) > LIMITS.headersBytes) {
    throw new SkepError(
      'HEADERS_INVALID',
      `There are too many headers: at most ${LIMITS.headers} and ${LIMITS.headersBytes} bytes as JSON.`,
    )
  }
  return text
}
