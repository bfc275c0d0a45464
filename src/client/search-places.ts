/** Where jobs of several queues stand among each other, and what a store is asked for to get those on one side of a place. */
import { isFinal, type Job, type JobState } from '../core/job.ts'
import { listKey } from '../core/transitions.ts'
import type { Where } from '../store.ts'
import type { Place } from './search-cursor.ts'

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
