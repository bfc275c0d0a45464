import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { initialOf, problemsOf } from '../../dashboard/src/screens/playground/form-value.ts'
import { type Field, formOf } from '../../dashboard/src/screens/playground/schema-form.ts'

function fieldOf(form: Field, key: string): Field {
  if (form.kind !== 'object') throw new Error(`It is a ${form.kind}`)
  const found = form.fields.find((one) => one.key === key)
  if (!found) throw new Error(`There is no ${key}`)
  return found.field
}

const mail = z.object({
  to: z.email().describe('Who gets it'),
  copies: z.int().min(1).max(5).optional(),
  kind: z.enum(['plain', 'html']).default('plain'),
  urgent: z.boolean(),
  tags: z.array(z.string().min(1)).max(3),
  sender: z.object({ name: z.string(), reply: z.email().nullable() }),
  at: z.iso.datetime().optional(),
})

describe('the form of a schema', () => {
  const form = formOf(z.toJSONSchema(mail, { io: 'input' }))

  it('has a field for each property, with what it must be', () => {
    expect(fieldOf(form, 'to')).toMatchObject({ kind: 'text', format: 'email', description: 'Who gets it' })
    expect(fieldOf(form, 'copies')).toMatchObject({ kind: 'number', isWhole: true, min: 1, max: 5 })
    expect(fieldOf(form, 'kind')).toMatchObject({
      kind: 'choice',
      values: ['plain', 'html'],
      initial: 'plain',
    })
    expect(fieldOf(form, 'urgent')).toMatchObject({ kind: 'boolean' })
    expect(fieldOf(form, 'tags')).toMatchObject({ kind: 'list', max: 3, item: { kind: 'text' } })
    expect(fieldOf(form, 'at')).toMatchObject({ kind: 'text', format: 'date-time' })
    expect(fieldOf(fieldOf(form, 'sender'), 'reply')).toMatchObject({ kind: 'text', isNullable: true })
  })

  it('begins with what is required, and leaves out the rest', () => {
    expect(initialOf(form)).toEqual({
      to: '',
      kind: 'plain',
      urgent: false,
      tags: [],
      sender: { name: '', reply: null },
    })
  })

  it('says where a value is wrong, in words', () => {
    const value = {
      to: 'ada',
      urgent: true,
      tags: ['', 'b', 'c', 'd'],
      sender: { name: 'Ada', reply: null },
      copies: 9,
    }
    expect(problemsOf(form, value)).toEqual([
      { path: 'to', text: 'must be an email address' },
      { path: 'copies', text: 'must be at most 5' },
      { path: 'tags', text: 'must have at most 3 items' },
      { path: 'tags[0]', text: 'is required' },
    ])
  })

  it('takes a value that the schema takes', () => {
    const value = {
      to: 'ada@example.com',
      urgent: true,
      tags: ['a'],
      sender: { name: 'Ada', reply: 'ada@example.org' },
    }
    expect(mail.safeParse(value).success).toBe(true)
    expect(problemsOf(form, value)).toEqual([])
  })

  it('says what is missing', () => {
    expect(problemsOf(form, {}).map(({ path }) => path)).toEqual(['to', 'urgent', 'tags', 'sender'])
  })
})

describe('what a form cannot show', () => {
  it('is a field for JSON', () => {
    expect(formOf({ oneOf: [{ type: 'string' }, { type: 'number' }] }).kind).toBe('json')
    expect(formOf({ type: 'array', prefixItems: [{ type: 'string' }] }).kind).toBe('json')
    expect(formOf({ type: 'object', additionalProperties: { type: 'string' } }).kind).toBe('json')
    expect(formOf({}).kind).toBe('json')
    expect(formOf('nonsense').kind).toBe('json')
    expect(formOf(null).kind).toBe('json')
  })

  it('ends where a schema refers to itself', () => {
    const node = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    const form = formOf(node)
    expect(form.kind).toBe('object')
    expect(fieldOf(form, 'next').kind).toBe('json')
    expect(formOf({ $ref: '#' }).kind).toBe('json')
    expect(formOf({ $ref: 'https://example.com/schema' }).kind).toBe('json')
    expect(formOf({ $ref: '#/__proto__/polluted' }).kind).toBe('json')
  })

  it('ends at a number of fields, however large the schema is', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`field${n}`, { type: 'string' }]),
    )
    const form = formOf({ type: 'object', properties })
    expect(fieldOf(form, 'field10').kind).toBe('text')
    expect(fieldOf(form, 'field4999').kind).toBe('json')
  })
})

it('reads references, unions with null, and objects that hold together', () => {
  const form = formOf({
    allOf: [
      { type: 'object', properties: { a: { $ref: '#/$defs/name' } }, required: ['a'] },
      { type: 'object', properties: { b: { anyOf: [{ type: 'integer' }, { type: 'null' }] } } },
    ],
    $defs: { name: { type: 'string', maxLength: 10 } },
  })
  expect(fieldOf(form, 'a')).toMatchObject({ kind: 'text', maxLength: 10 })
  expect(fieldOf(form, 'b')).toMatchObject({ kind: 'number', isWhole: true, isNullable: true })
})
