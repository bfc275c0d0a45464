import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { Failure, Job } from '../../core/jobs/job.ts'
import { assertOptions, type OptionKeys, optionKeys } from '../../core/options.ts'
import type { Explanation } from '../explain/explain.ts'
import type { ChangeSummary } from './change.ts'
import type { Jobs } from './jobs.ts'
import type { LogOptions, LogPage } from './logs.ts'
import type { Results } from './results.ts'
import { type JobView, resultOf } from './view.ts'
import type { JobEvent, WatchOptions } from './watch.ts'

/** What the handles of many jobs have in common: there may be a hundred thousand of them. */
export interface HandleOrigin {
  readonly jobs: Jobs
  readonly ready: () => Promise<unknown>
  readonly results: Results
  /** Nothing is left of the job when it has succeeded. */
  readonly discards: boolean
}

/** How long to wait for a result. */
export interface ResultOptions {
  /** @default as long as it takes */
  readonly timeout?: Duration
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

export function patienceOf({ timeout, signal }: ResultOptions): {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
} {
  return {
    ...(timeout === undefined ? {} : { timeoutMs: toMs('timeout', timeout) }),
    ...(signal === undefined ? {} : { signal }),
  }
}

export const RESULT_KEYS: OptionKeys = optionKeys<ResultOptions>('result()', {
  timeout: true,
  signal: true,
})

/** A job that was enqueued. */
export class JobHandle<Result = unknown> {
  readonly id: string
  /**
   * True when nothing was enqueued: the unique key was held, and this is the job that holds it; or there was a job with the id
   * that you gave, and this is that one.
   */
  readonly duplicate: boolean
  readonly #origin: HandleOrigin

  constructor(origin: HandleOrigin, id: string, duplicate: boolean) {
    this.id = id
    this.duplicate = duplicate
    this.#origin = origin
  }

  /**
   * What the handler returned, once it has. Waits for a hint, not by polling. Rejects with `JOB_FAILED`,
   * `JOB_CANCELLED`, `JOB_NOT_FOUND`, `RESULT_DISCARDED`, or `RESULT_TIMEOUT` after `timeout`.
   */
  async result(options: ResultOptions = {}): Promise<Result> {
    assertOptions(RESULT_KEYS, options)
    const { ready, results, discards } = this.#origin
    if (discards) {
      throw new SkepError(
        'RESULT_DISCARDED',
        "This queue discards finished jobs, so there is no result to wait for. Use onSuccess: archive('1h').",
        { facts: { id: this.id } },
      )
    }
    await ready()
    const job = await results.ended(this.id, patienceOf(options))
    return readResult(this.id, job) as Result
  }

  /** The job as it is now, or null. */
  get(): Promise<JobView | null> {
    return this.#origin.jobs.get(this.id)
  }

  /** One page of the lines its handlers wrote, see {@link Jobs.logs}. */
  logs(options?: LogOptions): Promise<LogPage> {
    return this.#origin.jobs.logs(this.id, options)
  }

  /** Its state, progress and lines until it has ended, see {@link Jobs.watch}. */
  watch(options?: WatchOptions): AsyncIterableIterator<JobEvent> {
    return this.#origin.jobs.watch(this.id, options)
  }

  /** Why it is not running, see {@link Jobs.explain}. */
  explain(): Promise<Explanation> {
    return this.#origin.jobs.explain(this.id)
  }

  cancel(reason?: string): Promise<ChangeSummary> {
    return this.#origin.jobs.cancel(this.id, reason === undefined ? {} : { reason })
  }
}

export function readResult(id: string, job: Job | null): unknown {
  if (job === null) {
    throw new SkepError(
      'JOB_NOT_FOUND',
      `There is no job "${id}" in this space: it was discarded, pruned, or never was.`,
      {
        facts: { id },
      },
    )
  }
  if (job.state === 'done') return resultOf(job)
  const failure = job.failure === null ? null : (JSON.parse(job.failure) as Failure)
  const reason = failure?.message ?? job.state
  const code = job.state === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED'
  throw new SkepError(code, `Job "${id}" is ${job.state}: ${reason}`, {
    facts: { id, state: job.state, failure },
  })
}
