import { parseQuery, printQuery, QUERY_LIMITS, SkepError } from '../../index.ts'
import type { Caller } from '../operation.ts'
import { seesAll } from './authorize-output.ts'

/** A query as it counts for the caller: only its queues, however it is asked. What it may look into is judged in `matching.ts`. */
export function scopedQuery(caller: Caller, query: string): string {
  if (seesAll(caller)) return query
  if (caller.queues.length === 0) throw new SkepError('FORBIDDEN', 'This credential is for no queue at all.')
  const values = caller.queues.map(
    (text) => ({ operator: '=', text, isPattern: text.includes('*') }) as const,
  )
  const { terms } = parseQuery(query)
  const scoped = printQuery({ terms: [...terms, { isNegated: false, field: 'queue', path: [], values }] })
  if (scoped.length <= QUERY_LIMITS.characters) return scoped
  throw new SkepError(
    'OPTION_INVALID',
    'With the queues of this credential the query is too long. Shorten it.',
  )
}
