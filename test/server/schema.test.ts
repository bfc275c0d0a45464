import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import {
  type AnySchema,
  all,
  either,
  exactly,
  extended,
  flag,
  json,
  list,
  moment,
  named,
  nullable,
  number,
  object,
  oneOf,
  open,
  optional,
  record,
  type Schema,
  table,
  text,
  whole,
} from '../../src/operations/schema/schema.ts'

/** Values that each kind takes and refuses. What is read must be what JSON Schema says too. */
const KINDS: Readonly<
  Record<string, { schema: AnySchema; takes: readonly unknown[]; refuses: readonly unknown[] }>
> = {
  text: { schema: text({ min: 1, max: 3 }), takes: ['a', 'äöü'], refuses: ['', 'abcd', 1, null, ['a']] },
  moment: { schema: moment(), takes: ['2026-11-16T09:30:00Z'], refuses: [1, null] },
  whole: { schema: whole({ min: -1, max: 5 }), takes: [-1, 0, 5], refuses: [1.5, 6, -2, '1', null] },
  number: { schema: number(), takes: [1.5, -3, 0], refuses: ['1', null, {}] },
  flag: { schema: flag(), takes: [true, false], refuses: ['true', 1, null] },
  oneOf: { schema: oneOf(['a', 'b']), takes: ['a', 'b'], refuses: ['c', '', null, 1] },
  exactly: { schema: exactly('*'), takes: ['*'], refuses: ['a', null] },
  json: { schema: json(), takes: [null, 1, 'a', [], { a: 1 }], refuses: [] },
  nullable: { schema: nullable(whole()), takes: [null, 3], refuses: ['3', -1] },
  either: { schema: either(exactly('*'), list(text())), takes: ['*', ['a'], []], refuses: ['a', 1, [1]] },
  list: {
    schema: list(whole(), { min: 1, max: 2 }),
    takes: [[1], [1, 2]],
    refuses: [[], [1, 2, 3], ['1'], 1, {}],
  },
  all: { schema: all(flag()), takes: [[], [true]], refuses: [[1], true] },
  record: { schema: record(whole()), takes: [{}, { a: 1 }], refuses: [{ a: 'b' }, [], null] },
  table: {
    schema: table(['a', 'b'], whole()),
    takes: [{ a: 1, b: 2 }],
    refuses: [{ a: 1 }, { a: 1, b: 2, c: 3 }, []],
  },
  object: {
    schema: object({ a: whole(), b: optional(text()) }),
    takes: [{ a: 1 }, { a: 1, b: '' }],
    refuses: [{}, { b: 'x' }, { a: 1, b: 1 }, { a: 1, c: 1 }, [], null, 'a'],
  },
  extended: {
    schema: extended(object({ a: whole() }), object({ b: flag() })),
    takes: [{ a: 1, b: true }],
    refuses: [{ a: 1 }, { b: true }],
  },
  open: {
    schema: open<{ a: number; b?: string }>({ a: whole() }, 'More may follow.'),
    takes: [{ a: 1 }, { a: 1, more: true }],
    refuses: [{}, { a: 'x' }, []],
  },
  named: { schema: named('Thing', object({ a: whole() })), takes: [{ a: 1 }], refuses: [{}] },
}

describe.each(Object.entries(KINDS))('the schema %s', (_name, { schema, takes, refuses }) => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema.json)

  it('takes what its JSON Schema takes, and gives it back', () => {
    for (const value of takes) {
      expect(schema.read(value, 'input'), JSON.stringify(value)).toEqual(value)
      expect(validate(value), JSON.stringify(value)).toBe(true)
    }
  })

  it('refuses what its JSON Schema refuses, with the path', () => {
    for (const value of refuses) {
      expect(() => schema.read(value, 'input'), JSON.stringify(value)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringMatching(/^input/) }),
      )
      expect(validate(value), JSON.stringify(value)).toBe(false)
    }
  })
})

describe('what is wrong', () => {
  const deep = object({ jobs: list(object({ at: moment(), n: optional(whole()) })) })

  it('is said with the place in the value', () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [{}, 'input.jobs'],
      [{ jobs: [{ at: '2026-11-16' }, { at: 'soon' }] }, 'input.jobs[1].at'],
      [{ jobs: [{ at: '2026-11-16', n: -1 }] }, 'input.jobs[0].n'],
      [{ jobs: [{ at: '2026-11-16', m: 1 }] }, 'input.jobs[0].m'],
      [{ jobs: [], ['x'.repeat(200)]: 1 }, `input.${'x'.repeat(64)}`],
    ]

    for (const [value, path] of wrong) {
      expect(() => deep.read(value, 'input')).toThrow(expect.objectContaining({ facts: { path } }))
    }
  })

  it('names the fields that there are', () => {
    expect(() => object({ a: whole(), b: flag() }).read({ c: 1 }, 'input')).toThrow('It takes: a, b.')
    expect(() => object({}).read({ c: 1 }, 'input')).toThrow('It takes: nothing.')
  })

  it('leaves no field in what is read that the schema does not know, not even of a prototype', () => {
    const given = JSON.parse('{"__proto__": {"a": 1}}') as unknown
    const inherited = Object.create({ a: 1 }) as object

    expect(() => object({ a: whole() }).read(given, 'input')).toThrow('has no field "__proto__"')
    expect(() => object({ a: whole() }).read(inherited, 'input')).toThrow('input.a must be given.')
    const names = record(whole()).read(JSON.parse('{"__proto__": 1}'), 'input')
    expect(Object.entries(names)).toEqual([['__proto__', 1]])
    expect(Object.getPrototypeOf(names)).toBe(Object.prototype)
  })
})

describe('the texts of a query string', () => {
  const read = <T>(schema: Schema<T>, ...texts: string[]): T => schema.read(schema.fromTexts(texts), 'input')

  it('stand for what the schema wants', () => {
    expect(read(whole(), '12')).toBe(12)
    expect(read(number(), '-1.5')).toBe(-1.5)
    expect(['true', '1', ''].map((one) => read(flag(), one))).toEqual([true, true, true])
    expect(['false', '0'].map((one) => read(flag(), one))).toEqual([false, false])
    expect(read(list(text()), 'a,b', 'c')).toEqual(['a', 'b', 'c'])
    expect(read(list(whole()), '')).toEqual([])
    expect(read(json(), '{"a":1}')).toEqual({ a: 1 })
    expect(read(json(), 'a b')).toBe('a b')
    expect(read(nullable(whole()), '3')).toBe(3)
    expect(read(either(exactly('*'), list(text())), 'a,b')).toEqual(['a', 'b'])
  })

  it('are refused where they stand for nothing, or come twice', () => {
    for (const [schema, texts] of [
      [whole(), ['x']],
      [whole(), ['']],
      [whole(), ['1', '2']],
      [flag(), ['yes']],
      [text(), ['a', 'b']],
      [oneOf(['a']), ['b']],
    ] as const) {
      expect(() => read(schema as Schema<unknown>, ...texts), texts.join()).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    }
  })
})
