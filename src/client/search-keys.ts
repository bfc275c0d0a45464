import type { Job, JobState } from '../core/job.ts'
import { DEFAULT_LANE } from '../core/lanes.ts'
import type { Predicate } from '../core/query-match.ts'
import { timeOf } from '../core/transitions.ts'
import type { Where } from '../store.ts'

/** What is asked of the store about the jobs of one state, and what of each job that it gives. */
export interface Asked {
  readonly where: Where
  readonly rest: Predicate | null
}

/**
 * A store finds ready jobs by their lane, and all others by their time, or by both if the lane is not the default one: these are
 * their places. It would look at each job for the rest, however many there are; so that is asked here, within a budget. Few run at
 * once, of those the store may be asked everything.
 */
export function byKey({ where, rest }: Asked, state: JobState): Asked {
  if (isByKey(where, state)) return { where, rest }
  const { after, before, lane, ...asked } = where
  const time = { ...(after !== undefined && { after }), ...(before !== undefined && { before }) }
  const left =
    state === 'ready' ? withinTime(after, before) : (job: Job) => (job.lane ?? DEFAULT_LANE) === lane
  return {
    where: state === 'ready' ? { ...asked, ...(lane !== undefined && { lane }) } : { ...asked, ...time },
    rest: rest === null ? left : (job) => left(job) && rest(job),
  }
}

/** Whether a store finds the jobs of a state by what is asked about their lane and time. */
export function isByKey({ after, before, lane }: Where, state: JobState): boolean {
  if (state === 'running') return true
  return state === 'ready' ? after === undefined && before === undefined : lane !== DEFAULT_LANE
}

function withinTime(after = -Infinity, before = Infinity): Predicate {
  return (job) => timeOf(job) >= after && timeOf(job) < before
}
