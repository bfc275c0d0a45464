/** The text of an SQL array. Names and free texts alike: quotes and backslashes are escaped, null stays null. */
export function arrayOf(values: readonly (string | number | null)[]): string {
  let text = '{'
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as string | number | null
    if (i > 0) text += ','
    if (value === null) text += 'NULL'
    else if (typeof value === 'number') text += value
    else text += `"${value.replace(/["\\]/g, '\\$&')}"`
  }
  return `${text}}`
}

/** The text of an SQL array of things that need no quotes: ids. */
export function idArrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}

/**
 * The text of an array in which equal values are written once: one element stands for all, none for all null. The SQL
 * side reads it so, see `migrations/insert-function.ts`.
 */
export function columnOf<T extends string | number | null>(values: readonly T[]): string {
  if (values.length === 0) return '{}'
  const first = values[0] as T
  if (values.every((value) => value === first)) return first === null ? '{}' : arrayOf([first])
  return arrayOf(values)
}

/** The same of ids: without quotes, which both sides would have to read. */
export function idColumnOf(ids: readonly (string | null)[]): string {
  const first = ids[0] ?? null
  if (ids.every((id) => id === first)) return first === null ? '{}' : idArrayOf([first])
  return idArrayOf(ids.map((id) => id ?? 'NULL'))
}

/** Stands between texts in one parameter. JSON text cannot hold it, so nothing has to be escaped. */
export const SEPARATOR = '\x1e'

/** All texts in one, for `string_to_array(…, chr(30))`; null if one of them is empty or holds the separator. */
export function joined(texts: readonly string[]): string | null {
  return texts.includes('') ? null : apart(texts, texts.join(SEPARATOR))
}

/** The same with texts that may be null, for `string_to_array(…, chr(30), '')`. */
export function joinedOrNull(texts: readonly (string | null)[]): string | null {
  // What is null is empty in it.
  return texts.includes('') ? null : apart(texts, texts.join(SEPARATOR))
}

/** The text, if it can be taken apart again. */
function apart({ length }: readonly unknown[], text: string): string | null {
  let separators = 0
  for (let at = text.indexOf(SEPARATOR); at >= 0; at = text.indexOf(SEPARATOR, at + 1)) separators++
  return separators === length - 1 ? text : null
}

/** Sorts before every id. */
export const LOWEST_ID = '00000000-0000-0000-0000-000000000000'
/** Sorts after every id. */
export const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Before and after every moment and rank, and still exact as a number. */
export const LOWEST: number = -Number.MAX_SAFE_INTEGER
export const HIGHEST: number = Number.MAX_SAFE_INTEGER
