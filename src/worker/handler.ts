import { SkepError } from '../core/errors.ts'
import type { ClaimedJob, NewJob } from '../core/job.ts'
import type { Policy } from '../core/policy.ts'
import type { Run } from './run.ts'

/** What a worker needs to know about one queue it serves. Made by the client from a user's handler. */
export interface HandlerSpec {
  readonly space: string
  readonly queue: string
  /** Runs of this queue at once, within the worker's own limit. */
  readonly concurrency: number
  /** Jobs per call: 1, or more for a handler that takes batches. A batch is one run. */
  readonly batch: number
  /** The policy of this very job: the queue's, with the job's own options over it. */
  policyOf(job: ClaimedJob): Policy
  /**
   * Calls the user's handler. For a single job the answer is what it returned; for a batch, an answer for
   * each. An answer is a value (success), an {@link Instruction}, or in a batch an Error.
   */
  call(runs: readonly Run[]): unknown
  /** The JSON text of a value the handler returned. Throws if it cannot be stored. */
  encodeResult(value: unknown): string | null
  /** Prepares what the handler needs. Before it resolves nothing is claimed; what it throws ends the start. */
  start?(): Promise<void>
  /** Ends what {@link start} began. Runs that are not over have been aborted; when it resolves none of them runs. */
  stop?(): Promise<void>
}

/** What a call rejects with when whoever ran the handler has died, but not its worker: the job is lost, and that at once. */
export class RunLostError extends Error {
  override readonly name = 'RunLostError'
}

const INSTRUCTION: unique symbol = Symbol.for('skep.instruction')

/** What a handler returns to say something other than "done". */
export interface Instruction {
  readonly [INSTRUCTION]: true
  readonly kind: 'snooze' | 'throttle' | 'cancel' | 'bury'
  readonly delayMs: number
  /** Until this moment, instead of for so long. */
  readonly until: number | null
  readonly reason: string
}

export function instruction(
  kind: Instruction['kind'],
  delayMs: number,
  reason: string,
  until: number | null = null,
): Instruction {
  // Programs without types leave the reason out.
  return Object.freeze({ [INSTRUCTION]: true as const, kind, delayMs, until, reason: String(reason ?? '') })
}

// A registered symbol and not a class: the package may be loaded twice, once as ESM and once as CommonJS.
export function isInstruction(value: unknown): value is Instruction {
  return typeof value === 'object' && value !== null && INSTRUCTION in value
}

/** What a batch handler returned, as an answer for each of its jobs; an error if it is not that. */
export function batchAnswers(queue: string, jobs: number, value: unknown): readonly unknown[] | SkepError {
  if (value === undefined) return Array.from({ length: jobs })
  if (Array.isArray(value) && value.length === jobs) return value as unknown[]
  const got = Array.isArray(value) ? `${value.length} answers` : `a ${typeof value}`
  return new SkepError(
    'OPTION_INVALID',
    `A batch handler of queue "${queue}" got ${jobs} jobs and returned ${got}. ` +
      'Return nothing, or an array with one answer for each job.',
  )
}

/** Jobs a run wants to enqueue together with its own end. */
export type Outbox = NewJob[]
