/**
 * What a tracer implements to follow jobs, such as `skep/otel`. Nothing is called without one.
 *
 * It must call `work` exactly once and return its result: it observes and decides nothing.
 */
import type { NewJob } from '../core/jobs/job.ts'

export interface Instrumentation {
  /**
   * Headers for a new job, such as a trace id; null: none. Those of the caller take precedence, and they are
   * omitted where they do not fit.
   */
  headers(): Readonly<Record<string, string>> | null

  /** Called when `work` enqueues jobs of a queue, which it passes to `made` as soon as they exist. */
  send<Reply>(
    queue: string,
    work: (made: (jobs: readonly NewJob[]) => void) => Promise<Reply>,
  ): Promise<Reply>

  /** Called when `work` calls a handler with these jobs of one queue: one, or a batch. */
  process(batch: ProcessedBatch, work: () => unknown): unknown
}

export interface ProcessedBatch {
  readonly queue: string
  readonly workerId: string
  readonly isBatch: boolean
  readonly jobs: readonly ProcessedJob[]
}

export interface ProcessedJob {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  /** The number of the attempt, from 1. */
  readonly attempt: number
  readonly payloadBytes: number
}
