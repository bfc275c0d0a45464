/** A value as it is in JSON: dates are ISO 8601 strings. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T

/** Converts dates to ISO 8601 strings and leaves out undefined fields. */
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
