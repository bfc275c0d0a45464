import type { ClaimedJob, Failure, JobState } from '../core/job.ts'

/** What workers tell. By the time a listener hears of an end, it is saved. */
export interface WorkerEvents {
  /** A handler is about to get the job. */
  received: { readonly job: ClaimedJob }
  /** A handler returned, and the result is saved. */
  finished: { readonly job: ClaimedJob; readonly result: string | null; readonly durationMs: number }
  /** A handler threw. `state` is where the job went. */
  error: FailedRun
  /** A handler ran out of time. */
  timeout: FailedRun
  /** A worker died or lost its lease; told by whoever rescued the job. */
  lost: FailedRun
  /** A job went among the dead, whatever the reason. */
  dead: FailedRun
  /** A handler asked to be called later. */
  snoozed: { readonly job: ClaimedJob; readonly delayMs: number }
  cancelled: { readonly job: ClaimedJob; readonly failure: Failure }
}

export interface FailedRun {
  readonly job: ClaimedJob
  readonly failure: Failure
  readonly state: JobState
  readonly durationMs: number
}
