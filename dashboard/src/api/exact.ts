import { withoutBidi } from '../format/bidi.ts'

/**
 * JSON with its numbers as they were written. `9007199254740993` would come out of `JSON.parse` as another number, and a person
 * who looks for an id of that size would look for the wrong one.
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

/** Only texts with a long run of digits or an exponent can hold a number that does not survive. */
const suspicious = /\d{16}|\d[eE][+-]?\d{2}|\.\d{15}/

interface Source {
  readonly source?: string
}

/** Like `JSON.parse`; numbers that a double cannot hold become {@link ExactNumber}. */
export function parseExact(text: string): unknown {
  if (!suspicious.test(text)) return JSON.parse(text) as unknown
  return JSON.parse(text, (_key, value: unknown, context?: Source) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isKept(value, context.source) ? value : new ExactNumber(context.source)
  }) as unknown
}

function isKept(value: number, source: string): boolean {
  return String(value) === source || (Number.isFinite(value) && digitsOf(String(value)) === digitsOf(source))
}

/** The digits that count, with the place of the point: `1.50` and `15e-1` are alike. */
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
 * Like `JSON.stringify`, with exact numbers as they were written. Marks of writing direction are escapes, which mean the same:
 * JSON in a field for editing must read as what it is.
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
