/**
 * Writes values as the source of other languages. What people type goes through here into shells and programs, so every function
 * must be right for every text: nothing in it may end the quotes, and nothing may be invisible.
 */
import { ExactNumber, stringifyExact } from '../../api/exact.ts'

/** Characters that cannot be seen, or that change how the text around them looks: a reader must see what is run. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** As JSON and TypeScript write it: each half of a pair for itself. */
function escaped(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** A word that the shell does not look into. Only what is harmless everywhere stays without quotes. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:,][A-Za-z0-9_./:,-]*$/.test(text)) return text
  if (!HIDDEN.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  // What cannot be seen needs the quotes in which escapes count.
  const quoted = text.replace(/[\\'\n\r\t]/g, (char) => NAMED[char] as string)
  return `$'${replaceEach(quoted, codePoint)}'`
}

/** As shells and Python write it. */
function codePoint(char: string): string {
  const code = char.codePointAt(0) as number
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

/** JSON on one line, without characters that cannot be seen: they are written as escapes. */
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
  // In JSON such characters stand only inside of strings, where an escape means the same.
  return replaceEach(json, escaped)
}

function replaceEach(text: string, write: (char: string) => string): string {
  let out = ''
  for (const char of text) out += HIDDEN.test(char) ? write(char) : char
  return out
}

/** A text in TypeScript, in single quotes. */
export function tsText(text: string): string {
  const quoted = text.replace(/[\\'\n\r\t]/g, (char) => NAMED[char] as string)
  return `'${replaceEach(quoted, escaped)}'`
}

/** A value in TypeScript, over several lines if it is long. */
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
  // As a plain key it would set the prototype, and not a field.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : tsText(key)
}

/** A text in Python, in double quotes: the escapes of JSON mean the same there, except for pairs. */
export function pythonText(text: string): string {
  return replaceEach(JSON.stringify(text), codePoint)
}

/** A value in Python. */
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

/** On one line if it fits, else one line for each. */
function wrapped(parts: readonly string[], open: string, close: string, depth: number, indent = 2): string {
  if (parts.length === 0) return open + close
  const space = open === '{' && indent === 2 ? ' ' : ''
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (line.length <= 72 && !line.includes('\n')) return line
  const before = ' '.repeat(indent * (depth + 1))
  return `${open}\n${parts.map((part) => `${before}${part},\n`).join('')}${' '.repeat(indent * depth)}${close}`
}
