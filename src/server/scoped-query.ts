import { parseQuery, printQuery, QUERY_LIMITS, SkepError } from '../index.ts'
import type { Caller } from './operation.ts'
import { seesAll } from './visible.ts'

/** Fields of the query language that tell what is in payloads and results. */
const CONTENT = new Set(['payload', 'result', 'text'])

/**
 * A query as it counts for the caller: only its queues, however it is asked. Whoever may not see payloads may not ask for what is in
 * them either, because each answer would tell a bit of it.
 */
export function scopedQuery(caller: Caller, query: string): string {
  const { terms } = parseQuery(query)
  const field = terms.find((term) => CONTENT.has(term.field))?.field
  if (field !== undefined && !caller.payloads) {
    const what = field === 'text' ? 'Free text looks' : `"${field}" looks`
    throw new SkepError('FORBIDDEN', `${what} into payloads and results, which this credential may not see.`)
  }
  if (seesAll(caller)) return query
  if (caller.queues.length === 0) throw new SkepError('FORBIDDEN', 'This credential is for no queue at all.')
  const values = caller.queues.map(
    (text) => ({ operator: '=', text, isPattern: text.includes('*') }) as const,
  )
  const scoped = printQuery({ terms: [...terms, { isNegated: false, field: 'queue', path: [], values }] })
  if (scoped.length <= QUERY_LIMITS.characters) return scoped
  throw new SkepError(
    'OPTION_INVALID',
    'With the queues of this credential the query is too long. Shorten it.',
  )
}
