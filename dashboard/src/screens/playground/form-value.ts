import type { Field } from './schema-form.ts'

/** The initial value of a form: required fields, with defaults from the schema. */
export function initialOf(field: Field): unknown {
  if (field.initial !== undefined) return field.initial
  if (field.isNullable) return null
  switch (field.kind) {
    case 'text':
      return ''
    case 'number':
      return field.min !== null && field.min > 0 ? field.min : 0
    case 'boolean':
      return false
    case 'choice':
      return field.values[0]
    case 'list':
      return Array.from({ length: Math.min(field.min, 20) }, () => initialOf(field.item))
    case 'object':
      return Object.fromEntries(
        field.fields
          .filter(({ isRequired, field: one }) => isRequired || one.initial !== undefined)
          .map(({ key, field: one }) => [key, initialOf(one)]),
      )
    case 'json':
      return {}
  }
}

export interface Problem {
  /** Such as `user.emails[0]`; empty for the whole value. */
  readonly path: string
  readonly text: string
}

/** Validates a value for the form. The server validates it again. */
export function problemsOf(field: Field, value: unknown, path = ''): readonly Problem[] {
  if (value === null && field.isNullable) return []
  const here = (text: string): readonly Problem[] => [{ path, text }]
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? textProblems(field, value, path) : here('must be a string')
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return here('must be a number')
      if (field.isWhole && !Number.isInteger(value)) return here('must be a whole number')
      if (field.min !== null && value < field.min) return here(`must be at least ${field.min}`)
      if (field.max !== null && value > field.max) return here(`must be at most ${field.max}`)
      return []
    case 'boolean':
      return typeof value === 'boolean' ? [] : here('must be true or false')
    case 'choice':
      return field.values.some((one) => JSON.stringify(one) === JSON.stringify(value))
        ? []
        : here('must be one of the options')
    case 'list': {
      if (!Array.isArray(value)) return here('must be a list')
      const inside = value.flatMap((item, index) => problemsOf(field.item, item, `${path}[${index}]`))
      if (value.length < field.min) return [...here(`must have at least ${field.min} items`), ...inside]
      if (field.max !== null && value.length > field.max)
        return [...here(`must have at most ${field.max} items`), ...inside]
      return inside
    }
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return here('must be an object')
      return field.fields.flatMap(({ key, field: one, isRequired }) => {
        const item = (value as Record<string, unknown>)[key]
        const at = path === '' ? key : `${path}.${key}`
        if (item === undefined) return isRequired ? [{ path: at, text: 'is required' }] : []
        return problemsOf(one, item, at)
      })
    }
    case 'json':
      return []
  }
}

const FORMATS: Partial<Record<string, readonly [RegExp, string]>> = {
  email: [/^[^\s@]+@[^\s@]+$/, 'must be an email address'],
  url: [/^[a-z][a-z0-9+.-]*:\S+$/i, 'must be a URL such as https://example.com'],
  date: [/^\d{4}-\d\d-\d\d$/, 'must be a date such as 2026-11-16'],
  time: [/^\d\d:\d\d/, 'must be a time such as 09:30:00Z'],
  'date-time': [/^\d{4}-\d\d-\d\dT\d\d:\d\d/, 'must be a timestamp such as 2026-11-16T09:30:00Z'],
  uuid: [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be a UUID'],
}

function textProblems(
  field: Extract<Field, { kind: 'text' }>,
  value: string,
  path: string,
): readonly Problem[] {
  const { minLength, maxLength, pattern, format } = field
  if (minLength !== null && value.length < minLength) {
    return [
      {
        path,
        text: value === '' && minLength === 1 ? 'is required' : `must have at least ${minLength} characters`,
      },
    ]
  }
  if (maxLength !== null && value.length > maxLength)
    return [{ path, text: `must have at most ${maxLength} characters` }]
  const known = FORMATS[format]
  if (known && !known[0].test(value)) return [{ path, text: known[1] }]
  // The message of a known format is easier to read than its pattern.
  if (!known && pattern !== null && !matches(pattern, value)) return [{ path, text: `must match ${pattern}` }]
  return []
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    // The server checks patterns that the browser does not support.
    return true
  }
}
