import type { NewGroup } from '../core/groups.ts'
import type { ClaimedJob, NewJob } from '../core/job.ts'
import type { RunMove } from '../core/runs.ts'
import type { Enqueued } from '../store/flows.ts'
import type { HandlerSpec } from './handler.ts'
import type { RunNotes } from './run-notes.ts'

interface Completed {
  readonly kind: 'success'
  readonly result: string | null
  /** Queues in which that has enqueued jobs, besides those of the handler. */
  readonly fired: readonly Enqueued[]
}

/**
 * One lease of one job in this process:
 * buffered (claimed, waits for a slot) → running (its handler was called) → over (its outcome is decided).
 */
export class Run {
  readonly job: ClaimedJob
  readonly spec: HandlerSpec
  /** Until when the lease surely holds, by this process's monotonic clock; counted from the moment the call was sent. */
  leaseUntil: number
  stage: 'buffered' | 'running' | 'over' = 'buffered'
  /** When it was claimed, then when its handler was called. */
  since: number
  /** Whether nobody but us can hold the job: false once the lease was refused or ran out. */
  holds = true
  /** Jobs that shall be inserted when, and only when, this run's success is saved. */
  enqueued: NewJob[] | null = null
  /** The same for groups, whose members are among those jobs, and for the move of a flow's run. */
  groups: NewGroup[] | null = null
  move: RunMove | null = null
  /** One of these jobs takes its place in its group, see `Settlement.handsOn`. */
  handsOn = false
  /** The job that follows in its chain, once its success was decided. */
  next: string | null = null
  /** When its chain's turn began, by the monotonic clock, see `CHAIN_TURN_MS`. */
  turnSince: number
  /** What the handler saved in a transaction of its own; whether that committed is seen when we settle. */
  completed: Completed | null = null
  /** What the handler told and no store has confirmed yet; null as long as it told nothing. */
  notes: RunNotes | null = null
  /** Set if the lease is another worker's: what the job keeps as its token when this ends it, see `Settlement.repeatToken`. */
  repeatToken: string | null = null
  /** Where a worker finds it by the id of its job, see `HeldRuns`. */
  heldIn: Map<string, Run> | null = null
  /** What whoever has it outside of the process is given for it. */
  parcel: object | null = null
  /** What it shares with the other runs of its batch: how many are not over. */
  batch: { left: number } | null = null
  /** Ends the timer of the time limit. */
  stopTimer: (() => void) | null = null
  /** When the handler must be done, by the wall clock; null without a limit. */
  deadline: number | null = null
  #controller: AbortController | null = null
  #abortReason: unknown = undefined
  #aborted = false

  constructor(job: ClaimedJob, spec: HandlerSpec, leaseUntil: number, since: number) {
    this.job = job
    this.spec = spec
    this.leaseUntil = leaseUntil
    this.since = since
    this.turnSince = since
  }

  // An AbortController costs more than everything else a small job does, so it is made when somebody looks.
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get abortReason(): unknown {
    return this.#abortReason
  }

  /** Tells the handler to stop. The first reason stays. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#abortReason = reason
    this.#controller?.abort(reason)
    this.spec.away?.stop(this)
  }
}
