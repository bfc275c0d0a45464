import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeJson, encodeHeaders, encodeJson } from '../../src/core/json/payload.ts'
import { LIMITS } from '../../src/core/limits.ts'

const roundTrip = (value: unknown): unknown => decodeJson('payload', encodeJson('payload', value))

function codeOf(value: unknown, maxBytes?: number): string {
  try {
    encodeJson('payload', value, maxBytes)
    return 'taken'
  } catch (error) {
    return (error as { code?: string }).code ?? `not ours: ${String(error)}`
  }
}

function nested(levels: number): unknown {
  let value: unknown = []
  for (let n = 1; n < levels; n++) value = n % 2 ? { a: value } : [value]
  return value
}

class Point {
  x = 1
}

describe('payloads', () => {
  it('come back equal, whatever plain value they are', () => {
    const plain = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })
    fc.assert(
      fc.property(plain, (value) => {
        const code = codeOf(value)
        if (code === 'taken') expect(roundTrip(value)).toEqual(JSON.parse(JSON.stringify(value)))
        // What is left can only be refused for a reason that the value shows.
        else
          expect(JSON.stringify(value)).toMatch(
            code === 'PAYLOAD_TEXT_INVALID' ? /\\u0000|\\ud/ : /__proto__/,
          )
      }),
    )
  })

  it.each([
    ['nothing', undefined, null],
    ['null', null, null],
    ['a string', 'text', 'text'],
    ['an empty string', '', ''],
    ['a number', 1.5, 1.5],
    ['minus zero, as zero', -0, 0],
    ['the largest numbers', [1e308, 5e-324, 2 ** 53 + 1], [1e308, 5e-324, 2 ** 53]],
    ['a boolean', false, false],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a property that is undefined, by leaving it out', { a: undefined, b: 1 }, { b: 1 }],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a date that is none', new Date(Number.NaN), null],
    ['a URL', new URL('https://example.com/a?b'), 'https://example.com/a?b'],
    ['what toJSON gives', { toJSON: () => ({ a: [1] }) }, { a: [1] }],
    ['separators of lines', '\u2028\u2029\ufeff', '\u2028\u2029\ufeff'],
    ['control characters other than NUL', '\u0001\u001f\u007f\n\r\t', '\u0001\u001f\u007f\n\r\t'],
    ['signs beyond the basic plane', '🐝\u{10ffff}', '🐝\u{10ffff}'],
    [
      'keys that look dangerous and are not',
      { constructor: 1, prototype: { a: 1 }, hasOwnProperty: 2 },
      undefined,
    ],
    ['keys of every letter', { '': 1, ' ': 2, 'é🐝': 3, '\n': 4, '"': 5 }, undefined],
  ])('take %s', (_, value, expected) => {
    expect(roundTrip(value)).toEqual(expected === undefined ? value : expected)
  })

  it.each([
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
    ['a number too large to be one', Number('1e400')],
    ['undefined in a list', [undefined]],
    ['a hole in a list', Array(3)],
    ['a Map', new Map([['a', 1]])],
    ['a Set', new Set([1])],
    ['a RegExp', /a/],
    ['an Error', new Error('a')],
    ['a typed array', new Uint8Array(2)],
    ['an ArrayBuffer', new ArrayBuffer(2)],
    ['a promise', Promise.resolve(1)],
    ['an instance of a class', new Point()],
    ['a boxed string', new String('a')],
    ['a boxed number', new Number(1)],
    ['an object that inherits from another', Object.create({ a: 1 })],
    ['what toJSON gives, if that is no JSON', { toJSON: () => new Map() }],
    ['what toJSON does not give', { toJSON: () => undefined }],
  ])('refuse %s, on top or inside', (_, value) => {
    expect([value, [value], { a: { b: value } }].map((payload) => codeOf(payload))).toEqual(
      Array(3).fill('PAYLOAD_NOT_JSON'),
    )
  })

  it.each([
    ['a NUL', 'a\0b'],
    ['half a pair at the end', 'a\ud83d'],
    ['the other half', '\udc1da'],
    ['two halves in the wrong order', '\udc1d\ud83d'],
  ])('refuse text with %s, as a value or as a key', (_, text) => {
    expect(
      [text, [text], { [text]: 1 }, { a: { [text]: { b: 1 } } }].map((payload) => codeOf(payload)),
    ).toEqual(Array(4).fill('PAYLOAD_TEXT_INVALID'))
  })

  it('refuse keys that can poison objects', () => {
    expect(codeOf(JSON.parse('{"__proto__":{"admin":true}}'))).toBe('PAYLOAD_FORBIDDEN_KEY')
    expect(codeOf(JSON.parse('{"a":[{"__proto__":null}]}'))).toBe('PAYLOAD_FORBIDDEN_KEY')
    expect(codeOf({ constructor: { prototype: { admin: true } } })).toBe('PAYLOAD_FORBIDDEN_KEY')
    expect(codeOf({ constructor: { name: 'fine' } })).toBe('taken')
  })

  it('take 64 levels and refuse 65', () => {
    expect(codeOf(nested(LIMITS.payloadDepth))).toBe('taken')
    expect(codeOf(nested(LIMITS.payloadDepth + 1))).toBe('PAYLOAD_TOO_DEEP')
  })

  it('refuse two million levels and things that contain themselves, without a stack overflow', () => {
    const list: unknown[] = []
    list.push(list)
    const object: Record<string, unknown> = {}
    object['self'] = { object }
    const deep = { toJSON: () => [deep] }

    expect([nested(2_000_000), list, object, deep].map((value) => codeOf(value))).toEqual(
      Array(4).fill('PAYLOAD_TOO_DEEP'),
    )
  })

  it('ask toJSON once, as JSON does, even if it gives the object itself', () => {
    const self = { a: 1, toJSON: (): unknown => self }

    // JSON.stringify leaves the function out; we do not take what holds a function.
    expect(codeOf(self)).toBe('PAYLOAD_NOT_JSON')
  })

  it('take 10,000 keys and elements and refuse one more', () => {
    const keys = (n: number): object => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0]))

    expect(codeOf(Array(10_000).fill(0))).toBe('taken')
    expect(codeOf(keys(10_000))).toBe('taken')
    expect(codeOf(Array(10_001).fill(0))).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf({ a: keys(5_000), b: Array(4_999).fill(0) })).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf(keys(300_000))).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf(Array(2 ** 32 - 1))).toBe('PAYLOAD_TOO_LARGE')
  })

  it.each([
    ['x', 1],
    ['é', 2],
    ['日', 3],
    ['🐝', 4],
    ['"', 2],
    ['\u0001', 6],
  ])('measure %j by the bytes of the JSON text', (letter, bytes) => {
    const fitting = letter.repeat(Math.floor((LIMITS.payloadBytes - 2) / bytes))

    expect(codeOf(fitting)).toBe('taken')
    expect(codeOf(fitting + letter)).toBe('PAYLOAD_TOO_LARGE')
  })

  it('refuse 50 MB, and say how large it is and what to do', () => {
    expect(() => encodeJson('payload', 'x'.repeat(50_000_000))).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_TOO_LARGE',
        message: expect.stringMatching(/50000002 bytes.*262144.*reference/),
      }),
    )
  })

  it('may be as large as the caller allows', () => {
    expect(codeOf('x'.repeat(98), 100)).toBe('taken')
    expect(codeOf('x'.repeat(99), 100)).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf('x'.repeat(300_000), LIMITS.payloadBytesMax)).toBe('taken')
  })

  it('name the place of the problem', () => {
    expect(() => encodeJson('result', { items: [0, { at: new Map() }] })).toThrow(
      /^The result at "\$\.items\[1\]\.at" is a Map/,
    )
  })

  it('keep the error short and on one line for long and hostile keys', () => {
    const payload = { [`${'k'.repeat(100_000)}\n`]: { ['a\u001b[31m']: new Map() } }

    expect(() => encodeJson('payload', payload)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^[ -~]{1,300}$/) }),
    )
  })

  it('do not change the value that is given', () => {
    const value = Object.freeze({ a: Object.freeze([1, Object.freeze({ b: undefined })]) })

    encodeJson('payload', value)

    expect(value).toEqual({ a: [1, { b: undefined }] })
  })

  it('are inspected in a time that grows with their size only', () => {
    const wide = Array.from({ length: 100 }, () => Array.from({ length: 99 }, (_, n) => ({ n })).slice(0, 48))

    expect(codeOf(wide)).toBe('taken')
  })
})

