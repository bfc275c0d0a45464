import { SkepError } from '../errors.ts'
import type { NewRun } from '../flows/runs.ts'
import { show } from '../names.ts'
import type { NewJob } from './job.ts'

/** An id that a new job cannot have, because it is the id of a job in another queue. */
export interface TakenId {
  readonly id: string
  /** The queue of the job that has the id. */
  readonly queue: string
}

/** What a call is refused with that would have made these jobs. Nothing of it was written. */
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

/** An id that a new run cannot have, because it is the id of a run of another flow. */
export interface TakenRun {
  readonly id: string
  /** The flow of the run that has the id. */
  readonly flow: string
}

/** What a call is refused with that would have started these runs. Nothing of it was written. */
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

/** The ids of jobs that a call was refused for; none if it failed for another reason. */
export function takenIn(error: unknown): readonly TakenId[] {
  if (!(error instanceof SkepError) || error.code !== 'ID_TAKEN') return []
  return (error.facts['taken'] ?? []) as readonly TakenId[]
}

/** The same of runs. */
export function takenRunsIn(error: unknown): readonly TakenRun[] {
  if (!(error instanceof SkepError) || error.code !== 'ID_TAKEN') return []
  return (error.facts['takenRuns'] ?? []) as readonly TakenRun[]
}

/**
 * Which of the runs of one call cannot be, because runs of other flows have their ids; see {@link takenAmong}. Another version
 * of its flow is no other flow: a start that is repeated after a deploy finds its run.
 */
export function takenRunsAmong(
  runs: readonly NewRun[],
  flowOf: (run: NewRun) => string | undefined,
): TakenRun[] {
  const asJobs = runs.map((run) => ({ id: run.id, space: run.space, queue: run.flow, run }))
  return takenAmong(asJobs, ({ run }) => flowOf(run)).map(({ id, queue }) => ({ id, flow: queue }))
}

/**
 * Which of the jobs of one call cannot be, because jobs of other queues have their ids: jobs that are there, of which
 * `queueOf` knows the queue, or jobs before them in the call. Each id once.
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
