/** Splits a query into the part that a store can evaluate and the rest, which is tested job by job. */

import type { JobState } from '../jobs/job.ts'
import { matches as fitsPattern } from '../lanes/holds.ts'
import { type Predicate, predicateOf, type QueryEnv } from './match.ts'
import type { Query, Term, Value } from './query.ts'
import { momentOf } from './timestamp.ts'

/** The default order of listed states: current work, upcoming work, what needs attention, finished work. */
export const LISTED_STATES: readonly JobState[] = [
  'running',
  'ready',
  'delayed',
  'dead',
  'failed',
  'done',
  'cancelled',
]

export interface QueryPlan {
  /** The states that can match, in the order in which they were named. */
  readonly states: readonly JobState[]
  /** Whether the query mentions states. */
  readonly saysStates: boolean
  /** The states that it names, as opposed to those it only excludes. */
  readonly namedStates: readonly JobState[]
  /** The queues by name; null if they have to be found with {@link fitsQueue}. */
  readonly queues: readonly string[] | null
  readonly fitsQueue: (name: string) => boolean
  /** The only jobs that can match; null if it names none. */
  readonly ids: readonly string[] | null
  readonly where: { readonly after?: number; readonly before?: number; readonly lane?: string }
  /** The test for each job besides; null if none. */
  readonly rest: Predicate | null
  /** The whole query, for jobs found in another way. */
  readonly fits: Predicate
  /** It mentions only states and queues, so counters can answer it. */
  readonly isCounted: boolean
}

export function planQuery(query: Query, env: QueryEnv): QueryPlan {
  const { terms } = query
  const stateTerms = terms.filter(({ field }) => field === 'state')
  const queueTerms = terms.filter(({ field }) => field === 'queue')
  const named = stateTerms.find(({ isNegated }) => !isNegated)
  const states = ((named ? textsOf(named) : LISTED_STATES) as readonly JobState[]).filter((state) =>
    stateTerms.every((term) => textsOf(term).includes(state) !== term.isNegated),
  )
  const fitsQueue = (name: string): boolean =>
    queueTerms.every((term) => term.values.some((value) => fitsName(name, value)) !== term.isNegated)
  const pushed = new Set<Term>([...stateTerms, ...queueTerms])
  const where: { after?: number; before?: number; lane?: string } = {}
  for (const term of terms) {
    if (narrow(where, term, env)) pushed.add(term)
  }
  const rest = terms.filter((term) => !pushed.has(term))
  return {
    states: [...new Set(states)],
    saysStates: stateTerms.length > 0,
    namedStates: named ? ([...new Set(textsOf(named))] as JobState[]) : [],
    queues: namesIn(queueTerms)?.filter(fitsQueue) ?? null,
    fitsQueue,
    ids: idsIn(terms),
    where,
    rest: rest.length === 0 ? null : predicateOf(rest, env),
    fits: predicateOf(terms, env),
    isCounted: terms.length === stateTerms.length + queueTerms.length,
  }
}

/** Adds a term about times or the lane to `where`, for the store. False if it is of another kind. */
function narrow(
  where: { after?: number; before?: number; lane?: string },
  { field, values, isNegated }: Term,
  { now }: QueryEnv,
): boolean {
  const [value, another] = values as [Value, Value?]
  if (field === 'since' || field === 'before') {
    const moment = momentOf(value.text, now)
    if ((field === 'since') !== isNegated) where.after = Math.max(where.after ?? -Infinity, moment)
    else where.before = Math.min(where.before ?? Infinity, moment)
    return true
  }
  if (field !== 'lane' || isNegated || another || value.operator !== '=' || value.isPattern) return false
  if (where.lane !== undefined) return false
  where.lane = value.text
  return true
}

function textsOf({ values }: Term): string[] {
  return values.map(({ text }) => text)
}

/** The names of the queues, if a term consists of names only. */
function namesIn(queueTerms: readonly Term[]): string[] | null {
  const term = queueTerms.find(
    ({ isNegated, values }) =>
      !isNegated && values.every(({ operator, isPattern }) => operator === '=' && !isPattern),
  )
  return term ? [...new Set(textsOf(term))] : null
}

function idsIn(terms: readonly Term[]): string[] | null {
  const term = terms.find(({ field, isNegated }) => field === 'id' && !isNegated)
  return term ? [...new Set(textsOf(term))] : null
}

function fitsName(name: string, { operator, text, isPattern }: Value): boolean {
  if (operator === '~') return name.toLowerCase().includes(text.toLowerCase())
  return isPattern ? fitsPattern(text, name) : name === text
}
