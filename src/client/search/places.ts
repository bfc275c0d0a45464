import { isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { listKey, timeOf } from '../../core/jobs/transitions.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import type { Predicate } from '../../core/query/match.ts'
import type { Where } from '../../store/store.ts'
import type { Place } from './cursor.ts'

/** Where jobs of several queues stand among each other, and what a store is asked for to get those on one side of a place. */

export function placeOf(job: Job): Place {
  return [listKey(job), job.queue, job.id]
}

/** Within one queue this is the order of the store. */
export function byPlace(state: JobState): (a: Place, b: Place) => number {
  const direction = isFinal(state) ? -1 : 1
  return ([timeA, queueA, idA], [timeB, queueB, idB]) =>
    direction * (timeA - timeB || compare(queueA, queueB) || compare(idA, idB))
}

/** The queues as they come in one moment, from the one on that the page before ended in. */
export function inTurn(
  pairs: readonly { readonly queue: string }[],
  state: JobState,
  from: string | undefined,
): string[] {
  const names = pairs.map(({ queue }) => queue).sort(compare)
  if (isFinal(state)) names.reverse()
  const at = Math.max(0, names.indexOf(from ?? ''))
  return [...names.slice(at), ...names.slice(0, at)]
}

/** Of what is wanted, that which a queue can have behind a place. */
export function behind(where: Where, state: JobState, [time, placeQueue]: Place, queue: string): Where {
  const { after = -Infinity, before = Infinity } = where
  // Of one time, finished jobs come by their queues too from the last to the first.
  if (isFinal(state)) return { ...where, before: Math.min(before, queue <= placeQueue ? time + 1 : time) }
  return { ...where, after: Math.max(after, queue >= placeQueue ? time : time + 1) }
}

/** Of what is wanted, that which a queue other than the place's can have before it. */
export function ahead(where: Where, state: JobState, [time, placeQueue]: Place, queue: string): Where {
  const { after = -Infinity, before = Infinity } = where
  if (isFinal(state)) return { ...where, after: Math.max(after, queue > placeQueue ? time : time + 1) }
  return { ...where, before: Math.min(before, queue < placeQueue ? time + 1 : time) }
}

export function isNothing({ after = -Infinity, before = Infinity }: Where): boolean {
  return after >= before
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

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
