/**
 * Whether a run can still move. It moves when one of its jobs reports that what it waits for has happened; if
 * that job is gone and the run has not moved, the report will never come again.
 *
 * The facts are read in the order in which they become true: the run, then the group, then the jobs. A fired
 * group stays fired, a removed job does not return, and anything that ends such a job by moving its run
 * raises the revision. So a move that names the revision read first is accepted only if all facts still hold.
 */

import type { JobState } from '../jobs/job.ts'
import { type Group, type GroupEvent, trueEvents } from './groups.ts'

/** What a run waits for: a group, or the timer of a job. */
export interface Wait {
  /** Null: a timer. Undefined: a group that no longer exists. */
  readonly group: Group | null | undefined
  /** The timer's job, or the one enqueued again for the group. Null: unknown. */
  readonly job: string | null
}

/** What makes a run move again. */
export type Remedy =
  /** Report the event again. */
  | { readonly event: GroupEvent | 'moment' }
  /** It waits for something that no longer exists. */
  | 'lost'

export function jobsAwaited({ group, job }: Wait): readonly string[] {
  const own = job === null ? [] : [job]
  return group ? [...own, ...firedEvents(group).flatMap((event) => group.jobs[event]?.id ?? [])] : own
}

/** Null: it can move. `stateOf` returns the state of a job, or null if it does not exist. */
export function remedyFor(wait: Wait, stateOf: (job: string) => JobState | null): Remedy | null {
  const { group, job } = wait
  if (group === undefined) return 'lost'
  if (group === null && job === null) return null
  if (jobsAwaited(wait).some((id) => comes(stateOf(id)))) return null
  if (group === null) return { event: 'moment' }
  // A retry may have taken back what was once true: then the run keeps waiting.
  const isNow = trueEvents(group)
  const event = firedEvents(group).find((one) => isNow.includes(one))
  return event === undefined ? null : { event }
}

/** Fired events that have a job: success first, because it ends all waiting. */
function firedEvents({ fired, jobs }: Group): readonly GroupEvent[] {
  return fired.filter((event) => jobs[event] !== undefined)
}

/** Whether a job will still run, or waits for an operator: a dead one can be retried. */
function comes(state: JobState | null): boolean {
  return state !== null && state !== 'done' && state !== 'failed' && state !== 'cancelled'
}
