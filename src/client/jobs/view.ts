import { FOREVER_MS } from '../../core/duration.ts'
import type { Counters, Failure, Job, JobState } from '../../core/jobs/job.ts'
import { shownPriority } from '../../core/jobs/priority.ts'
import { readValue } from '../../worker/events.ts'
import type { ProgressView } from './logs.ts'

/** A job as it is shown: parsed, with dates. */
export interface JobView extends Counters {
  readonly id: string
  readonly space: string
  readonly queue: string
  readonly state: JobState
  /** The payload; its raw text if it cannot be read. */
  readonly payload: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly priority: number
  /** The key of its lane; null when it has none. */
  readonly lane: string | null
  readonly cost: number
  readonly dueAt: Date
  readonly enqueuedAt: Date
  /** When it was last taken. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  /** When a finished job may be removed. */
  readonly expiresAt: Date | null
  /** How often it was retried. */
  readonly generation: number
  /** Who runs it, or ran it last. */
  readonly worker: string | null
  readonly leaseUntil: Date | null
  /** Why somebody wants it to stop. */
  readonly cancelReason: string | null
  readonly unique: string | null
  /** What the handler returned. */
  readonly result: unknown
  /** The latest error, or why it was snoozed, cancelled or buried. */
  readonly failure: Failure | null
  /** How far it is, if a handler said so. Only where one job was asked for: lists leave it out. */
  readonly progress?: ProgressView | null
}

export function viewOf(job: Job): JobView {
  return {
    id: job.id,
    space: job.space,
    queue: job.queue,
    state: job.state,
    payload: readValue(job.payload),
    headers: job.headers === null ? {} : (readValue(job.headers) as Record<string, string>),
    priority: shownPriority(job.priority),
    lane: job.lane,
    cost: job.cost,
    dueAt: new Date(job.dueAt),
    enqueuedAt: new Date(job.enqueuedAt),
    startedAt: dateOf(job.startedAt),
    finishedAt: dateOf(job.finishedAt),
    expiresAt: isKeptForever(job) ? null : dateOf(job.expiresAt),
    generation: job.generation,
    starts: job.starts,
    errors: job.errors,
    timeouts: job.timeouts,
    lost: job.lost,
    snoozes: job.snoozes,
    worker: job.worker,
    leaseUntil: dateOf(job.leaseUntil),
    cancelReason: job.cancelReason,
    unique: job.uniqueKey,
    result: resultOf(job),
    failure: job.failure === null ? null : (readValue(job.failure) as Failure),
  }
}

/** What the handler returned; undefined if that was nothing. */
export function resultOf(job: Job): unknown {
  return job.result === null ? undefined : readValue(job.result)
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

function isKeptForever({ finishedAt, expiresAt }: Job): boolean {
  return finishedAt !== null && expiresAt !== null && expiresAt - finishedAt >= FOREVER_MS
}
