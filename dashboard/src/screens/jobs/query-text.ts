import type { JobState } from '../../ui/state.tsx'

/** Splits a query into its terms, unchanged. Spaces inside quotation marks do not separate terms. */
export function termsOf(query: string): readonly string[] {
  return query.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) ?? []
}

const STATE_TERM = /^state:[a-z,]*$/i

/** The states in a query; empty means all. */
export function statesIn(query: string): readonly JobState[] {
  return termsOf(query)
    .filter((term) => STATE_TERM.test(term))
    .flatMap((term) => term.slice('state:'.length).split(','))
    .filter((state) => state !== '') as JobState[]
}

/** The state and queue terms of a query. The number of such jobs is known from counters, without a scan. */
export function scopeOf(query: string): string {
  return termsOf(query)
    .filter((term) => STATE_TERM.test(term) || /^queue:[^"~]+$/.test(term))
    .join(' ')
}

/** The same query with another state; null for all states. */
export function withState(query: string, state: JobState | null): string {
  const rest = termsOf(query).filter((term) => !STATE_TERM.test(term))
  return [...(state === null ? [] : [`state:${state}`]), ...rest].join(' ')
}

/**
 * The queue, if a query consists of at most one queue: its counts are already known. Null for other queries.
 */
export function onlyQueueIn(query: string): { readonly queue: string | null } | null {
  const rest = termsOf(withState(query, null))
  if (rest.length === 0) return { queue: null }
  const [only = ''] = rest
  return rest.length === 1 && /^queue:[^\s",*~]+$/.test(only) ? { queue: only.slice('queue:'.length) } : null
}

/** Quotes a value for a query if needed. */
export function quoted(value: string): string {
  return /^[\w.:@/-]+$/.test(value) && !value.startsWith('-') ? value : JSON.stringify(value)
}

/** The term at the caret, and its start. */
export function termAt(query: string, caret: number): { readonly from: number; readonly text: string } {
  const before = query.slice(0, caret)
  const last = termsOf(before).at(-1) ?? ''
  return before.endsWith(last) && last !== ''
    ? { from: caret - last.length, text: last }
    : { from: caret, text: '' }
}
