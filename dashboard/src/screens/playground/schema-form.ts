/**
 * Converts a JSON Schema to form fields; unsupported parts become a JSON editor. Schemas come from
 * application code and are not trusted: circular or very deep references become a JSON editor, too.
 */
export type Field =
  | (About & {
      readonly kind: 'text'
      readonly format: TextFormat
      readonly minLength: number | null
      readonly maxLength: number | null
      readonly pattern: string | null
    })
  | (About & {
      readonly kind: 'number'
      readonly isWhole: boolean
      readonly min: number | null
      readonly max: number | null
    })
  | (About & { readonly kind: 'boolean' })
  /** One of these values. */
  | (About & { readonly kind: 'choice'; readonly values: readonly unknown[] })
  | (About & { readonly kind: 'object'; readonly fields: readonly Property[] })
  | (About & {
      readonly kind: 'list'
      readonly item: Field
      readonly min: number
      readonly max: number | null
    })
  | (About & { readonly kind: 'json'; readonly why: string })

export interface About {
  readonly title: string | null
  readonly description: string | null
  /** The initial value; undefined if the schema has none. */
  readonly initial: unknown
  readonly isNullable: boolean
}

export interface Property {
  readonly key: string
  readonly field: Field
  readonly isRequired: boolean
}

export type TextFormat = 'plain' | 'long' | 'email' | 'url' | 'date' | 'date-time' | 'time' | 'uuid'

type Schema = Readonly<Record<string, unknown>>

const MAX_DEPTH = 8
const MAX_FIELDS = 200

/** The form of a schema. */
export function formOf(schema: unknown): Field {
  return new Reader(schema).read(schema, [])
}

class Reader {
  readonly #root: unknown
  #count = 0

  constructor(root: unknown) {
    this.#root = root
  }

  read(schema: unknown, seen: readonly unknown[]): Field {
    if (schema === true || schema === undefined || schema === null) return json({}, 'Any JSON value.')
    if (!isSchema(schema)) return json({}, 'The schema is invalid.')
    if (seen.length > MAX_DEPTH || seen.includes(schema)) return json(schema, 'Too deeply nested for a form.')
    this.#count += 1
    if (this.#count > MAX_FIELDS) return json(schema, 'Too many fields for a form.')
    const inside = [...seen, schema]
    if (typeof schema['$ref'] === 'string') {
      const target = this.#resolve(schema['$ref'])
      return target === undefined
        ? json(schema, `${schema['$ref']} is not in the schema.`)
        : this.read(target, inside)
    }
    const nullable = withoutNull(schema)
    if (nullable) return { ...this.read(nullable, inside), isNullable: true }
    if ('const' in schema) return { ...about(schema), kind: 'choice', values: [schema['const']] }
    if (Array.isArray(schema['enum'])) return { ...about(schema), kind: 'choice', values: schema['enum'] }
    for (const keyword of ['oneOf', 'anyOf'] as const) {
      const choices = constantsOf(schema[keyword])
      if (choices) return { ...about(schema), kind: 'choice', values: choices }
      if (schema[keyword] !== undefined) return json(schema, 'Several alternatives: enter JSON.')
    }
    if (Array.isArray(schema['allOf'])) return this.#all(schema, schema['allOf'], inside)
    return this.#typed(schema, inside)
  }

  #typed(schema: Schema, inside: readonly unknown[]): Field {
    switch (schema['type'] ?? (isSchema(schema['properties']) ? 'object' : undefined)) {
      case 'string':
        return {
          ...about(schema),
          kind: 'text',
          format: formatOf(schema),
          minLength: numberOr(schema['minLength'], null),
          maxLength: numberOr(schema['maxLength'], null),
          pattern: typeof schema['pattern'] === 'string' ? schema['pattern'] : null,
        }
      case 'number':
      case 'integer':
        return {
          ...about(schema),
          kind: 'number',
          isWhole: schema['type'] === 'integer',
          min: realBound(numberOr(schema['minimum'], numberOr(schema['exclusiveMinimum'], null))),
          max: realBound(numberOr(schema['maximum'], numberOr(schema['exclusiveMaximum'], null))),
        }
      case 'boolean':
        return { ...about(schema), kind: 'boolean' }
      case 'array':
        return this.#list(schema, inside)
      case 'object':
        return this.#object(schema, inside)
      default:
        return json(schema, 'Any JSON value.')
    }
  }

