import { type OperationName, operationNamed } from '../table.ts'
import type { JsonSchema } from './schema.ts'
import type { Wire } from './serialize.ts'

/** The answer of an operation with dates where it has moments. Its schema says where these are, so a payload stays as it is. */
export function revived<T>(name: OperationName, answer: Wire<T>): T {
  return dated(operationNamed(name)?.output.json ?? {}, answer) as T
}

function dated(schema: JsonSchema, value: unknown): unknown {
  if (value === null || value instanceof Date) return value
  if (typeof value === 'string') return isMoment(schema) ? new Date(value) : inOneOf(schema, value)
  if (typeof value !== 'object') return value
  const { items, properties, additionalProperties } = schema as {
    readonly items?: JsonSchema
    readonly properties?: Readonly<Record<string, JsonSchema>>
    readonly additionalProperties?: JsonSchema | boolean
  }
  if (Array.isArray(value)) {
    return items === undefined ? inOneOf(schema, value) : value.map((one) => dated(items, one))
  }
  if (properties === undefined && typeof additionalProperties !== 'object') return inOneOf(schema, value)
  const fieldOf = (key: string): JsonSchema | undefined => {
    if (properties && Object.hasOwn(properties, key)) return properties[key]
    return typeof additionalProperties === 'object' ? additionalProperties : undefined
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const field = fieldOf(key)
      return [key, field === undefined ? one : dated(field, one)]
    }),
  )
}

function isMoment({ format }: JsonSchema): boolean {
  return format === 'date-time'
}

/** What may be one of several is what the first of them makes of it that makes something of it. */
function inOneOf({ anyOf }: JsonSchema, value: unknown): unknown {
  for (const one of (anyOf ?? []) as readonly JsonSchema[]) {
    const made = dated(one, value)
    if (made !== value) return made
  }
  return value
}
