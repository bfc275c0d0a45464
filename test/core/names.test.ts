import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assertIdentifier,
  assertJobId,
  assertKey,
  assertName,
  hasControl,
  isJobId,
  show,
  utf8Bytes,
} from '../../src/core/names.ts'

const accepts = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch (error) {
    expect(error).toMatchObject({
      code: expect.stringMatching(/^(NAME_INVALID|KEY_INVALID|OPTION_INVALID)$/),
    })
    expect(hasControl((error as Error).message)).toBe(false)
    expect((error as Error).message.length).toBeLessThan(400)
    return false
  }
}

const NAMES_OK = [
  'a',
  'A',
  '0',
  'report.build',
  'a:b/c-d_e.f',
  'order-1',
  'x'.repeat(128),
  'a..b',
  'a//b',
  'constructor',
]

/** What somebody will try one day, see the fault catalogue (F87). */
const NAMES_BAD = [
  '',
  ' ',
  ' a',
  'a ',
  'a b',
  'a\n',
  '\na',
  'a\0',
  '\0',
  'a\tb',
  '.',
  '..',
  '../etc/passwd',
  '/absolute',
  '-rf',
  '_private',
  ':a',
  'a{b}',
  '{a}',
  'a*',
  '*',
  '>',
  'a>b',
  'a?',
  'a%',
  "a'b",
  'a"b',
  'a`b',
  'a;drop table',
  'a$1',
  'a\\b',
  'a|b',
  'a&b',
  'a=b',
  'a,b',
  'a(b)',
  'a[b]',
  'a<b>',
  'a@b',
  'a#b',
  'a+b',
  'é',
  'e\u0301',
  'ａ',
  'а',
  '日本',
  '🐝',
  '\u202ea',
  'a\u200b',
  '\ufeffa',
  'a\u2028b',
  '\ud800',
  'x'.repeat(129),
  'x'.repeat(1_000_000),
]
const NOT_TEXT = [
  undefined,
  null,
  0,
  1,
  true,
  {},
  [],
  ['a'],
  () => 'a',
  Symbol('a'),
  5n,
  Object.create(null),
  new String('a'),
]

describe('names of queues and spaces', () => {
  it.each(NAMES_OK)('takes %s', (name) => {
    expect(accepts(() => assertName('Queue', name))).toBe(true)
  })

  it('refuses every name of the corpus, and says why on one short line', () => {
    const accepted = NAMES_BAD.filter((name) => accepts(() => assertName('Queue', name)))

    expect(accepted).toEqual([])
  })

  it('refuses what is not text', () => {
    expect(NOT_TEXT.filter((name) => accepts(() => assertName('Space', name)))).toEqual([])
  })

  it('takes exactly the names made of the allowed letters', () => {
    const letter = fc.constantFrom(...'a z A Z 0 9 _ . : / -'.split(' '), ' ', 'é', '\n', '*')
    fc.assert(
      fc.property(fc.array(letter, { maxLength: 140 }), (letters) => {
        const name = letters.join('')
        const expected = /^[a-z0-9][a-z0-9_.:/-]{0,127}$/i.test(name) && !/[^ -~]/.test(name)
        expect(accepts(() => assertName('Queue', name))).toBe(expected)
      }),
    )
  })
})

