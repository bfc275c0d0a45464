import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManyTexts } from '../../src/core/json/bulk-json.ts'
import { encodeJson } from '../../src/core/json/payload.ts'

function textsOf(values: readonly unknown[]): (string | undefined)[] {
  const texts = new ManyTexts(values)
  return values.map(() => texts.next())
}

describe('many texts', () => {
  it('are those of each value by itself, if they are there', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })
    const tricky = fc.constantFrom<unknown>('', ',"",', ['', '', ''], { a: ['', ''] }, {}, [], null, 'x')
    fc.assert(
      fc.property(
        fc.array(fc.oneof(value, tricky, fc.record({ a: value, b: tricky })), { maxLength: 40 }),
        (values) => {
          textsOf(values).forEach((text, n) => {
            if (text !== undefined) expect(text).toBe(encodeJson('payload', values[n]))
          })
        },
      ),
    )
  })

  it('are there for plain objects, however many', () => {
    const values = Array.from({ length: 1_000 }, (_, n) => ({
      n,
      to: `user-${n}`,
      tags: ['a', 'b'],
      at: { x: 1 },
    }))
    expect(textsOf(values)).toEqual(values.map((value) => JSON.stringify(value)))
  })

  it('are not cut where a value looks like what stands between two', () => {
    const values = [{ a: 1 }, { a: ['x', '', 'y'] }, { a: 2 }]
    expect(textsOf(values)).toEqual([undefined, undefined, undefined])
  })

  it('leave out what has to be looked at closely, and nothing else', () => {
    const values = [
      { a: 1 },
      { a: 'NUL \0' },
      { a: '\ud800' },
      { a: 2 },
      { a: undefined },
      'text',
      new Date(0),
      { a: 3 },
    ]
    const [first, nul, half, second, hole, text, date, third] = textsOf(values)
    expect([first, second, third]).toEqual(['{"a":1}', '{"a":2}', '{"a":3}'])
    expect([nul, half, hole, text, date]).toEqual(Array.from({ length: 5 }, () => undefined))
  })

  it('leave out what could have too many keys', () => {
    const values = [{ a: Array.from({ length: 6_000 }, () => 1) }, { a: 1 }]
    expect(textsOf(values)).toEqual([undefined, '{"a":1}'])
  })

  it('do not fail because of a value that throws', () => {
    const broken = {
      get a(): never {
        throw new Error('broken')
      },
    }
    expect(textsOf([{ a: 1 }, broken, { a: 2 }])).toEqual(['{"a":1}', undefined, '{"a":2}'])
  })
})
