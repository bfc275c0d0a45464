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
import { createHash } from 'node:crypto'
import { REST_OF_CHAIN } from '../core/chains.ts'
import { isFinal, type Job, type NewJob } from '../core/job.ts'
import { flowOfQueue } from '../flows/queues.ts'
import { type Notifier, namingHints } from '../notifier.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'
import { copyOf } from './again.ts'
import { changeJobs } from './manage.ts'

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
