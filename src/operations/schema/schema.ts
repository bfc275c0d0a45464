/**
 * A small schema language for the inputs and outputs of operations. A schema has a TypeScript type, validates a value, reads one
 * from the strings of a query string, and is JSON Schema for the OpenAPI document: declared once, so that the four cannot differ.
 *
 * A schema of a wider or a narrower type is not assignable: see {@link Schema.exactly}.
 */
import { parseExact, SkepError } from '../../index.ts'

/** JSON Schema, as OpenAPI 3.1 uses it. */
export type JsonSchema = { readonly [word: string]: unknown }

/** A schema of any type. */
export interface AnySchema {
  readonly json: JsonSchema
  /** Validates a value; throws `OPTION_INVALID` with the path of the mistake. Undefined fields are left out. */
  read(value: unknown, path: string): unknown
  /** Parses the strings of a query string; {@link AnySchema.read} validates the result. */
  fromTexts(texts: readonly string[]): unknown
  /** May be left out of an object. */
  readonly isOptional?: true
  /** The operation matches stored data with it: as a query, or as content of payloads. `matching.ts` decides who may. */
  readonly matches?: 'query' | 'content'
  /** The fields of an object. */
  readonly fields?: Readonly<Record<string, AnySchema>>
}

export interface Schema<T> extends AnySchema {
  read(value: unknown, path: string): T
  /** Never set: it makes the type invariant. */
  readonly exactly?: (value: T) => T
}

/** A schema of an optional field. */
export interface OptionalSchema<T> extends Schema<T> {
  readonly isOptional: true
}

export type TypeOf<S extends AnySchema> = S extends Schema<infer T> ? T : never

type Optional = { readonly isOptional: true }
type ObjectOf<Fields extends Readonly<Record<string, AnySchema>>> = {
  readonly [Key in keyof Fields as Fields[Key] extends Optional ? never : Key]: TypeOf<Fields[Key]>
} & { readonly [Key in keyof Fields as Fields[Key] extends Optional ? Key : never]?: TypeOf<Fields[Key]> }

/** The error of an invalid value. */
export function invalid(path: string, must: string): SkepError {
  return new SkepError('OPTION_INVALID', `${path} must be ${must}.`, { facts: { path } })
}

const single = (texts: readonly string[]): unknown => (texts.length === 1 ? texts[0] : texts)

// ── single values ────────────────────────────────────────────────────────────────────────────────

interface TextOptions {
  readonly min?: number
  /** The maximum length. @default 1,024 */
  readonly max?: number
  readonly about?: string
}

export function text({ min = 0, max = 1_024, about }: TextOptions = {}): Schema<string> {
  return {
    json: described({ type: 'string', ...(min > 0 ? { minLength: min } : {}), maxLength: max }, about),
    fromTexts: single,
    read(value, path) {
      if (typeof value !== 'string') throw invalid(path, 'a string')
      if (value.length < min || value.length > max)
        throw invalid(path, `a string of ${min} to ${max} characters`)
      return value
    },
  }
}

/** A timestamp as an ISO 8601 string. */
export function moment(about?: string): Schema<string> {
  return {
    json: described({ type: 'string', format: 'date-time' }, about),
    fromTexts: single,
    read(value, path) {
      if (typeof value !== 'string' || value.length > 64 || Number.isNaN(Date.parse(value))) {
        throw invalid(path, 'a timestamp such as "2026-11-16T09:30:00Z"')
      }
      return value
    },
  }
}

interface NumberOptions {
  readonly min?: number
  readonly max?: number
  readonly about?: string
}

/** An integer. */
export function whole({ min = 0, max = Number.MAX_SAFE_INTEGER, about }: NumberOptions = {}): Schema<number> {
  const bounds = { minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) }
  return {
    json: described({ type: 'integer', ...bounds }, about),
    fromTexts: numberFrom,
    read(value, path) {
      if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
        throw invalid(path, `an integer from ${min} to ${max}`)
      }
      return value as number
    },
  }
}

