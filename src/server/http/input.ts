import { SkepError } from '../../index.ts'
import type { AnySchema } from '../../operations/schema/schema.ts'

/** The input of an operation, from its path and its query string. What the schema does not know it refuses later. */
export function inputFromQuery(
  schema: AnySchema,
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const key of new Set(query.keys())) {
    if (key === 'space') continue
    const texts = query.getAll(key)
    const field = schema.fields && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined
    Object.defineProperty(input, key, {
      value: field ? field.fromTexts(texts) : texts[0],
      enumerable: true,
    })
  }
  return { ...input, ...fromPath(schema, params) }
}

/** The input of an operation, from its path and its body. */
export function inputFromBody(
  schema: AnySchema,
  params: Readonly<Record<string, string>>,
  body: unknown,
): Record<string, unknown> {
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw new SkepError('REQUEST_INVALID', 'The body must be a JSON object with the fields of the input.')
  }
  return { ...(body as object | undefined), ...fromPath(schema, params) }
}

function fromPath(schema: AnySchema, params: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([key, value]) => [key, schema.fields?.[key]?.fromTexts([value]) ?? value]),
  )
}
