import { SkepError } from '../core/errors.ts'
import type { ClaimedJob, NewJob } from '../core/jobs/job.ts'
import type { KeyRange } from '../core/lanes/key-range.ts'
import type { Policy } from '../core/policies/policy.ts'
import type { SettleResult } from '../store/store.ts'
import type { Run } from './runs.ts'

/** What a worker needs to know about one queue it serves. Made by the client from a user's handler. */
export interface HandlerSpec {
  readonly space: string
  readonly queue: string
  /** Only lanes whose keys are in this range; left out: all. */
  readonly keys?: KeyRange
  /** Runs of this queue at once, within the worker's own limit. It may change while the worker runs if {@link away} is there. */
  readonly concurrency: number
  /** Jobs per call: 1, or more for a handler that takes batches. A batch is one run. */
  readonly batch: number
  /** The policy of this very job: the queue's, with the job's own options over it. */
  policyOf(job: ClaimedJob): Policy
  /**
   * Calls the user's handler. For a single job the answer is what it returned; for a batch, an answer for
   * each. An answer is a value (success), an {@link Instruction}, or in a batch an Error. {@link LATER} if the runs end by
   * {@link WorkerEngine.end}.
   */
  call(runs: readonly Run[]): unknown
  /** The JSON text of a value the handler returned. Throws if it cannot be stored. */
  encodeResult(value: unknown): string | null
  /** Prepares what the handler needs. Before it resolves nothing is claimed; what it throws ends the start. */
  start?(): Promise<void>
  /** Ends what {@link start} began. Runs that are not over have been aborted; when it resolves none of them runs. */
  stop?(): Promise<void>
  /** Who runs the jobs outside of this process, if somebody does. */
  readonly away?: Away
  /** Whether its queue shares a limit with other queues, so that the end of a run may make room for theirs. */
  readonly sharesLimit?: boolean
  /** For how long it now leaves what may be there to other workers, before it asks for it itself. @default 0 */
  patienceMs?(): number
}

/**
 * Somebody outside of the process who runs the jobs of a queue: `call` hands them over and answers {@link LATER}. How many it
 * takes changes from moment to moment, so it is asked.
 */
export interface Away {
  /** How many more jobs it takes now. */
  room(): number
  hasRoom(): boolean
  /** Whether a job of the queue is one of its own, where it takes only a range of keys. */
  covers(job: ClaimedJob): boolean
  /** Whether whoever shall run it has been sent it: what has not can be taken back unrun. */
  isSent(run: Run): boolean
  /** A run that it has shall end, see {@link Run.abortReason}. If it does not, it is given up after the grace. */
  stop(run: Run): void
  /** The run is over, by its own word or without it. */
  over(run: Run): void
  /** The store has had its word on how the run ended; `null`: it was never asked, because the lease was lost. */
  settled(run: Run, result: SettleResult | null): void
}

/** What a call answers whose runs are ended later, from outside. */
export const LATER: unique symbol = Symbol('later')

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
