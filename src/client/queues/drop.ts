import { SkepError } from '../../core/errors.ts'
import { manyText } from '../../core/format.ts'
import { FINAL_STATES } from '../../core/jobs/job.ts'
import { isLiveWorker } from '../../core/jobs/unhandled.ts'
import type { Hold } from '../../core/lanes/holds.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { LimitRecord } from '../../store/limits.ts'
import { type ListReply, type QueueCounts, storedStates } from '../../store/store.ts'
import { changeJobs } from '../jobs/change.ts'
import { type PurgeableState, purgeJobs } from '../jobs/purge.ts'
import { CARD_KIND } from './declarations.ts'
import { type HoldEnv, hold, release, wake } from './holds.ts'

export interface DropOptions {
  /** Removes the jobs that wait, too. Running jobs and live workers still refuse the drop. @default false */
  readonly force?: boolean
  /** Only count what would be removed, and change nothing. It is refused when the drop would be. @default false */
  readonly dryRun?: boolean
}

const KEYS = optionKeys<DropOptions>('queues.drop()', { force: true, dryRun: true })

/** What a drop removed, or what a dry run would have it remove. */
export interface DropSummary {
  readonly queue: string
  readonly dryRun: boolean
  /** Whether there was anything under this name. False: the queue does not exist, or was dropped before. */
  readonly known: boolean
  /** Jobs in all. */
  readonly jobs: number
  /** In each state. */
  readonly states: Readonly<Record<PurgeableState, number>>
  /** Limits of the queue and of its lanes. */
  readonly limits: number
  /** Holds on the queue and on its lanes. */
  readonly holds: number
}

/** Marks the block of a drop, so that the next drop continues an interrupted one and leaves an operator's block alone. */
const REASON = 'The queue is being dropped.'
/** After an interrupted drop the queue runs again by itself. */
const BLOCKED_FOR = '1h'
/** Jobs, limits and holds that one call reads or changes. */
const PAGE = 200
/** Workers that an error names. */
const NAMED = 10

/**
 * Removes a queue with all that is stored under its name. The order makes it repeatable: a block keeps workers away, the jobs go
 * first, then limits and declaration, and the holds last. What an interrupted drop left is removed by the next one.
 */
export async function dropQueue(
  env: HoldEnv,
  given: string | { readonly name: string },
  options: DropOptions,
): Promise<DropSummary> {
  assertOptions(KEYS, options)
  const { force = false, dryRun = false } = options
  for (const [name, value] of Object.entries({ force, dryRun })) {
    if (typeof value !== 'boolean')
      throw new SkepError('OPTION_INVALID', `${name} is ${show(value)}; use true or false.`)
  }
  const queue = typeof given === 'string' ? given : given?.name
  assertName('Queue', queue)
  await env.readyToWrite()

  const { limits, holds, hasCard } = await leftovers(env, queue)
  const isBlocked = holds.some((one) => one.kind === 'block' && one.lane === null && one.reason !== REASON)
  let isOurs = holds.some(({ reason }) => reason === REASON)
  try {
    const found = await look(env, queue)
    assertUnused(queue, found, force)
    const summary = {
      queue,
      dryRun,
      known: found.jobs > 0 || limits.length > 0 || holds.length > 0 || hasCard,
      limits: limits.length,
      holds: holds.filter(({ reason }) => reason !== REASON).length,
    }
    if (dryRun || !summary.known) return { ...summary, ...found.removable }

    isOurs = !isBlocked
    if (isOurs) await hold(env, 'block', queue, { reason: REASON, for: BLOCKED_FOR })
    const removed = await removeJobs(env, queue, force)
    await removeRest(env, queue)
    // A producer that came last keeps the queue alive, and the caller has to know.
    assertUnused(queue, await look(env, queue), false)
    env.logger.info(`Queue ${show(queue)} was dropped.`)
    return { ...summary, ...removed }
  } catch (error) {
    // If this fails too, the block ends by itself.
    if (isOurs && !dryRun) await release(env, 'block', queue, {}).catch(() => {})
    throw error
  }
}

type Removed = Pick<DropSummary, 'jobs' | 'states'>

interface Found {
  readonly waiting: number
  readonly running: number
  readonly jobs: number
  readonly removable: Removed
  /** Live workers that handle the queue. */
  readonly workers: readonly string[]
  /** The time of the store's clock. */
  readonly now: number
}

async function look({ patient, space }: HoldEnv, queue: string): Promise<Found> {
  const [{ queues, now }, { workers }] = await Promise.all([
    patient.counts({ space, queues: [queue] }),
    patient.workers({ space }),
  ])
  const { running, ...states } = storedStates(queues[0] as QueueCounts)
  const removable = removedOf(states)
  return {
    waiting: states.ready + states.delayed,
    running,
    jobs: removable.jobs + running,
    removable,
    workers: workers
      .filter((worker) => worker.queues.includes(queue) && isLiveWorker(worker, now))
      .map(({ id }) => id),
    now,
  }
}