export function number(about?: string): Schema<number> {
  return {
    json: described({ type: 'number' }, about),
    fromTexts: numberFrom,
    read(value, path) {
      if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(path, 'a number')
      return value
    },
  }
}

function numberFrom(texts: readonly string[]): unknown {
  const [one] = texts
  return texts.length === 1 && one !== undefined && one.trim() !== '' ? Number(one) : texts
}

export function flag(about?: string): Schema<boolean> {
  return {
    json: described({ type: 'boolean' }, about),
    fromTexts(texts) {
      const said = single(texts)
      return said === 'true' || said === '1' || said === ''
        ? true
        : said === 'false' || said === '0'
          ? false
          : said
    },
    read(value, path) {
      if (typeof value !== 'boolean') throw invalid(path, 'true or false')
      return value
    },
  }
}

/** One of these strings. */
export function oneOf<const Word extends string>(words: readonly Word[], about?: string): Schema<Word> {
  return {
    json: described({ type: 'string', enum: words }, about),
    fromTexts: single,
    read(value, path) {
      if (!words.includes(value as Word)) throw invalid(path, `one of: ${words.join(', ')}`)
      return value as Word
    },
  }
}

/** Any JSON value. */
export function json(about?: string): Schema<unknown> {
  return {
    json: described({}, about),
    fromTexts: parsed,
    read(value, path) {
      if (value === undefined) throw invalid(path, 'given')
      return value
    },
  }
}

function parsed(texts: readonly string[]): unknown {
  const said = single(texts)
  if (typeof said !== 'string') return said
  try {
    return parseExact('query', said)
  } catch {
    return said
  }
}

// ── made of others ───────────────────────────────────────────────────────────────────────────────

/** An optional field of an object. */
export function optional<T>(schema: Schema<T>): OptionalSchema<T> {
  return { ...schema, isOptional: true }
}

/** This, or null. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return {
    json: { anyOf: [schema.json, { type: 'null' }] },
    fromTexts: (texts) => schema.fromTexts(texts),
    read: (value, path) => (value === null ? null : schema.read(value, path)),
  }
}

/** One or the other; the first that matches. */
export function either<A, B>(a: Schema<A>, b: Schema<B>): Schema<A | B> {
  return {
    json: { anyOf: [a.json, b.json] },
    fromTexts: (texts) => b.fromTexts(texts),
    read(value, path) {
      try {
        return a.read(value, path)
      } catch {
        return b.read(value, path)
      }
    },
  }
}

/** Exactly this string. */
export function exactly<const Word extends string>(word: Word): Schema<Word> {
  return { ...oneOf([word]), json: { const: word } }
}

interface ListOptions {
  readonly min?: number
  /** The maximum length. @default 1,000 */
  readonly max?: number
  readonly about?: string
}

/** A list. In a query string its items are repeated or separated by commas. */
export function list<T>(
  item: Schema<T>,
  { min = 0, max = 1_000, about }: ListOptions = {},
): Schema<readonly T[]> {
  const bounds = { ...(min > 0 ? { minItems: min } : {}), ...(Number.isFinite(max) ? { maxItems: max } : {}) }
  return {
    json: described({ type: 'array', items: item.json, ...bounds }, about),
    fromTexts: (texts) =>
      texts.flatMap((one) => (one === '' ? [] : one.split(',')).map((part) => item.fromTexts([part]))),
    read(value, path) {
      if (!Array.isArray(value)) throw invalid(path, 'a list')
      if (value.length < min || value.length > max) throw invalid(path, `a list of ${min} to ${max} items`)
      return value.map((one, index) => item.read(one, `${path}[${index}]`))
    },
  }
}

/** A list of any length, in an output. */
export function all<T>(item: Schema<T>, about?: string): Schema<readonly T[]> {
  return list(item, { max: Infinity, ...(about === undefined ? {} : { about }) })
}

