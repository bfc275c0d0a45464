import { SkepError } from '../core/errors.ts'
import { isFinal, type Job, type JobState } from '../core/job.ts'
import type { QueryPlan } from '../core/query-plan.ts'
import { type ChangeAction, POSSIBLE } from '../core/transitions.ts'
import type { BulkAction } from './bulk-record.ts'
import { assertPossible, USUAL } from './manage.ts'
import type { Wanted } from './search.ts'

/** The store's word for it. What is moved is removed from where it was. */
export function changeActionOf(action: BulkAction): ChangeAction {
  return action === 'retry' ? 'redrive' : action === 'move' ? 'remove' : action
}

/**
 * Which jobs a bulk action is about: those that fit its query, in states in which it is possible. If the query says nothing of
 * states, the usual ones, as for a single call: of a retry the dead, of a removal those that are finished.
 *
 * `bound` is the moment of its beginning: what comes to fit later is left alone, or jobs that fail again at once would be retried
 * for ever. Infinity: no bound.
 */
export function wantedBy(action: BulkAction, plan: QueryPlan, bound: number): Wanted {
  const states = statesFor(action, plan)
  const isInTime = boundOf(action, bound)
  const { rest, where } = plan
  const before = Math.min(where.before ?? Infinity, bound + 1)
  return {
    states,
    queues: plan.queues,
    fitsQueue: plan.fitsQueue,
    ids: plan.ids,
    // They come back in their order, also in strict lanes.
    oldestFirst: action === 'retry',
    where: states.every(isFinal) && before < Infinity ? { ...where, before } : where,
    rest: bound === Infinity ? rest : (job) => isInTime(job) && (rest === null || rest(job)),
    fits: (job) => states.includes(job.state) && isInTime(job) && plan.fits(job),
  }
}

function statesFor(bulk: BulkAction, plan: QueryPlan): readonly JobState[] {
  const { namedStates, saysStates, states } = plan
  const action = changeActionOf(bulk)
  if (namedStates.length > 0) assertPossible(action, states)
  const unsaid = bulk === 'move' ? POSSIBLE.bury : USUAL[action]
  const usual = saysStates ? POSSIBLE[action] : unsaid
  const chosen = namedStates.length > 0 ? states : usual.filter((state) => states.includes(state))
  if (chosen.length > 0) return chosen
  throw new SkepError('OPTION_INVALID', `No job in a state that this query allows can be changed by ${bulk}.`)
}

/**
 * Cancelled, buried, moved and removed jobs do not come back, and a priority or a moment is given once; but what is finished must have been so at the
 * beginning, and what is made due must not have run since.
 */
function boundOf(action: BulkAction, bound: number): (job: Job) => boolean {
  return ({ enqueuedAt, startedAt, finishedAt, state, generation, dueAt }) =>
    enqueuedAt <= bound &&
    (!isFinal(state) || (finishedAt ?? 0) <= bound) &&
    (action !== 'promote' || (startedAt ?? 0) <= bound) &&
    // What this very action has redriven is due at its beginning, and may have failed again in that same moment.
    (action !== 'retry' || generation === 0 || dueAt !== bound)
}
