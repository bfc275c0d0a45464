import { withoutBidi } from '../format/bidi.ts'

/**
 * A JSON number that keeps its source. `JSON.parse` rounds `9007199254740993`, and searching for the rounded
 * id would find nothing.
 */
export class ExactNumber {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }

  toString(): string {
    return this.source
  }
}

/** Only JSON with many consecutive digits or an exponent can contain a number that a double rounds. */
const suspicious = /\d{16}|\d[eE][+-]?\d{2}|\.\d{15}/

interface Source {
  readonly source?: string
}

/** Like `JSON.parse`; numbers that a double cannot represent become {@link ExactNumber}. */
export function parseExact(text: string): unknown {
  if (!suspicious.test(text)) return JSON.parse(text) as unknown
  return JSON.parse(text, (_key, value: unknown, context?: Source) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isExact(value, context.source) ? value : new ExactNumber(context.source)
  }) as unknown
}

function isExact(value: number, source: string): boolean {
  return String(value) === source || (Number.isFinite(value) && digitsOf(String(value)) === digitsOf(source))
}

/** The significant digits with an exponent, so `1.50` and `15e-1` compare equal. */
function digitsOf(source: string): string {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  const negative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const trimmed = digits.replace(/0+$/, '')
  const place = Number(exponent) - fraction.length + (digits.length - trimmed.length)
  return trimmed === '' ? '0' : `${negative ? '-' : ''}${trimmed}e${place}`
}

/**
 * Like `JSON.stringify`, and preserves exact numbers. Bidirectional control characters are escaped, so that
 * JSON in an editor cannot look different from what it contains.
 */
export function stringifyExact(value: unknown, indent = 0, depth = 0): string {
  if (value instanceof ExactNumber) return value.source
  if (value === undefined) return 'null'
  if (value === null || typeof value !== 'object') return withoutBidi(JSON.stringify(value) ?? 'null')
  const line = indent === 0 ? '' : `\n${' '.repeat(indent * (depth + 1))}`
  const end = indent === 0 ? '' : `\n${' '.repeat(indent * depth)}`
  const inner = (item: unknown): string => stringifyExact(item, indent, depth + 1)
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[${value.map((item) => line + inner(item)).join(',')}${end}]`
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  if (entries.length === 0) return '{}'
  const space = indent === 0 ? '' : ' '
  return `{${entries.map(([key, item]) => `${line}${withoutBidi(JSON.stringify(key))}:${space}${inner(item)}`).join(',')}${end}}`
}
