import { SkepError } from './errors.ts'
import { LIMITS } from './limits.ts'

// Letters, digits and `_ - . : /`, starting with a letter or digit: every store and notifier can carry such
// names after escaping, and they cannot be mistaken for markup, a path or a wildcard.
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:/-]*$/

/** Rejects a name of a queue or space that some store could not hold. `what` names the thing in the error. */
export function assertName(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && name.length <= LIMITS.nameBytes && NAME.test(name)) return
  throw new SkepError(
    'NAME_INVALID',
    `${what} ${show(name)} is not a valid name. Use 1 to ${LIMITS.nameBytes} letters, digits or "_ - . : /", ` +
      'starting with a letter or digit.',
    { facts: { what, name } },
  )
}

/** Rejects a value that is neither a name nor a pattern of names, in which `*` matches anything. */
export function assertPattern(what: string, pattern: unknown): asserts pattern is string {
  const isPattern = typeof pattern === 'string' && pattern.includes('*')
  // A pattern is valid if it can match a name: `*` may match a single character.
  if (isPattern && pattern.length <= LIMITS.nameBytes && NAME.test(pattern.replaceAll('*', 'x'))) return
  assertName(what, pattern)
}

/** Rejects a key (unique key, lane key) that some store could not compare byte by byte. */
export function assertKey(what: string, key: unknown): asserts key is string {
  if (
    typeof key === 'string' &&
    key.length > 0 &&
    key.isWellFormed() &&
    !hasControl(key) &&
    utf8Bytes(key) <= LIMITS.keyBytes
  ) {
    return
  }
  throw new SkepError(
    'KEY_INVALID',
    `${what} ${show(key)} is not a valid key. Use 1 to ${LIMITS.keyBytes} bytes of text without control characters.`,
    { facts: { what } },
  )
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether the id is a UUID in lower case, the only spelling of a job id. */
export function isJobId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id)
}

export function assertJobId(id: unknown): asserts id is string {
  if (isJobId(id)) return
  throw new SkepError('OPTION_INVALID', `${show(id)} is not a job id. Ids are UUIDs in lower case.`)
}

/** Rejects an identifier that cannot go into SQL: a schema or a table prefix. */
export function assertIdentifier(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && /^[a-z_][a-z0-9_]{0,47}$/.test(name)) return
  throw new SkepError(
    'NAME_INVALID',
    `${what} ${show(name)} cannot be used in SQL. Use up to 48 lower-case letters, digits or "_", not starting with a digit.`,
    { facts: { what, name } },
  )
}

// Control characters and the two line separators of Unicode.
const CONTROL = /[\p{Cc}\u2028\u2029]/u

export function hasControl(text: string): boolean {
  return CONTROL.test(text)
}

/** The length of `text` in UTF-8 bytes. */
export function utf8Bytes(text: string): number {
  // Every UTF-16 unit is at most 3 bytes, so short texts need no counting.
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}

/** A value for use in a message: short, on one line, without control characters. */
export function show(value: unknown): string {
  const clean = textOf(value).replace(new RegExp(CONTROL, 'gu'), '?')
  if (clean.length <= 80) return clean
  // Do not cut a surrogate pair in half.
  const cut = clean.slice(0, 77)
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}...`
}

function textOf(value: unknown): string {
  try {
    return typeof value === 'string' ? JSON.stringify(value) : String(value)
  } catch {
    return `a ${typeof value}` // An object that cannot be converted to a string.
  }
}
