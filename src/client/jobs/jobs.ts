import type { Duration, Keep } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import type { ChangeTo } from '../../core/jobs/transitions.ts'
import { assertJobId } from '../../core/names.ts'
import { assertOptions, assertText, optionKeys } from '../../core/options.ts'
import { pruneAll } from '../../maintenance/prune.ts'
import type { ClientEnv } from '../client-env.ts'
import { assertAwaited, type CopyOptions, copyOf } from '../enqueue/copy-job.ts'
import { type Explanation, explainAny } from '../explain/explain.ts'
import { type AttemptView, readAttempts } from './attempts.ts'
import {
  type ChangeSummary,
  changeJobs,
  type DeclaredTarget,
  dueMoment,
  type PrioritizeOptions,
  resolvePriority,
  type Target,
} from './change.ts'
import { type HandleOrigin, JobHandle } from './handle.ts'
import {
  type CountOptions,
  countFitting,
  type JobCount,
  type JobPage,
  type ListOptions,
  listJobs,
} from './list.ts'
import { buriedListener } from './log-failures.ts'
import { type LogOptions, type LogPage, progressView, readLogs } from './logs.ts'
import type { Results } from './results.ts'
import { type JobView, viewOf } from './view.ts'
import { type JobEvent, type WatchOptions, watchJob } from './watch.ts'

/** Why jobs are cancelled or buried, and how long they are kept. */
export interface EndOptions {
  /** Stored with the job. */
  readonly reason?: string
  /** @default '3d' for cancelled jobs, '30d' for dead ones */
  readonly keep?: Keep
}

const CANCEL_KEYS = optionKeys<EndOptions>('jobs.cancel()', { reason: true, keep: true })
const BURY_KEYS = optionKeys<EndOptions>('jobs.bury()', { reason: true, keep: true })

export interface JobsEnv extends ClientEnv {
  readonly results: Results
  /** Inserts one job; true if its unique key was held by the job with the returned id. */
  readonly insert: (job: NewJob) => Promise<{ readonly id: string; readonly duplicate: boolean }>
}

/** Reads and changes jobs by id, by filter and by query. */
export class Jobs {
  readonly #env: JobsEnv
  /** Open calls of `watch`: each ends with the error it is given. */
  readonly #watchers = new Set<(error: unknown) => void>()
  readonly #origin: HandleOrigin

