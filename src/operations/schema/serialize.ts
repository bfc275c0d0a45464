import type { Wire } from './wire-types.ts'

/** A value as it is in JSON: moments become ISO texts, and fields that are undefined are left out. */
export function toWire<T>(value: T): Wire<T> {
  return plain(value) as Wire<T>
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const found: [string, unknown][] = []
  for (const [key, one] of Object.entries(value)) if (one !== undefined) found.push([key, plain(one)])
  // Not by assignment: a payload may have a field of the name __proto__.
  return Object.fromEntries(found)
}
