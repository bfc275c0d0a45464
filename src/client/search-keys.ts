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
 * A store finds ready jobs by their lane and all others by their time: these are their places. It would look at each job for the
 * rest, however many there are; so that is asked here, within a budget. Few run at once, of those the store may be asked everything.
 */
export function byKey({ where, rest }: Asked, state: JobState): Asked {
  const { after, before, lane, text } = where
  if (state === 'running') return { where, rest }
  const asked: Where = {
    ...(text !== undefined && { text }),
    ...(state === 'ready'
      ? lane !== undefined && { lane }
      : { ...(after !== undefined && { after }), ...(before !== undefined && { before }) }),
  }
  const left =
    state === 'ready'
      ? after === undefined && before === undefined
        ? null
        : withinTime(after, before)
      : lane === undefined
        ? null
        : (job: Job) => (job.lane ?? DEFAULT_LANE) === lane
  if (left === null) return { where: asked, rest }
  return { where: asked, rest: rest === null ? left : (job) => left(job) && rest(job) }
}

function withinTime(after = -Infinity, before = Infinity): Predicate {
  return (job) => timeOf(job) >= after && timeOf(job) < before
}

/** Whether the store can count the jobs of a state without looking at them. */
export function isCountedByKey({ where, rest }: Asked, state: JobState): boolean {
  return state !== 'ready' && rest === null && where.lane === undefined && where.text === undefined
}
