import type { JobState } from '../../ui/state.tsx'

/** A query cut into its terms, as they stand: a blank inside of quotation marks does not end one. */
export function termsOf(query: string): readonly string[] {
  return query.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) ?? []
}

const STATE_TERM = /^state:[a-z,]*$/i

/** The states that a query asks for; empty: all. */
export function statesIn(query: string): readonly JobState[] {
  return termsOf(query)
    .filter((term) => STATE_TERM.test(term))
    .flatMap((term) => term.slice('state:'.length).split(','))
    .filter((state) => state !== '') as JobState[]
}

/** The states and queues of a query, without what is asked of each job: the counters know how many jobs those are. */
export function scopeOf(query: string): string {
  return termsOf(query)
    .filter((term) => STATE_TERM.test(term) || /^queue:[^"~]+$/.test(term))
    .join(' ')
}

/** The same query for other states; null: for all. */
export function withState(query: string, state: JobState | null): string {
  const rest = termsOf(query).filter((term) => !STATE_TERM.test(term))
  return [...(state === null ? [] : [`state:${state}`]), ...rest].join(' ')
}

/** If a query asks for nothing but one queue, or for nothing at all, its counts are known already. */
export function onlyQueueIn(query: string): { readonly queue: string | null } | null {
  const rest = termsOf(withState(query, null))
  if (rest.length === 0) return { queue: null }
  const [only = ''] = rest
  return rest.length === 1 && /^queue:[^\s",*~]+$/.test(only) ? { queue: only.slice('queue:'.length) } : null
}

/** Puts a value into a query so that it is read as it is. */
export function quoted(value: string): string {
  return /^[\w.:@/-]+$/.test(value) && !value.startsWith('-') ? value : JSON.stringify(value)
}

/** The term in which the caret stands, with where it begins. */
export function termAt(query: string, caret: number): { readonly from: number; readonly text: string } {
  const before = query.slice(0, caret)
  const last = termsOf(before).at(-1) ?? ''
  return before.endsWith(last) && last !== ''
    ? { from: caret - last.length, text: last }
    : { from: caret, text: '' }
}
