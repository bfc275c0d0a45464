import { ExactNumber } from '../api/exact.ts'

type Schema = Readonly<Record<string, unknown>>

const MAX_ERRORS = 8

/**
 * Validates a value against the common keywords of JSON Schema (types, required, properties, items, enum,
 * bounds). It is a hint while typing: unknown keywords are ignored, and the server validates again.
 */
export function faultsOf(schema: unknown, value: unknown): readonly string[] {
  const faults: string[] = []
  check(schema, value, 'payload', faults, schema)
  return faults.slice(0, MAX_ERRORS)
}

function check(schema: unknown, value: unknown, path: string, faults: string[], root: unknown): void {
  if (!isSchema(schema) || faults.length >= MAX_ERRORS) return
  const known = typeof schema['$ref'] === 'string' ? resolveRef(root, schema['$ref']) : schema
  if (!isSchema(known)) return
  const types = [known['type'] ?? []].flat() as string[]
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    faults.push(`${path} should be ${types.join(' or ')}`)
    return
  }
  const allowed = known['enum']
  if (Array.isArray(allowed) && !allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))) {
    faults.push(`${path} should be one of ${allowed.map((one) => JSON.stringify(one)).join(', ')}`)
  }
  if ('const' in known && JSON.stringify(known['const']) !== JSON.stringify(value)) {
    faults.push(`${path} should be ${JSON.stringify(known['const'])}`)
  }
  if (typeof value === 'number') checkNumber(known, value, path, faults)
  if (typeof value === 'string') checkString(known, value, path, faults)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      check(known['items'], item, `${path}[${index}]`, faults, root)
  } else if (isSchema(value) && !(value instanceof ExactNumber)) checkObject(known, value, path, faults, root)
  const branches = known['anyOf'] ?? known['oneOf']
  if (Array.isArray(branches) && !branches.some((branch) => fits(branch, value, path, root))) {
    faults.push(`${path} matches none of the ${branches.length} alternatives`)
  }
}

function fits(branch: unknown, value: unknown, path: string, root: unknown): boolean {
  const own: string[] = []
  check(branch, value, path, own, root)
  return own.length === 0
}

function checkObject(schema: Schema, value: Schema, path: string, faults: string[], root: unknown): void {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  for (const name of (schema['required'] ?? []) as string[]) {
    if (!Object.hasOwn(value, name)) faults.push(`${path}.${name} is missing`)
  }
  for (const [name, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) check(properties[name], item, `${path}.${name}`, faults, root)
    else if (schema['additionalProperties'] === false) faults.push(`${path}.${name} is not in the schema`)
  }
}

function checkNumber({ minimum, maximum }: Schema, value: number, path: string, faults: string[]): void {
  if (typeof minimum === 'number' && value < minimum) faults.push(`${path} should be at least ${minimum}`)
  if (typeof maximum === 'number' && value > maximum) faults.push(`${path} should be at most ${maximum}`)
}

function checkString({ minLength, maxLength }: Schema, value: string, path: string, faults: string[]): void {
  if (typeof minLength === 'number' && value.length < minLength)
    faults.push(`${path} should have at least ${minLength} characters`)
  if (typeof maxLength === 'number' && value.length > maxLength)
    faults.push(`${path} should have at most ${maxLength} characters`)
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value) || value instanceof ExactNumber
  if (type === 'number') return typeof value === 'number' || value instanceof ExactNumber
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'object') return isSchema(value) && !(value instanceof ExactNumber)
  return typeof value === type
}

function resolveRef(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (at, part) => (isSchema(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      root,
    )
}
