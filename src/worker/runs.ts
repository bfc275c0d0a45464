import type { NewGroup } from '../core/flows/groups.ts'
import type { RunMove } from '../core/flows/runs.ts'
import type { ClaimedJob, NewJob } from '../core/jobs/job.ts'
import { Fifo } from '../runtime/fifo.ts'
import type { Enqueued } from '../store/flows.ts'
import type { HandlerSpec } from './handler.ts'
import type { RunNotes } from './log-writer.ts'

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
  /** Some of them have ids that the handler chose. */
  hasGivenIds = false
  /** Its outcome waits for another transaction. */
  isHeld = false
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

/** A lane with runs that wait: where they all are, and how many. */
interface Lane {
  readonly runs: Fifo<Run>
  count: number
}

/**
 * Claimed runs that wait for a slot, in the order in which the store gave them. But a lane of which nothing waits here may
 * pass those of which something does: of a busy lane much was claimed ahead, and a single job of another would wait for
 * all of it. It passes every other one, so nobody is kept waiting. Within a lane the order stays.
 */
export class WaitingRuns {
  readonly #inOrder = new Fifo<Run>()
  readonly #passing = new Fifo<Run>()
  readonly #lanes = new Map<string | null, Lane>()
  /** Whether something waited when the claim came whose runs are being added. */
  #isBehind = false
  #isPassed = false

  get size(): number {
    return this.#inOrder.size + this.#passing.size
  }

  /** Whether some may pass others. */
  get hasPassing(): boolean {
    return this.#passing.size > 0
  }

  /** The runs that follow are of one claim, which has put their lanes in order. */
  beginClaim(): void {
    this.#isBehind = this.size > 0
  }

  push(run: Run): void {
    const lane = this.#lanes.get(run.job.lane)
    const runs = lane?.runs ?? (this.#isBehind ? this.#passing : this.#inOrder)
    if (lane) lane.count++
    else this.#lanes.set(run.job.lane, { runs, count: 1 })
    runs.push(run)
  }

  shift(): Run | undefined {
    this.#isPassed = !this.#isPassed && this.#passing.size > 0
    const first = this.#isPassed ? this.#passing : this.#inOrder
    const run = first.shift() ?? this.#passing.shift()
    if (run) this.#left(run)
    return run
  }

  remove(run: Run): boolean {
    return this.take((other) => other === run).length > 0
  }

  /** Takes out all for which this is true. */
  take(isTaken: (run: Run) => boolean): Run[] {
    const taken = [...this.#passing.take(isTaken), ...this.#inOrder.take(isTaken)]
    for (const run of taken) this.#left(run)
    return taken
  }

  #left(run: Run): void {
    const lane = this.#lanes.get(run.job.lane) as Lane
    lane.count--
    if (lane.count === 0) this.#lanes.delete(run.job.lane)
  }
}
