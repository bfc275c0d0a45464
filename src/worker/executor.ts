import { LeaseLostError, SkepError } from '../core/errors.ts'
import { failureOf, reasonFailure } from '../core/jobs/failure.ts'
import type { Outcome } from '../core/policies/policy.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { batchAnswers, isInstruction, LATER, RunLostError } from './handler.ts'
import type { Run } from './runs.ts'

/** Why a handler's signal aborted. */
export class StopSignal extends Error {
  override readonly name = 'StopSignal'
  readonly kind: 'timeout' | 'cancel' | 'lost' | 'stop'

  constructor(kind: StopSignal['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

export interface ExecutorOptions {
  readonly runtime: Runtime
  /** How long a handler may take to end after its signal aborted, before its slot is given up. */
  readonly graceMs: number
  /** Called once for each run, with how it ended. `null`: the lease is lost, there is nothing to save. */
  readonly onOver: (run: Run, outcome: Outcome | null) => void
  /** Called when a handler that was given up ended after all. */
  readonly onLate: () => void
}

/** Calls handlers and decides how each run ended. It knows no store and no window. */
export class Executor {
  readonly #options: ExecutorOptions
  /** Handlers that were given up and still run. */
  zombies = 0

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  /** Calls the handler for these runs of one queue: one, or a batch. */
  start(runs: readonly Run[]): void {
    const { runtime } = this.#options
    const now = runtime.mono()
    for (const run of runs) {
      run.stage = 'running'
      run.since = now
      this.#limitTime(run)
    }
    const { spec } = runs[0] as Run
    try {
      const answer = spec.call(runs)
      if (isThenable(answer)) {
        // A promise answers once; a thenable of somebody else's may not.
        const once = answer instanceof Promise ? answer : Promise.resolve(answer)
        once.then(
          (value) => this.#answered(runs, value),
          (error: unknown) => this.#threw(runs, error),
        )
      } else if (answer !== LATER) {
        this.#answered(runs, answer)
      }
    } catch (error) {
      this.#threw(runs, error)
    }
  }

  /** Ends a run that somebody outside had. False if it was over. */
  end(run: Run, outcome: Outcome): boolean {
    if (run.stage !== 'running') return false
    const isLate = isStop(run.abortReason, 'timeout', 'lost') || (run.aborted && outcome.kind === 'error')
    this.#over(run, isLate ? outcomeOfStop(run) : outcome)
    return true
  }

  /** Tells a run to stop, and gives it up if it does not within the grace. */
  stop(run: Run, reason: StopSignal): void {
    if (run.stage !== 'running' || run.aborted) return
    run.abort(reason)
    run.stopTimer?.()
    run.stopTimer = this.#options.runtime.timer(this.#options.graceMs, () => this.giveUp(run))
  }

  /** Decides the outcome without its handler, which may still run and can save nothing any more. */
  giveUp(run: Run): void {
    if (run.stage !== 'running') return
    // Who is outside of the process and comes late is refused, and takes nothing of it.
    if (run.spec.away === undefined) this.zombies++
    this.#over(run, outcomeOfStop(run))
  }

  #limitTime(run: Run): void {
    const { timeoutMs } = run.spec.policyOf(run.job)
    if (timeoutMs === null) return
    const { runtime } = this.#options
    run.deadline = runtime.now() + timeoutMs
    run.stopTimer = runtime.timer(timeoutMs, () =>
      this.stop(run, new StopSignal('timeout', `The job ran longer than its limit of ${timeoutMs} ms.`)),
    )
  }

  #answered(runs: readonly Run[], value: unknown): void {
    if (runs.length === 1 && (runs[0] as Run).spec.batch === 1) {
      this.#over(runs[0] as Run, this.#outcomeOf(runs[0] as Run, value))
      return
    }
    const { queue } = (runs[0] as Run).spec
    const answers = batchAnswers(queue, runs.length, value)
    runs.forEach((run, index) => {
      const answer = answers instanceof Error ? answers : answers[index]
      this.#over(run, answer instanceof Error ? errorOutcome(run, answer) : this.#outcomeOf(run, answer))
    })
  }

  #threw(runs: readonly Run[], error: unknown): void {
    for (const run of runs) this.#over(run, errorOutcome(run, error))
  }

  #outcomeOf(run: Run, value: unknown): Outcome | null {
    // After its time was up a handler cannot succeed any more; after a cancel it may, if it was nearly done.
    if (isStop(run.abortReason, 'timeout', 'lost')) return outcomeOfStop(run)
    try {
      if (isInstruction(value)) {
        if (value.kind === 'snooze' || value.kind === 'throttle') {
          const failure = value.reason === '' ? null : reasonFailure('snooze', value.reason)
          const left = value.until === null ? value.delayMs : value.until - this.#options.runtime.now()
          return { kind: value.kind, delayMs: Math.max(0, left), failure }
        }
        return { kind: value.kind, failure: reasonFailure(value.kind, value.reason) }
      }
      return { kind: 'success', result: run.spec.encodeResult(value) }
    } catch (error) {
      return errorOutcome(run, error)
    }
  }

  #over(run: Run, outcome: Outcome | null): void {
    if (run.stage === 'over') {
      this.zombies--
      this.#options.onLate()
      return
    }
    run.stage = 'over'
    run.stopTimer?.()
    this.#options.onOver(run, outcome)
  }
}

/** How a run that threw ended. An error after its signal aborted is an effect of that, not a cause of its own. */
function errorOutcome(run: Run, error: unknown): Outcome | null {
  if (run.aborted) return outcomeOfStop(run)
  try {
    if (error instanceof LeaseLostError && error.jobId === run.job.id) return null
    if (error instanceof RunLostError) return { kind: 'lost', failure: failureOf('lost', error) }
    if (error instanceof SkepError && error.facts['poison'] === true) {
      return { kind: 'bury', failure: failureOf('poison', error) }
    }
    return { kind: 'error', failure: failureOf('error', error) }
  } catch {
    // Anything can be thrown, also things that throw when they are looked at.
    return {
      kind: 'error',
      failure: reasonFailure('error', 'The handler threw something that cannot be read.'),
    }
  }
}

function outcomeOfStop(run: Run): Outcome | null {
  const reason = run.abortReason
  if (!(reason instanceof StopSignal)) return { kind: 'error', failure: failureOf('error', reason) }
  switch (reason.kind) {
    case 'timeout':
      return { kind: 'timeout', failure: reasonFailure('timeout', reason.message) }
    case 'cancel':
      return { kind: 'cancel', failure: reasonFailure('cancel', reason.message) }
    case 'stop':
      return { kind: 'handback', ran: true }
    case 'lost':
      return run.holds ? { kind: 'lost', failure: reasonFailure('lost', reason.message) } : null
  }
}

function isStop(reason: unknown, ...kinds: StopSignal['kind'][]): boolean {
  return reason instanceof StopSignal && kinds.includes(reason.kind)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