describe('keys', () => {
  const OK = [
    'a',
    ' ',
    'a ',
    'A/b:c',
    '%',
    '_',
    "'",
    '"',
    '\\',
    '{}',
    '🐝',
    'é',
    'e\u0301',
    '../..',
    '*',
    '\u202e',
    'x'.repeat(512),
  ]
  const BAD = [
    '',
    '\0',
    'a\0b',
    'a\nb',
    '\r',
    '\t',
    '\u007f',
    '\u0085',
    '\u009f',
    '\u2028',
    '\u2029',
    '\ud800',
    'a\udc00',
    'x'.repeat(513),
  ]

  it('takes any text of up to 512 bytes without control characters', () => {
    expect(OK.filter((key) => !accepts(() => assertKey('Unique key', key)))).toEqual([])
  })

  it('refuses what some store could not compare byte by byte', () => {
    expect(BAD.filter((key) => accepts(() => assertKey('Unique key', key)))).toEqual([])
    expect(NOT_TEXT.filter((key) => accepts(() => assertKey('Unique key', key)))).toEqual([])
  })

  it('counts bytes, not letters', () => {
    expect(accepts(() => assertKey('k', '🐝'.repeat(128)))).toBe(true)
    expect(accepts(() => assertKey('k', '🐝'.repeat(129)))).toBe(false)
    expect(accepts(() => assertKey('k', 'é'.repeat(256)))).toBe(true)
    expect(accepts(() => assertKey('k', `${'é'.repeat(256)}x`))).toBe(false)
  })

  it('does not give a refused key away in the facts', () => {
    expect(() => assertKey('Unique key', 'secret\n')).toThrow(
      expect.objectContaining({ facts: { what: 'Unique key' } }),
    )
  })
})

describe('job ids', () => {
  it('are UUIDs in lower case', () => {
    expect(isJobId('01a31c50-0000-7000-8000-000000000001')).toBe(true)
    const bad = [
      '01A31C50-0000-7000-8000-000000000001',
      '01a31c5000007000800000000000000001',
      '{01a31c50-0000-7000-8000-000000000001}',
      '01a31c50-0000-7000-8000-00000000000',
      '01a31c50-0000-7000-8000-000000000001\n',
      '',
      ...NOT_TEXT,
    ]
    expect(bad.filter(isJobId)).toEqual([])
    expect(bad.filter((id) => accepts(() => assertJobId(id)))).toEqual([])
  })
})

describe('SQL identifiers', () => {
  it('are short, in lower case, and need no quotes', () => {
    const ok = ['a', '_', 'skep_', 'queue_2', 'x'.repeat(48)]
    const bad = [
      '',
      'A',
      '2a',
      'a-b',
      'a b',
      'a"b',
      "a'",
      'a;',
      'a.b',
      'é',
      'x'.repeat(49),
      'a\n',
      ...NOT_TEXT,
    ]
    expect(ok.filter((name) => !accepts(() => assertIdentifier('schema', name)))).toEqual([])
    expect(bad.filter((name) => accepts(() => assertIdentifier('schema', name)))).toEqual([])
  })
})

describe('utf8Bytes', () => {
  it('agrees with the encoder for every well-formed text', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
    fc.assert(
      fc.property(text, (value) => {
        expect(utf8Bytes(value)).toBe(Buffer.byteLength(value, 'utf8'))
      }),
    )
  })

  it.each([
    '',
    'a',
    '\u007f',
    '\u0080',
    '\u07ff',
    '\u0800',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
  ])('counts the bytes at the edge %j', (letter) => {
    expect(utf8Bytes(letter)).toBe(Buffer.byteLength(letter, 'utf8'))
  })

  it('never counts less for a broken text than half of what a database would store', () => {
    expect(utf8Bytes('\ud800')).toBeGreaterThanOrEqual(2)
  })
})

describe('show', () => {
  it('makes one short line without control characters of anything', () => {
    const values = [...NOT_TEXT, ...NAMES_BAD, new Map(), new Date(Number.NaN), { toString: () => 'a\nb' }]
    for (const value of values) {
      const text = show(value)
      expect(text.length).toBeLessThanOrEqual(80)
      expect(hasControl(text)).toBe(false)
    }
  })

  it('survives values that cannot be turned into text', () => {
    const hostile = {
      toString: () => {
        throw new Error('no')
      },
    }
    expect(show(hostile).length).toBeGreaterThan(0)
    expect(show(Object.create(null)).length).toBeGreaterThan(0)
  })

  it('does not cut a sign in half', () => {
    expect(show('🐝'.repeat(60)).isWellFormed()).toBe(true)
    expect(show(`x${'🐝'.repeat(60)}`).isWellFormed()).toBe(true)
  })
})
