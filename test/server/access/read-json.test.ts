import fc from 'fast-check'
import { SkepError } from 'skep'
import { describe, expect, it } from 'vitest'
import { BATCH_BOUNDS, readJson } from '../../../src/server/access/read-json.ts'

function codeOf(text: string): string {
  try {
    readJson(text)
    return 'ok'
  } catch (error) {
    return error instanceof SkepError ? error.code : `a strange ${String(error)}`
  }
}

describe('a body', () => {
  it('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        if (text.includes('proto') || text.includes('\\u')) return
        expect(readJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    ['a bomb of brackets', '['.repeat(2_000_000), 'REQUEST_TOO_LARGE'],
    ['a bomb of objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'REQUEST_TOO_LARGE'],
    [
      'many keys',
      `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
      'REQUEST_TOO_LARGE',
    ],
    ['many elements', `[${'1,'.repeat(100_000)}1]`, 'REQUEST_TOO_LARGE'],
    ['many empty objects', `[${'{},'.repeat(100_000)}1]`, 'REQUEST_TOO_LARGE'],
    ['brackets inside of a text', JSON.stringify('[{'.repeat(100_000)), 'ok'],
    ['commas behind an escaped quote', JSON.stringify(`\\",${','.repeat(100_000)}"`), 'ok'],
    ['a text that does not end', `"${','.repeat(100_000)}`, 'REQUEST_INVALID'],
    ['a backslash at the end', '"\\', 'REQUEST_INVALID'],
    ['nothing', '', 'REQUEST_INVALID'],
    ['no JSON', 'undefined', 'REQUEST_INVALID'],
    ['closing brackets', ']'.repeat(1_000), 'REQUEST_INVALID'],
    ['a key __proto__', '{"a":{"__proto__":{"x":1}}}', 'REQUEST_INVALID'],
    ['a key __proto__ in escapes', '{"\\u005f_proto__":{"x":1}}', 'REQUEST_INVALID'],
    ['constructor.prototype', '[{"constructor":{"prototype":{}}}]', 'REQUEST_INVALID'],
    ['constructor.prototype in escapes', '{"constr\\u0075ctor":{"\\u0070rototype":1}}', 'REQUEST_INVALID'],
    ['a harmless constructor', '{"constructor":"ACME","prototype":{"a":1}}', 'ok'],
    ['the word as a value', '{"a":"__proto__"}', 'ok'],
  ])('that is %s', (_, text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  it('with a payload of the largest kind is read', () => {
    const payload = Object.fromEntries(Array.from({ length: 9_999 }, (_, i) => [`k${i}`, i]))
    let deep: unknown = 1
    for (let i = 0; i < 63; i++) deep = [deep]

    expect(codeOf(JSON.stringify({ queue: 'a', payload }))).toBe('ok')
    expect(codeOf(JSON.stringify({ jobs: [{ queue: 'a', payload: deep }] }))).toBe('ok')
  })

  it('of a batch may have more', () => {
    const text = JSON.stringify({
      jobs: Array.from({ length: 1_000 }, () => ({ queue: 'a', payload: Array(100).fill(1) })),
    })

    expect(() => readJson(text)).toThrow(SkepError)
    expect(() => readJson(text, BATCH_BOUNDS)).not.toThrow()
  })

  it('of any text is read or refused, and nothing else happens', () => {
    const pieces = fc.array(fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '1', 'a', ' '))
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      pieces.map((parts) => parts.join('')),
    )

    fc.assert(
      fc.property(text, (body) => {
        expect(codeOf(body)).not.toContain('strange')
      }),
      { numRuns: 2_000 },
    )
  })
})
