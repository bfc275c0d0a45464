/**
 * Writes values as source code of other languages. User input ends up in shells and programs, so every
 * function must be correct for every string: nothing may end the quotes, and nothing may be invisible.
 */
import { ExactNumber, stringifyExact } from '../../api/exact.ts'

/**
 * Invisible characters, and those that change how the text around them is displayed. They are always escaped.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Escapes for JSON and TypeScript: one per UTF-16 code unit. */
function escaped(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** A shell word without expansion. Only strings that are safe in every shell stay unquoted. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:,][A-Za-z0-9_./:,-]*$/.test(text)) return text
  if (!HIDDEN.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  // Invisible characters need $'…' quotes, which support escapes.
  const quoted = text.replace(/[\\'\n\r\t]/g, (char) => NAMED[char] as string)
  return `$'${replaceEach(quoted, codePoint)}'`
}

/** Escapes for shells and Python: one per code point. */
function codePoint(char: string): string {
  const code = char.codePointAt(0) as number
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

/** JSON on one line, with invisible characters escaped. */
export function jsonLine(value: unknown): string {
  return visible(stringifyExact(value))
}

const NAMED: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\\': '\\\\',
  "'": "\\'",
}

function visible(json: string): string {
  // In JSON such characters occur only inside strings, where an escape is equivalent.
  return replaceEach(json, escaped)
}

function replaceEach(text: string, write: (char: string) => string): string {
  let out = ''
  for (const char of text) out += HIDDEN.test(char) ? write(char) : char
  return out
}

/** A TypeScript string literal in single quotes. */
export function tsText(text: string): string {
  const quoted = text.replace(/[\\'\n\r\t]/g, (char) => NAMED[char] as string)
  return `'${replaceEach(quoted, escaped)}'`
}

/** A TypeScript expression, on several lines if it is long. */
export function tsValue(value: unknown, depth = 0): string {
  if (typeof value === 'string') return tsText(value)
  if (value === undefined) return 'undefined'
  if (value instanceof ExactNumber) return value.source
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const inside = (item: unknown): string => tsValue(item, depth + 1)
  if (Array.isArray(value)) return wrapped(value.map(inside), '[', ']', depth)
  const pairs = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${tsKey(key)}: ${inside(item)}`)
  return wrapped(pairs, '{', '}', depth)
}

function tsKey(key: string): string {
  // A plain key would set the prototype instead of a property.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : tsText(key)
}

/** A Python string literal in double quotes: JSON escapes are valid there, except for surrogate pairs. */
export function pythonText(text: string): string {
  return replaceEach(JSON.stringify(text), codePoint)
}

/** A Python expression. */
export function pythonValue(value: unknown, depth = 0): string {
  if (typeof value === 'string') return pythonText(value)
  if (value instanceof ExactNumber) return value.source
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inside = (item: unknown): string => pythonValue(item, depth + 1)
  if (Array.isArray(value)) return wrapped(value.map(inside), '[', ']', depth, 4)
  const pairs = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${pythonText(key)}: ${inside(item)}`)
  return wrapped(pairs, '{', '}', depth, 4)
}

/** On one line if it fits, else one part per line. */
function wrapped(parts: readonly string[], open: string, close: string, depth: number, indent = 2): string {
  if (parts.length === 0) return open + close
  const space = open === '{' && indent === 2 ? ' ' : ''
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (line.length <= 72 && !line.includes('\n')) return line
  const before = ' '.repeat(indent * (depth + 1))
  return `${open}\n${parts.map((part) => `${before}${part},\n`).join('')}${' '.repeat(indent * depth)}${close}`
}
