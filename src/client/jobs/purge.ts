import { JOB_STATES, type JobState } from '../../core/jobs/job.ts'
import { assertName } from '../../core/names.ts'
import { assertFlags, assertOptions, optionKeys } from '../../core/options.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import { type QueueCounts, type Store, storedStates } from '../../store/store.ts'
import { assertFilter, assertPossible, changeJobs, type JobFilter } from './change.ts'
import { statesOf, whereOf } from './list.ts'

export interface PurgeOptions extends Omit<JobFilter, 'limit'> {
  /** Only count what would be removed, and change nothing. @default false */
  readonly dryRun?: boolean
}

const KEYS = optionKeys<PurgeOptions>('queues.purge()', {
  state: true,
  after: true,
  before: true,
  text: true,
  dryRun: true,
})

/** What a purge removed, or what a dry run would have it remove. */
export interface PurgeSummary {
  readonly queue: string
  readonly dryRun: boolean
  /** In all. */
  readonly jobs: number
  /** In each state. */
  readonly states: Readonly<Record<PurgeableState, number>>
  /** Jobs of the queue that run. A purge never touches them. */
  readonly running: number
}

/** Every state but `running`. */
export type PurgeableState = Exclude<JobState, 'running'>

const PURGEABLE = JOB_STATES.filter((state): state is PurgeableState => state !== 'running')

/** Removes the jobs of a queue that fit and do not run, or counts them. */
export async function purgeJobs(
  env: { readonly store: Store; readonly notifier: Notifier; readonly space: string },
  queue: string,
  options: PurgeOptions,
): Promise<PurgeSummary> {
  const { store, space } = env
  assertOptions(KEYS, options)
  const { dryRun = false, state, ...filter } = options
  assertFlags(KEYS.place, { dryRun })
  assertFilter(KEYS.place, 'state' in options ? { ...filter, state } : filter)
  assertName('Queue', queue)
  const states = state === undefined ? PURGEABLE : [...new Set(statesOf(state))]
  assertPossible('remove', states)
  const where = whereOf(filter)

  const counts = async (): Promise<Readonly<Record<JobState, number>>> =>
    storedStates((await store.counts({ space, queues: [queue] })).queues[0] as QueueCounts)
  // Without a filter the counters tell, at a cost that does not grow with the jobs.
  const kept = dryRun && Object.keys(where).length === 0 ? await counts() : null
  const found = Object.fromEntries(PURGEABLE.map((one) => [one, 0])) as Record<PurgeableState, number>
  for (const one of states as readonly PurgeableState[]) {
    if (kept) found[one] = kept[one]
    else if (dryRun) found[one] = (await store.count({ space, queue, state: one, where })).count
    else {
      const target = { ...filter, queue, state: one }
      found[one] = (await changeJobs(env, 'remove', target, { reason: '', keep: 0 })).changed
    }
  }
  const { running } = kept ?? (await counts())
  const jobs = PURGEABLE.reduce((sum, one) => sum + found[one], 0)
  return { queue, dryRun, jobs, states: found, running }
}
