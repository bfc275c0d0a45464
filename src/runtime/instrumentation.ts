/**
 * What a tracer has to do to follow jobs. `skep/otel` is one. Nothing of it is called when there is none.
 *
 * Whatever it does, it calls what it is given, once, and gives back what that gave: it watches and decides nothing.
 */
import type { NewJob } from '../core/jobs/job.ts'

export interface Instrumentation {
  /**
   * Headers for a job that is made now, such as a trace's id; null: none. What the caller gave wins over them, and they are left
   * out where they do not fit.
   */
  headers(): Readonly<Record<string, string>> | null

  /** Jobs of a queue are being enqueued by `work`, which tells of them as soon as they are made. */
  send<Reply>(
    queue: string,
    work: (made: (jobs: readonly NewJob[]) => void) => Promise<Reply>,
  ): Promise<Reply>

  /** A handler is called by `work` with these jobs of one queue: one, or a batch. */
  process(batch: ProcessedBatch, work: () => unknown): unknown
}

export interface ProcessedBatch {
  readonly queue: string
  readonly workerId: string
  /** Whether the handler takes batches. */
  readonly isBatch: boolean
  readonly jobs: readonly ProcessedJob[]
}

export interface ProcessedJob {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  /** Which run of the job it is, from 1. */
  readonly attempt: number
  readonly payloadBytes: number
}