describe('stored JSON that cannot be read', () => {
  it.each(['', '{', 'undefined', "{'a':1}", '\0'])('is reported with its text: %j', (text) => {
    expect(() => decodeJson('payload', text)).toThrow(expect.objectContaining({ code: 'PAYLOAD_UNREADABLE' }))
  })

  it('is shown short', () => {
    expect(() => decodeJson('payload', 'x'.repeat(1_000_000))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,200}$/) }),
    )
  })
})

describe('headers', () => {
  const headerCode = (headers: unknown): string => {
    try {
      encodeHeaders(headers as Record<string, string>)
      return 'taken'
    } catch (error) {
      return (error as { code?: string }).code ?? `not ours: ${String(error)}`
    }
  }

  it('are null when there are none', () => {
    expect([encodeHeaders(undefined), encodeHeaders({})]).toEqual([null, null])
  })

  it('come back equal', () => {
    const headers = { trace: 'é 🐝 "\\', 'x-Request.Id_1': '', constructor: 'a', toJSON: 'b' }

    expect(JSON.parse(encodeHeaders(headers) ?? '')).toEqual(headers)
  })

  it.each([
    ['an empty name', { '': 'a' }],
    ['a name with a blank', { 'a b': 'a' }],
    ['a name with a colon', { 'a:b': 'a' }],
    ['a name that begins with a sign', { _a: 'a' }],
    ['a name of another language', { é: 'a' }],
    ['a name that is too long', { ['a'.repeat(129)]: 'a' }],
    ['a line break in a value', { a: 'b\r\nSet-Cookie: c' }],
    ['a NUL in a value', { a: '\0' }],
    ['half a pair in a value', { a: '\ud800' }],
    ['a number', { a: 1 }],
    ['null', { a: null }],
    ['an object', { a: {} }],
    ['a poisoned name', JSON.parse('{"__proto__":"a"}')],
  ])('refuse %s', (_, headers) => {
    expect(headerCode(headers)).toBe('HEADERS_INVALID')
  })

  it('refuse too many, or too much', () => {
    const many = (n: number): object =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`h${i}`, 'a']))

    expect(headerCode(many(LIMITS.headers))).toBe('taken')
    expect(headerCode(many(LIMITS.headers + 1))).toBe('HEADERS_INVALID')
    expect(headerCode({ a: 'x'.repeat(LIMITS.headersBytes - 8) })).toBe('taken')
    expect(headerCode({ a: 'x'.repeat(LIMITS.headersBytes - 7) })).toBe('HEADERS_INVALID')
    expect(headerCode({ a: '🐝'.repeat(LIMITS.headersBytes / 4) })).toBe('HEADERS_INVALID')
  })
})
