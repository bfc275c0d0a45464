import { createHash } from 'node:crypto'
import { SkepError } from '../../core/errors.ts'
import { REST_OF_CHAIN } from '../../core/flows/chains.ts'
import { isFinal, type Job, type JobState, type NewJob } from '../../core/jobs/job.ts'
import { type ChangeAction, POSSIBLE } from '../../core/jobs/transitions.ts'
import type { QueryPlan } from '../../core/query/plan.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import { type Notifier, namingHints } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { copyOf } from '../enqueue/copy-job.ts'
import { assertPossible, changeJobs, USUAL } from '../jobs/change.ts'
import type { Wanted } from '../search/search.ts'
import type { BulkAction } from './record.ts'

/**
 * Moves jobs into another queue. A job cannot leave its queue, so a copy of it is made there and the old one is removed. Each step can be
 * repeated, and none of them lets a job run twice or vanish:
 *
 * 1. What waits is buried, so that nobody starts it any more; what was started meanwhile is refused.
 * 2. The copy is inserted, with an id that follows from the action and from the old one: a second insert does nothing.
 * 3. The old one is removed.
 *
 * Whoever goes on after a crash finds the old one among the dead, or not any more.
 */

export interface MoveEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
}

export interface Move {
  /** The id of the action. */
  readonly id: string
  readonly queue: string
  readonly jobs: readonly string[]
}

/** Buried jobs of a move that nobody ends are kept for so long. */
const KEEP = '30d'

export async function moveJobs(
  env: MoveEnv,
  { id, queue, jobs: wanted }: Move,
): Promise<{ readonly changed: number; readonly refused: number }> {
  const { store, notifier, space } = env
  const { jobs } = await store.get({ space, ids: wanted })
  const found = jobs.filter((job): job is Job => job !== null)
  const movable = found.filter((job) => isMovable(job, queue))
  const waiting = movable.filter(({ state }) => !isFinal(state)).map((job) => job.id)
  const reason = `Moved to ${queue}.`
  const { refused } = await changeJobs(env, 'bury', waiting, { reason, keep: KEEP })
  const started = new Set(refused.map((one) => one.id))
  const leaving = movable.filter((job) => !started.has(job.id))
  if (leaving.length > 0) {
    const copies = leaving.map((job) => copyIn(env, job, { id, queue }))
    await store.insert({ jobs: copies, again: true })
    notifier.publish(namingHints(copies.map((copy) => ({ ...copy, dueAt: copy.runAt ?? 0 }))))
    await changeJobs(
      env,
      'remove',
      leaving.map((job) => job.id),
      { reason, keep: 0 },
    )
  }
  // What is not there any more was moved by whoever tried before.
  return { changed: leaving.length + wanted.length - found.length, refused: found.length - leaving.length }
}

/** What belongs to a flow, a group or a chain is waited for by its id, or carries what comes after it. */
function isMovable({ queue, state, member, headers }: Job, to: string): boolean {
  const isAlone = member === null && flowOfQueue(queue) === null && !headers?.includes(REST_OF_CHAIN)
  return isAlone && state !== 'running' && queue !== to
}

function copyIn(env: MoveEnv, job: Job, { id, queue }: Pick<Move, 'id' | 'queue'>): NewJob {
  const copy = copyOf(job, { queue }, { runtime: env.runtime, payloadBytes: 0 })
  return { ...copy, id: movedId(id, job.id), runAt: job.dueAt }
}

/** As old as the job, so that it is found where that was; the rest follows from both. */
function movedId(action: string, job: string): string {
  const hash = createHash('sha256').update(`${action} ${job}`).digest('hex')
  return `${job.slice(0, 14)}7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}

/** The store's word for it. What is moved is removed from where it was. */
export function changeActionOf(action: BulkAction): ChangeAction {
  return action === 'retry' ? 'retry' : action === 'move' ? 'remove' : action
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
    // What this very action has retried is due at its beginning, and may have failed again in that same moment.
    (action !== 'retry' || generation === 0 || dueAt !== bound)
}