  constructor(env: JobsEnv) {
    this.#env = env
    this.#origin = { jobs: this, ready: env.ready, results: env.results, discards: false }
    env.closed.addEventListener('abort', () => {
      for (const end of this.#watchers) end(watchClosed())
    })
  }

  /** A handle on a job by its id, whether or not it exists. */
  handle<Result = unknown>(id: string): JobHandle<Result> {
    assertJobId(id)
    return new JobHandle(this.#origin, id, false)
  }

  /** A job by its id, with its progress, or null. */
  async get(id: string): Promise<JobView | null> {
    assertJobId(id)
    await this.#env.ready()
    const { store, space } = this.#env
    const [{ jobs }, { progress }] = await Promise.all([
      store.get({ space, ids: [id] }),
      store.notes({ space, id, after: 0, limit: 0 }),
    ])
    return jobs[0] ? { ...viewOf(jobs[0]), progress: progressView(progress) } : null
  }

  /**
   * One page of jobs. With a `query` that asks for more than states, queues, times, a lane or ids, each page examines about
   * 5,000 jobs at most: pass its cursor on until that is null.
   */
  async list(options: ListOptions = {}): Promise<JobPage> {
    await this.#env.ready()
    return listJobs(this.#env, options)
  }

  /**
   * The number of jobs that match a query: exact and immediate for states and queues alone, otherwise counted up to `cap` for
   * half a second. Then `isExact` is false, and the number is a lower bound.
   */
  async count(query: string, options: CountOptions = {}): Promise<JobCount> {
    await this.#env.ready()
    return countFitting(this.#env, query, options)
  }

  /** The failed attempts of a job, oldest first, at most twenty: each with its error. */
  async attempts(id: string): Promise<readonly AttemptView[]> {
    assertJobId(id)
    await this.#env.ready()
    return readAttempts(this.#env.store, this.#env.space, id)
  }

  /** One page of the log lines of a job, oldest first, and its progress. */
  async logs(id: string, options: LogOptions = {}): Promise<LogPage> {
    assertJobId(id)
    await this.#env.ready()
    return readLogs(this.#env.store, this.#env.space, id, options)
  }

  /**
   * Follows a job until it has finished: its state, its progress and its log lines, those stored and those to come. Throws
   * `JOB_NOT_FOUND` if there is no such job. A job that is discarded just ends the loop.
   */
  watch(id: string, options: WatchOptions = {}): AsyncIterableIterator<JobEvent> {
    assertJobId(id)
    return this.#watch(id, options)
  }

  async *#watch(id: string, options: WatchOptions): AsyncGenerator<JobEvent, void, void> {
    await this.#env.ready()
    yield* watchJob({ ...this.#env, watchers: this.#watchers }, id, options)
  }

  /**
   * Why a job is not running, with the names of what holds it back, or how it finished. Changes nothing. Also takes the id of
   * a run or of a group and returns what it waits for.
   */
  async explain(id: string): Promise<Explanation> {
    assertJobId(id)
    await this.#env.ready()
    return explainAny(this.#env.store, this.#env.space, id)
  }

  /**
   * Enqueues a copy of a job in any state, optionally with another payload or in another queue. The copy keeps headers, lane,
   * priority, cost and the job's own options, but not the unique key, and has the header `skep-copy-of`. Throws `JOB_NOT_FOUND`
   * if there is no such job, and `RUN_NOT_WAITING` if it belongs to a run that does not wait for it any more; no run waits for the
   * copy. The payload is not validated: only the queue's name is known here.
   */
  async copy(id: string, options: CopyOptions = {}): Promise<JobHandle<unknown>> {
    assertJobId(id)
    await this.#env.readyToWrite()
    const { patient, space, runtime, payloadBytes, insert } = this.#env
    const [job] = (await patient.get({ space, ids: [id] })).jobs
    if (!job) {
      throw new SkepError('JOB_NOT_FOUND', `There is no job "${id}" in space "${space}".`, { facts: { id } })
    }
    await assertAwaited(patient, job)
    const copy = await insert(copyOf(job, options, { runtime, payloadBytes }))
    return new JobHandle(this.#origin, copy.id, copy.duplicate)
  }

  /** Cancels waiting jobs and asks running ones to stop. None of them starts again afterwards. */
  async cancel(target: Target, options: EndOptions = {}): Promise<ChangeSummary> {
    assertOptions(CANCEL_KEYS, options)
    assertText(CANCEL_KEYS.place, 'reason', options.reason)
    return this.#change('cancel', target, options.reason ?? 'Cancelled.', options.keep ?? '3d')
  }

  /** Moves waiting jobs to the dead letters. */
  async bury(target: Target, options: EndOptions = {}): Promise<ChangeSummary> {
    assertOptions(BURY_KEYS, options)
    assertText(BURY_KEYS.place, 'reason', options.reason)
    return this.#change('bury', target, options.reason ?? 'Buried by hand.', options.keep ?? '30d')
  }

  /**
   * Runs finished jobs again, as their next generation with all attempts. A filter without a state means the dead. They start in
   * the order in which they were enqueued.
   */
  retry(target: Target): Promise<ChangeSummary> {
    return this.#change('retry', target, '', 0)
  }

  /** Makes delayed jobs due now. */
  promote(target: Target): Promise<ChangeSummary> {
    return this.#change('promote', target, '', 0)
  }

  /** Moves waiting jobs to another time; a time in the past means now. Jobs of strict lanes keep their place and are refused. */
  async reschedule(target: Target, when: Date | { readonly delay: Duration }): Promise<ChangeSummary> {
    return this.#change('reschedule', target, '', 0, { dueAt: dueMoment(when, this.#env.runtime.now()) })
  }

  /** Deletes jobs that are not running. A filter without a state means finished ones. */
  remove(target: Target): Promise<ChangeSummary> {
    return this.#change('remove', target, '', 0)
  }

  /**
   * Gives waiting jobs another priority, -100 to 100, and with it another place in line; delayed ones keep their time.
   * Pass the queue as it was declared, alone or in a filter, to reach all its waiting jobs that match.
   */
  prioritize(target: DeclaredTarget, priority: number): Promise<ChangeSummary>
  /** By id or by the name of a queue, the priority mode has to be given: neither says how the queue counts priorities. */
  prioritize(target: Target, priority: number, options: PrioritizeOptions): Promise<ChangeSummary>
  async prioritize(
    target: Target | DeclaredTarget,
    priority: number,
    options?: PrioritizeOptions,
  ): Promise<ChangeSummary> {
    const resolved = resolvePriority(target, priority, options)
    return this.#change('prioritize', resolved.target, '', 0, { priority: resolved.priority })
  }

  /** Deletes finished jobs whose retention has expired. Workers do this on their own. Returns their number. */
  async prune(): Promise<number> {
    await this.#env.readyToWrite()
    return pruneAll(this.#env.patient)
  }

  async #change(
    action: Parameters<typeof changeJobs>[1],
    target: Target,
    reason: string,
    keep: Keep,
    to: ChangeTo = {},
  ): Promise<ChangeSummary> {
    await this.#env.readyToWrite()
    const { patient: store, notifier, space, events } = this.#env
    const env = { store, notifier, space }
    const onChanged = action === 'bury' ? { onChanged: buriedListener(env, events) } : {}
    return changeJobs({ ...env, ...onChanged }, action, target, { reason, keep, ...to })
  }
}

function watchClosed(): SkepError {
  return new SkepError('CLOSED', 'This Skep was closed while a job was watched.')
}
