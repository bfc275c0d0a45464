import type { ClaimedJob, Counters, Failure, JobState } from '../core/jobs/job.ts'
import { shownPriority } from '../core/jobs/priority.ts'

/** What workers tell. By the time a listener hears of an end, it is saved. */
export interface WorkerEvents {
  /** A handler is about to get the job. */
  received: { readonly job: EventJob }
  /** A handler returned, and the result is saved. */
  finished: { readonly job: EventJob; readonly result: unknown; readonly durationMs: number }
  /** A handler threw. `state` is where the job went. */
  error: FailedRun
  /** A handler ran out of time. */
  timeout: FailedRun
  /** A worker died or lost its lease, told by whoever rescued the job; or a thread died, told by its worker. */
  lost: FailedRun
  /** A job went among the dead, whatever the reason; also one that was buried by {@link Jobs.bury} in this process. */
  dead: FailedRun
  /** A handler asked to be called later. */
  snoozed: { readonly job: EventJob; readonly delayMs: number }
  cancelled: { readonly job: EventJob; readonly failure: Failure }
}

export interface FailedRun {
  readonly job: EventJob
  readonly failure: Failure
  /** Where the job went; `discarded` if its policy removed it. */
  readonly state: JobState | 'discarded'
  /** How long the handler ran; 0 if none did. */
  readonly durationMs: number
}

/** The job an event is about, as its run began. */
export interface EventJob extends Counters {
  readonly id: string
  readonly space: string
  readonly queue: string
  /** The payload; its raw text if it cannot be read. */
  readonly payload: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly priority: number
  readonly enqueuedAt: Date
  /** Which run of the job it was, from 1. */
  readonly attempt: number
}

/** Made only when somebody listens. */
export function eventJob(job: ClaimedJob): EventJob {
  const { id, space, queue, starts, errors, timeouts, lost, snoozes } = job
  return {
    id,
    space,
    queue,
    payload: readValue(job.payload),
    headers: job.headers === null ? {} : (readValue(job.headers) as Record<string, string>),
    priority: shownPriority(job.priority),
    enqueuedAt: new Date(job.enqueuedAt),
    attempt: starts,
    starts,
    errors,
    timeouts,
    lost,
    snoozes,
  }
}

/** Stored JSON text as a value; the text itself if it cannot be read. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