  #list(schema: Schema, inside: readonly unknown[]): Field {
    if (schema['prefixItems'] !== undefined || Array.isArray(schema['items'])) {
      return json(schema, 'A tuple: enter JSON.')
    }
    return {
      ...about(schema),
      kind: 'list',
      item: this.read(schema['items'], inside),
      min: numberOr(schema['minItems'], 0),
      max: numberOr(schema['maxItems'], null),
    }
  }

  #object(schema: Schema, inside: readonly unknown[]): Field {
    const properties = isSchema(schema['properties']) ? schema['properties'] : {}
    const keys = Object.keys(properties)
    const others = schema['additionalProperties']
    if (
      keys.length === 0 ||
      (others !== undefined && others !== false && others !== true && isSchema(others))
    ) {
      return json(schema, 'An object with arbitrary keys: enter JSON.')
    }
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    return {
      ...about(schema),
      kind: 'object',
      fields: keys.map((key) => ({
        key,
        field: this.read(properties[key], inside),
        isRequired: required.includes(key),
      })),
    }
  }

  /** An `allOf` of objects becomes one object with the fields of all. */
  #all(schema: Schema, parts: readonly unknown[], inside: readonly unknown[]): Field {
    const { allOf: _, ...own } = schema
    const all = [...parts, ...(own['properties'] === undefined ? [] : [own])].map((part) =>
      this.read(part, inside),
    )
    if (all.length === 1 && all[0]) return all[0]
    if (!all.every((field) => field.kind === 'object'))
      return json(schema, 'A combination of schemas: enter JSON.')
    const fields = new Map(all.flatMap((field) => field.fields.map((one) => [one.key, one] as const)))
    return { ...about(schema), kind: 'object', fields: [...fields.values()] }
  }

  #resolve(ref: string): unknown {
    if (ref === '#') return this.#root
    if (!ref.startsWith('#/')) return undefined
    let at: unknown = this.#root
    for (const part of ref.slice(2).split('/')) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
      at = (at as Schema)[key]
    }
    return at
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function about(schema: Schema): About {
  const examples = schema['examples']
  return {
    title: typeof schema['title'] === 'string' ? schema['title'] : null,
    description: typeof schema['description'] === 'string' ? schema['description'] : null,
    initial: schema['default'] ?? (Array.isArray(examples) ? examples[0] : undefined),
    isNullable: false,
  }
}

function json(schema: Schema, why: string): Field {
  return { ...about(schema), kind: 'json', why }
}

/** The schema without `null`, if it allows null. */
function withoutNull(schema: Schema): Schema | null {
  const { type } = schema
  if (Array.isArray(type) && type.includes('null')) {
    const others = type.filter((one) => one !== 'null')
    return others.length === 1 ? { ...schema, type: others[0] } : null
  }
  if (schema['nullable'] === true) return { ...schema, nullable: false }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const some = schema[keyword]
    if (!Array.isArray(some)) continue
    const others = some.filter((one) => !(isSchema(one) && one['type'] === 'null'))
    if (others.length === some.length || others.length === 0) continue
    const { [keyword]: _, ...rest } = schema
    return others.length === 1 && isSchema(others[0])
      ? { ...rest, ...others[0] }
      : { ...rest, [keyword]: others }
  }
  return null
}

/** The values, if all alternatives are constants. */
function constantsOf(some: unknown): readonly unknown[] | null {
  if (!Array.isArray(some) || some.length === 0) return null
  return some.every((one) => isSchema(one) && 'const' in one) ? some.map((one: Schema) => one['const']) : null
}

function formatOf(schema: Schema): TextFormat {
  switch (schema['format']) {
    case 'email':
    case 'date':
    case 'time':
    case 'date-time':
    case 'uuid':
      return schema['format']
    case 'uri':
    case 'url':
      return 'url'
    default:
      return numberOr(schema['maxLength'], 0) > 200 ? 'long' : 'plain'
  }
}

function numberOr<Other>(value: unknown, other: Other): number | Other {
  return typeof value === 'number' ? value : other
}

/** Some libraries express "any safe integer" as bounds. These are not worth showing. */
function realBound(bound: number | null): number | null {
  return bound !== null && Math.abs(bound) >= Number.MAX_SAFE_INTEGER ? null : bound
}
