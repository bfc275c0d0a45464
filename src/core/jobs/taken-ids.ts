import { SkepError } from '../errors.ts'
import type { NewRun } from '../flows/runs.ts'
import { show } from '../names.ts'
import type { NewJob } from './job.ts'

/** An id that a new job cannot use, because a job in another queue has it. */
export interface TakenId {
  readonly id: string
  readonly queue: string
}

/** The error for a call that would have created these jobs. Nothing of it was written. */
export function idTakenError(taken: readonly TakenId[]): SkepError {
  const [first] = taken as readonly [TakenId, ...TakenId[]]
  const others = taken.length > 1 ? ` (and ${taken.length - 1} more like it)` : ''
  return new SkepError(
    'ID_TAKEN',
    `The id "${first.id}" is taken by a job in queue ${show(first.queue)}${others}, so nothing was enqueued. ` +
      'A job id is unique within its space: use another one, for example jobIdOf(queue, key), which depends on the queue.',
    { facts: { id: first.id, queue: first.queue, taken: taken.slice(0, MOST_NAMED) } },
  )
}

const MOST_NAMED = 1_000

/** An id that a new run cannot use, because a run of another flow has it. */
export interface TakenRun {
  readonly id: string
  readonly flow: string
}

/** The error for a call that would have started these runs. Nothing of it was written. */
export function runTakenError(taken: readonly TakenRun[]): SkepError {
  const [first] = taken as readonly [TakenRun, ...TakenRun[]]
  const others = taken.length > 1 ? ` (and ${taken.length - 1} more like it)` : ''
  return new SkepError(
    'ID_TAKEN',
    `The id "${first.id}" is taken by a run of flow ${show(first.flow)}${others}, so nothing was started. ` +
      'A run id is unique within its space: use another one, for example jobIdOf(flow, key), which depends on the flow.',
    { facts: { id: first.id, flow: first.flow, takenRuns: taken.slice(0, MOST_NAMED) } },
  )
}

/** The job ids that a call was rejected for; empty if it failed for another reason. */
export function takenIn(error: unknown): readonly TakenId[] {
  if (!(error instanceof SkepError) || error.code !== 'ID_TAKEN') return []
  return (error.facts['taken'] ?? []) as readonly TakenId[]
}

/** The same for runs. */
export function takenRunsIn(error: unknown): readonly TakenRun[] {
  if (!(error instanceof SkepError) || error.code !== 'ID_TAKEN') return []
  return (error.facts['takenRuns'] ?? []) as readonly TakenRun[]
}

/**
 * The runs of one call whose ids belong to runs of other flows; see {@link takenAmong}. Another version is
 * the same flow: a start repeated after a deploy finds its run.
 */
export function takenRunsAmong(
  runs: readonly NewRun[],
  flowOf: (run: NewRun) => string | undefined,
): TakenRun[] {
  const asJobs = runs.map((run) => ({ id: run.id, space: run.space, queue: run.flow, run }))
  return takenAmong(asJobs, ({ run }) => flowOf(run)).map(({ id, queue }) => ({ id, flow: queue }))
}

/**
 * The jobs of one call whose ids belong to jobs of other queues: stored jobs, whose queue `queueOf` returns,
 * or earlier jobs of the same call. Each id once.
 */
export function takenAmong<Of extends Pick<NewJob, 'id' | 'space' | 'queue'>>(
  jobs: readonly Of[],
  queueOf: (job: Of) => string | undefined,
): TakenId[] {
  const queues = new Map<string, string>()
  const taken = new Map<string, TakenId>()
  for (const job of jobs) {
    const { id, space, queue } = job
    const key = `${space}\n${id}`
    const known = queues.get(key) ?? queueOf(job) ?? queue
    queues.set(key, known)
    if (known !== queue && !taken.has(key)) taken.set(key, { id, queue: known })
  }
  return [...taken.values()]
}