/** An object with any keys. */
export function record<T>(value: Schema<T>, about?: string): Schema<Readonly<Record<string, T>>> {
  return {
    json: described({ type: 'object', additionalProperties: value.json }, about),
    fromTexts: parsed,
    read(given, path) {
      const entries = Object.entries(objectOf(given, path))
      // A key such as __proto__ must stay a key.
      const found = Object.create(null) as Record<string, T>
      for (const [key, one] of entries) found[key] = value.read(one, `${path}.${key}`)
      return { ...found }
    },
  }
}

/** An object with these keys. */
export function table<const Word extends string, T>(
  words: readonly Word[],
  value: Schema<T>,
): Schema<Readonly<Record<Word, T>>> {
  const fields = Object.fromEntries(words.map((word) => [word, value]))
  return object(fields) as unknown as Schema<Readonly<Record<Word, T>>>
}

/** An object with exactly these fields. */
export function object<const Fields extends Readonly<Record<string, AnySchema>>>(
  fields: Fields,
  about?: string,
): Schema<{ readonly [Key in keyof ObjectOf<Fields>]: ObjectOf<Fields>[Key] }> {
  const entries = Object.entries(fields)
  const required = entries.filter(([, field]) => !field.isOptional).map(([key]) => key)
  const properties = Object.fromEntries(entries.map(([key, field]) => [key, field.json]))
  return {
    json: described(
      {
        type: 'object',
        properties,
        ...(required.length > 0 ? { required } : {}),
        additionalProperties: false,
      },
      about,
    ),
    fields,
    fromTexts: parsed,
    read(value, path) {
      const given = objectOf(value, path)
      const found: Record<string, unknown> = {}
      for (const key of Object.keys(given)) {
        if (!Object.hasOwn(fields, key)) {
          const known = entries.length === 0 ? 'nothing' : entries.map(([name]) => name).join(', ')
          throw new SkepError(
            'OPTION_INVALID',
            `${path} has no field "${key.slice(0, 64)}". It takes: ${known}.`,
            {
              facts: { path: `${path}.${key.slice(0, 64)}` },
            },
          )
        }
      }
      for (const [key, field] of entries) {
        const one = Object.hasOwn(given, key) ? given[key] : undefined
        if (one === undefined && field.isOptional) continue
        if (one === undefined) throw invalid(`${path}.${key}`, 'given')
        found[key] = field.read(one, `${path}.${key}`)
      }
      return found as ReturnType<Schema<ObjectOf<Fields>>['read']>
    },
  }
}

/** The fields of both. */
export function extended<A, B>(
  base: Schema<A>,
  more: Schema<B>,
): Schema<{ readonly [Key in keyof (A & B)]: (A & B)[Key] }> {
  return object({ ...base.fields, ...more.fields }) as unknown as Schema<{
    readonly [Key in keyof (A & B)]: (A & B)[Key]
  }>
}

/**
 * An object of which only the given fields are validated, for unions that are too large for the reference. The type is given by
 * the caller.
 */
export function open<T extends object>(
  fields: { readonly [Key in keyof T]?: AnySchema },
  about: string,
): Schema<T> {
  const entries = Object.entries(fields) as [string, AnySchema][]
  return {
    json: described(
      {
        type: 'object',
        properties: Object.fromEntries(entries.map(([key, field]) => [key, field.json])),
        required: entries.filter(([, field]) => !field.isOptional).map(([key]) => key),
        additionalProperties: true,
      },
      about,
    ),
    fromTexts: parsed,
    read(value, path) {
      const given = objectOf(value, path)
      for (const [key, field] of entries) {
        const one = Object.hasOwn(given, key) ? given[key] : undefined
        if (one !== undefined || !field.isOptional) field.read(one, `${path}.${key}`)
      }
      return given as T
    },
  }
}

/** Names a schema, so that the OpenAPI document contains it once. */
export function named<T>(title: string, schema: Schema<T>): Schema<T> {
  return { ...schema, json: { title, ...schema.json } }
}

function objectOf(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(path, 'an object')
  return value as Record<string, unknown>
}

function described(schema: JsonSchema, about: string | undefined): JsonSchema {
  return about === undefined ? schema : { ...schema, description: about }
}