function removedOf(states: Readonly<Record<PurgeableState, number>>): Removed {
  return { jobs: Object.values(states).reduce((sum, jobs) => sum + jobs, 0), states }
}

function assertUnused(queue: string, { waiting, running, workers }: Found, force: boolean): void {
  const [worker] = workers
  const reason =
    worker !== undefined
      ? `worker ${show(worker)} handles it. Stop the workers that handle it`
      : running > 0
        ? `${manyText(running, 'job')} of it ${running === 1 ? 'runs' : 'run'}. Wait for running jobs with drain, or cancel them`
        : waiting > 0 && !force
          ? `${manyText(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'} in it. Let them run, or use force to remove them`
          : null
  if (reason === null) return
  throw new SkepError(
    'QUEUE_IN_USE',
    `Queue ${show(queue)} cannot be dropped: ${reason}, and drop it again.`,
    {
      facts: { queue, waiting, running, workers: workers.slice(0, NAMED) },
    },
  )
}

/** What is stored under the name of a queue beside its jobs. Holds on patterns and on all spaces concern others too. */
async function leftovers(
  { patient, space }: HoldEnv,
  queue: string,
): Promise<{
  readonly limits: readonly LimitRecord[]
  readonly holds: readonly Hold[]
  readonly hasCard: boolean
}> {
  const [{ limits }, { holds }, { records }] = await Promise.all([
    patient.limits({ space, queue }),
    patient.holds({ space }),
    patient.getRecords({ scope: space, kind: CARD_KIND, ids: [queue] }),
  ])
  return {
    limits,
    holds: holds.filter((one) => one.space === space && one.queue === queue),
    hasCard: records[0] != null,
  }
}

/** Removes the jobs that are there when it begins; those that are enqueued meanwhile stay, and the drop is refused. */
async function removeJobs(env: HoldEnv, queue: string, force: boolean): Promise<Removed> {
  const change = { store: env.patient, notifier: env.notifier, space: env.space }
  // A claim that was under way when the block was put is seen here.
  let found = await look(env, queue)
  assertUnused(queue, found, force)
  const removed: Record<PurgeableState, number> = {
    ...(await purgeJobs(change, queue, { state: FINAL_STATES as readonly PurgeableState[] })).states,
  }
  // Delayed ones first: one that becomes ready meanwhile is then not missed.
  for (const state of force ? (['delayed', 'ready'] as const) : []) {
    removed[state] += await removeWaiting(env, queue, state, found.now)
  }
  found = await look(env, queue)
  assertUnused(queue, found, false)
  if (found.jobs > 0) {
    // Cancelled meanwhile.
    const { states } = await purgeJobs(change, queue, { state: FINAL_STATES as readonly PurgeableState[] })
    for (const state of FINAL_STATES as readonly PurgeableState[]) removed[state] += states[state]
  }
  return removedOf(removed)
}

async function removeWaiting(
  env: HoldEnv,
  queue: string,
  state: 'delayed' | 'ready',
  until: number,
): Promise<number> {
  const { patient, notifier, space } = env
  let removed = 0
  let cursor: string | null = null
  do {
    const page: ListReply = await patient.list({ space, queue, state, limit: PAGE, cursor })
    const ids = page.jobs.filter(({ enqueuedAt }) => enqueuedAt <= until).map(({ id }) => id)
    const change = { store: patient, notifier, space }
    removed += (await changeJobs(change, 'remove', ids, { reason: '', keep: 0 })).changed
    cursor = page.cursor
  } while (cursor !== null)
  return removed
}

/** Removes limits, the declaration and, last of all, the holds, with the block of this drop. */
async function removeRest(env: HoldEnv, queue: string): Promise<void> {
  const { patient, notifier, space } = env
  const { limits, holds } = await leftovers(env, queue)
  for (let i = 0; i < limits.length; i += PAGE) {
    const changes = limits
      .slice(i, i + PAGE)
      .flatMap(({ target, declared, changed }) => [
        ...(declared === null ? [] : [{ target, by: 'code', fields: null } as const]),
        ...(changed === null ? [] : [{ target, by: 'hand', fields: null } as const]),
      ])
    await patient.setLimits({ space, limits: changes })
  }
  await patient.removeRecords({ scope: space, kind: CARD_KIND, ids: [queue] })
  for (let i = 0; i < holds.length; i += PAGE) {
    await patient.release({ holds: holds.slice(i, i + PAGE) })
  }
  notifier.publish([wake({ space, queue })])
}
