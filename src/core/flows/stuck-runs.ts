/**
 * Whether a run can still move on. It moves when one of its jobs says that what it waits for has happened; if that job is
 * gone and the run has not moved, nobody will say it again.
 *
 * The facts are read in the order in which they come true: the run, then the group, then the jobs. A group that has fired
 * stays so, and a job that is gone does not come back; and whatever ends such a job by moving its run raises the run's
 * revision. So a move that names the revision that was read first is accepted only if all of it is true at that moment.
 */

import type { JobState } from '../jobs/job.ts'
import { type Group, type GroupEvent, trueEvents } from './groups.ts'

/** What a run waits for: a group, or the moment of a job. */
export interface Wait {
  /** Null: for a moment. Undefined: for a group that is not there any more. */
  readonly group: Group | null | undefined
  /** The job of that moment, or the one that was enqueued again for the group. Null: not known. */
  readonly job: string | null
}

/** What has to happen for a run to move on again. */
export type Remedy =
  /** Say again what happened. */
  | { readonly event: GroupEvent | 'moment' }
  /** It waits for something that nobody knows any more. */
  | 'lost'

/** The jobs that matter for a run, by id. */
export function jobsAwaited({ group, job }: Wait): readonly string[] {
  const own = job === null ? [] : [job]
  return group ? [...own, ...firedEvents(group).flatMap((event) => group.jobs[event]?.id ?? [])] : own
}

/** Null: it can move on. `stateOf` has the state of a job, or null if there is none. */
export function remedyFor(wait: Wait, stateOf: (job: string) => JobState | null): Remedy | null {
  const { group, job } = wait
  if (group === undefined) return 'lost'
  if (group === null && job === null) return null
  if (jobsAwaited(wait).some((id) => comes(stateOf(id)))) return null
  if (group === null) return { event: 'moment' }
  // What was true once may have been taken back by a retry: then the run goes on waiting.
  const isNow = trueEvents(group)
  const event = firedEvents(group).find((one) => isNow.includes(one))
  return event === undefined ? null : { event }
}

/** Events that have fired and for which there was a job: success first, because it ends all waiting. */
function firedEvents({ fired, jobs }: Group): readonly GroupEvent[] {
  return fired.filter((event) => jobs[event] !== undefined)
}

/** Whether a job will still be run, or waits for an operator: a dead one can be retried. */
function comes(state: JobState | null): boolean {
  return state !== null && state !== 'done' && state !== 'failed' && state !== 'cancelled'
}
