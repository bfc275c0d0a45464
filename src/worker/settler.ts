import { SkepError } from '../core/errors.ts'
import { nextInChain } from '../core/flows/chains.ts'
import { type AttemptOrigin, attemptLine } from '../core/jobs/attempts.ts'
import { failureOf, reasonFailure } from '../core/jobs/failure.ts'
import {
  type ClaimedJob,
  type Failure,
  isFinal,
  type JobState,
  type NewJob,
  rankOf,
} from '../core/jobs/job.ts'
import { idTakenError, type TakenId } from '../core/jobs/taken-ids.ts'
import { isDiscarded, judge, type Outcome, type Verdict } from '../core/policies/policy.ts'
import type { Meter } from '../metrics/counters.ts'
import type { ErrorBook } from '../metrics/error-groups.ts'
import {
  type Hint,
  mergeHints,
  type Notifier,
  namingHints,
  type ToldJob,
  workHint,
} from '../notifier/notifier.ts'
import type { Emitter } from '../runtime/emitter.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { InsertResult, Settlement, SettleResult } from '../store/store.ts'
import { eventJob, type FailedRun, readValue, type WorkerEvents } from './events.ts'
import type { Noter } from './log-writer.ts'
import type { Run } from './runs.ts'
import type { Exchange, Parcel, Turn } from './store-batcher.ts'

export interface SettlerOptions {
  readonly runtime: Runtime
  readonly logger: Logger
  readonly notifier: Notifier
  readonly events: Emitter<WorkerEvents>
  readonly exchange: Exchange
  readonly noter: Noter
  /** What the store's clock says now, as far as we know. */
  readonly storeTime: () => number
  readonly meter: Meter
  /** Hears of every run that ended badly. */
  readonly errors: Pick<ErrorBook, 'add'>
  /** The worker, as the attempts of its jobs name it. */
  readonly origin: Pick<AttemptOrigin, 'worker' | 'version'>
  /** Its outcome waits for another transaction, see `HeldSettlements`. */
  readonly onHeld: (run: Run) => void
  /** Its outcome was answered in a call that claimed nothing, see `HeldSettlements`. */
  readonly onApart: (run: Run) => void
  /** The store has had its word on this run, whatever it was. */
  readonly onSettled: (run: Run, result: SettleResult) => void
}

/** A settlement on its way. A class, because there is one for every job: it takes half the room of a closure. */
class Settling implements Parcel {
  readonly settlement: Settlement
  readonly run: Run
  readonly outcome: Outcome
  readonly durationMs: number
  readonly #tell: (settling: Settling, result: SettleResult) => void
  readonly #options: SettlerOptions

  constructor(
    settlement: Settlement,
    run: Run,
    outcome: Outcome,
    durationMs: number,
    tell: (settling: Settling, result: SettleResult) => void,
    options: SettlerOptions,
  ) {
    this.settlement = settlement
    this.run = run
    this.outcome = outcome
    this.durationMs = durationMs
    this.#tell = tell
    this.#options = options
  }

  get turn(): Turn | null {
    const { next, turnSince } = this.run
    return next === null ? null : { next, since: turnSince }
  }

  get hasGivenIds(): boolean {
    return this.run.hasGivenIds
  }

  /** Only its holder may: for another process's lease it would run a second time beside that one. */
  get canGoBack(): boolean {
    return this.run.repeatToken === null
  }

  onHeld(): void {
    this.#options.onHeld(this.run)
  }

  onApart(): void {
    this.#options.onApart(this.run)
  }

  onResult(result: SettleResult): void {
    this.#tell(this, result)
  }
}

/**
 * What follows the end of a run: the policy is asked for a verdict, the verdict is sent off, and when it is saved
 * listeners hear of it and hints go out.
 */
export class Settler {
  readonly #options: SettlerOptions
  /** Hints that go out at the end of this turn of the event loop, in which many jobs end. */
  #hints: Hint[] = []
  /** Jobs to be told of by their ids, with these hints. */
  #named: ToldJob[] = []
  readonly #ended: Extract<Hint, { kind: 'settled' }>[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Sends off how a run ended, and tells of it when it is saved. */
  settle(run: Run, outcome: Outcome, durationMs: number): void {
    if (run.completed !== null) {
      this.#settleCompleted(run, run.completed, outcome, durationMs)
      return
    }
    const { space, id, token } = run.job
    const verdict = this.#judge(run, outcome)
    const { repeatToken } = run
    const bare: Settlement =
      repeatToken === null
        ? { space, id, token, verdict }
        : { space, id, token, verdict, rescue: true, repeatToken }
    const settlement = this.#withNotes(run, bare, failureIn(outcome), durationMs)
    if (outcome.kind === 'success') goOn(run, verdict.result)
    this.#options.exchange.settle(
      new Settling(
        outcome.kind === 'success'
          ? withWishes(run, settlement, settlement === bare && repeatToken === null)
          : settlement,
        run,
        outcome,
        durationMs,
        this.#tellSettled,
        this.#options,
      ),
    )
  }

  /**
   * Hands back the jobs of settlements that were withdrawn, see `HeldSettlements.withdraw`. Without follow-up jobs, so no
   * lock of another transaction is needed. Resolves when the store has answered for all of them.
   */
  async handBack(parcels: readonly Parcel[]): Promise<void> {
    const settlings = parcels.filter((parcel) => parcel instanceof Settling)
    await Promise.all(settlings.map((settling) => this.#handBack(settling)))
  }

  #handBack({ run, outcome, durationMs, settlement: { verdict: intended } }: Settling): Promise<void> {
    const { space, id, token } = run.job
    const back: Outcome = { kind: 'handback', ran: true }
    const verdict = this.#judge(run, back)
    const settlement = this.#withNotes(run, { space, id, token, verdict }, null, durationMs)
    return new Promise((resolve) => {
      const onResult = (result: SettleResult): void => {
        resolve()
        // Otherwise the outcome had been saved after all, and only the reply to that was lost.
        const isBack = result.status !== 'ok' || result.state === 'ready' || result.state === 'cancelled'
        if (isBack) this.#settled(run, back, verdict, durationMs, result, notSaved(result))
        else this.#settled(run, outcome, intended, durationMs, result)
      }
      this.#options.exchange.settle({ settlement, onResult })
    })
  }

  readonly #tellSettled = (
    { run, outcome, settlement, durationMs }: Settling,
    result: SettleResult,
  ): void => {
    if (result.status === 'refused' && result.reason === 'taken') this.#fail(run, result.taken, durationMs)
    else this.#settled(run, outcome, settlement.verdict, durationMs, result)
  }

  /** The success was refused, because an id of a job that it enqueues is taken: as if the handler had thrown that. */
  #fail(run: Run, taken: readonly TakenId[], durationMs: number): void {
    run.enqueued = null
    run.hasGivenIds = false
    run.groups = null
    run.move = null
    run.handsOn = false
    run.next = null
    this.settle(run, { kind: 'error', failure: failureOf('error', idTakenError(taken)) }, durationMs)
  }

  /**
   * The handler saved its own success. If its transaction committed, the store answers that this token has settled
   * already, and a job that its holder failed is never done. If not, the job is still ours, and then the run has
   * failed: so the first call changes nothing while the lease lasts and only asks.
   */
  #settleCompleted(run: Run, success: Success, outcome: Outcome, durationMs: number): void {
    const { space, id, token } = run.job
    const failed = outcome.kind === 'success' ? rolledBack() : outcome
    const verdict = this.#judge(run, failed)
    this.#options.exchange.settle({
      // Nobody knows yet whether it has failed, so it does not say so.
      settlement: this.#withNotes(run, { space, id, token, verdict, onlyIfExpired: true }, null, durationMs),
      onResult: (result) => {
        if (result.status === 'refused' && result.reason === 'not-expired') {
          const onResult = (word: SettleResult): void => this.#settled(run, failed, verdict, durationMs, word)
          const settlement = this.#withNotes(
            run,
            { space, id, token, verdict },
            failureIn(failed),
            durationMs,
          )
          this.#options.exchange.settle({ settlement, onResult })
        } else if (result.status === 'ok' && result.state === 'done') {
          this.#settled(run, success, this.#judge(run, success), durationMs, result)
        } else {
          this.#settled(run, failed, verdict, durationMs, result)
        }
      },
    })
  }

  /**
   * What the run still has to tell goes along, and why it failed, if it did. If the job is discarded, what it told goes with
   * the job instead.
   */
  #withNotes(run: Run, settlement: Settlement, failure: Failure | null, durationMs: number): Settlement {
    const { verdict } = settlement
    if (verdict.keepMs === null && isFinal(verdict.to)) {
      const { starts, generation } = run.job
      this.#options.noter.take(run)
      return run.notes !== null || starts > 1 || generation > 0 ? { ...settlement, noted: true } : settlement
    }
    const line =
      failure === null ? null : attemptLine(run.job, failure, verdict.to, this.#originOf(durationMs))
    if (line !== null) this.#options.noter.lastLine(run, line)
    const note = run.notes === null ? null : this.#options.noter.take(run)
    return note === null ? settlement : { ...settlement, note }
  }

  #originOf(durationMs: number): AttemptOrigin {
    const { runtime, origin } = this.#options
    return { startedAt: Math.round(runtime.now() - durationMs), ...origin }
  }

  #judge({ job, spec }: Run, outcome: Outcome): Verdict {
    const { runtime, origin } = this.#options
    return judge(spec.policyOf(job), job, versioned(outcome, origin.version), runtime.random())
  }

  /** `reply`: what a receiver that runs the job elsewhere is told. */
  #settled(
    run: Run,
    outcome: Outcome,
    verdict: Verdict,
    durationMs: number,
    result: SettleResult,
    reply: SettleResult = result,
  ): void {
    const { logger, noter, onSettled } = this.#options
    onSettled(run, result)
    run.spec.away?.settled(run, reply)
    noter.release(run, result.status === 'ok')
    // Done although it failed: its own transaction had committed after all, only the answer to that was lost.
    const isDone = result.status === 'ok' && result.state === 'done' && outcome.kind !== 'success'
    if (result.status === 'ok') {
      const told: Outcome = isDone ? { kind: 'success', result: null } : outcome
      this.#count(run, told, result, durationMs)
      this.#tell(run, told, isDiscarded(result.state, verdict) ? 'discarded' : result.state, durationMs)
      this.#hint(run, told, verdict, result)
    } else if (outcome.kind !== 'handback') {
      logger.warn(
        `The outcome of job "${run.job.id}" came too late: the lease was lost and the job runs elsewhere.`,
      )
    }
  }

  #count(
    { job, enqueued }: Run,
    outcome: Outcome,
    { state, inserted }: Extract<SettleResult, { status: 'ok' }>,
    durationMs: number,
  ): void {
    const { meter } = this.#options
    const { queue } = job
    switch (outcome.kind) {
      case 'success':
        meter.of(queue).done(durationMs)
        if (enqueued !== null) countInserted(meter, enqueued, inserted)
        return
      case 'error':
      case 'timeout':
      case 'lost':
      case 'bury':
        this.countFailed(job, outcome.kind === 'lost', outcome.failure, state, durationMs)
        return
      case 'cancel':
        meter.of(queue).cancelled(durationMs)
        return
      case 'snooze':
        if (state === 'cancelled') meter.of(queue).cancelled(durationMs)
        else meter.of(queue).snoozed(durationMs)
        return
      case 'throttle':
      case 'handback':
        // As if never taken, unless somebody cancelled it meanwhile.
        if (state === 'cancelled') meter.of(queue).cancelled(null)
    }
  }

  /** Counts a run that did not succeed. */
  countFailed(
    job: ClaimedJob,
    isLost: boolean,
    failure: Failure,
    state: JobState,
    runMs: number | null,
  ): void {
    const { meter, errors, runtime } = this.#options
    const { id, queue } = job
    meter.of(queue).failed(state, isLost, runMs)
    // A lost job was on the worker that is gone, and not on this one.
    const version = isLost ? undefined : this.#options.origin.version
    errors.add({
      queue,
      job: id,
      failure,
      isDead: state === 'dead',
      at: runtime.now(),
      ...(version === undefined ? {} : { version }),
    })
  }

  #hint(run: Run, outcome: Outcome, verdict: Verdict, result: Extract<SettleResult, { status: 'ok' }>): void {
    const { job } = run
    const storeNow = this.#options.storeTime()
    if (result.state === 'ready' || result.state === 'delayed') {
      this.#tellOf(job, verdict.keepPlace ? job.dueAt : storeNow + verdict.delayMs)
    } else if (verdict.keepMs !== null || result.state !== 'done' || endsRun(run)) {
      // Nobody can wait for a result that is thrown away; but for one that failed somebody may.
      this.#hintEnded(job)
    }
    if (outcome.kind !== 'success' || (run.enqueued === null && run.completed === null)) return
    for (const [index, enqueued] of (run.enqueued ?? []).entries()) {
      // A settlement that was repeated does not tell what became of these jobs; a hint too many does no harm.
      const inserted = result.inserted?.[index]
      const dueAt =
        inserted?.status === 'ok'
          ? inserted.dueAt
          : Math.max(storeNow + enqueued.delayMs, enqueued.runAt ?? 0)
      this.#tellOf(enqueued, dueAt)
    }
    for (const fired of run.completed?.fired ?? []) this.#publish({ kind: 'work', ...fired })
  }

  #tellOf(job: Omit<ToldJob, 'dueAt'>, dueAt: number): void {
    if (this.#options.notifier.notices !== undefined && job.priority === 0 && job.lane === null) {
      const { id, space, queue, priority, lane } = job
      this.#plan()
      this.#named.push({ id, space, queue, priority, lane, dueAt })
    } else if (!this.#isTold(job, dueAt)) {
      const { space, queue, priority } = job
      this.#publish(workHint({ space, queue, priority, dueAt }))
    }
  }

  /** The hint before says as much: mostly many jobs of one queue come together. */
  #isTold({ space, queue, priority }: Omit<ToldJob, 'dueAt'>, dueAt: number): boolean {
    const last = this.#hints.at(-1)
    return (
      last?.kind === 'work' &&
      last.queue === queue &&
      last.space === space &&
      last.dueAt <= dueAt &&
      last.rank <= rankOf(dueAt, priority)
    )
  }

  #publish(hint: Hint): void {
    this.#plan()
    this.#hints.push(hint)
  }

  /** What gathers goes out together. */
  #plan(): void {
    if (this.#hints.length > 0 || this.#named.length > 0) return
    this.#options.runtime.defer(() => {
      const hints = mergeHints(this.#hints)
      if (this.#named.length > 0) hints.push(...namingHints(this.#named))
      this.#hints = []
      this.#named = []
      this.#options.notifier.publish(hints)
    })
  }

  /** Jobs end by the hundred, mostly of one queue: one hint for each queue tells of all that ended in this turn. */
  #hintEnded({ space, queue }: Run['job']): void {
    if (this.#ended.some((hint) => hint.queue === queue && hint.space === space)) return
    if (this.#ended.length === 0) {
      this.#options.runtime.defer(() => this.#options.notifier.publish(this.#ended.splice(0)))
    }
    this.#ended.push({ kind: 'settled', space, queue })
  }

  #tell(run: Run, outcome: Outcome, state: FailedRun['state'], durationMs: number): void {
    const { events } = this.#options
    if (outcome.kind === 'success' && !events.has('finished')) return
    // A copy: a listener can change nothing.
    const job = eventJob(run.job)
    switch (outcome.kind) {
      case 'success': {
        const result = outcome.result === null ? undefined : readValue(outcome.result)
        events.emit('finished', { job, result, durationMs })
        return
      }
      case 'error':
      case 'timeout':
      case 'lost':
        this.tellFailed(outcome.kind, { job, failure: outcome.failure, state, durationMs })
        return
      case 'bury':
        this.tellFailed('error', { job, failure: outcome.failure, state, durationMs })
        return
      case 'cancel':
        events.emit('cancelled', { job, failure: outcome.failure })
        return
      case 'snooze':
      case 'throttle':
      case 'handback':
        // It would have waited, had nobody cancelled it meanwhile.
        if (state === 'cancelled')
          events.emit('cancelled', { job, failure: reasonFailure('cancel', 'Cancelled.') })
        else if (outcome.kind !== 'handback') events.emit('snoozed', { job, delayMs: outcome.delayMs })
    }
  }

  /** Tells of a run that did not succeed. */
  tellFailed(kind: 'error' | 'timeout' | 'lost', event: WorkerEvents['error']): void {
    const { events } = this.#options
    events.emit(kind, event)
    if (event.state === 'dead') events.emit('dead', event)
    if (event.state === 'cancelled') {
      events.emit('cancelled', { job: event.job, failure: event.failure })
    }
  }
}

/** Counts jobs that came into being. Mostly they are of one queue. */
export function countInserted(
  meter: Meter,
  jobs: readonly NewJob[],
  results: readonly InsertResult[] | undefined,
): void {
  if (jobs.length === 1) {
    const { queue } = jobs[0] as NewJob
    if (results === undefined || results[0]?.status === 'ok') meter.of(queue).enqueued(1)
    return
  }
  let from = 0
  for (let i = 1; i <= jobs.length; i++) {
    const { queue } = jobs[from] as NewJob
    if (jobs[i]?.queue === queue) continue
    // One whose key was held did not come into being.
    let made = i - from
    if (results) for (let n = from; n < i; n++) if (results[n]?.status !== 'ok') made--
    if (made > 0) meter.of(queue).enqueued(made)
    from = i
  }
}

/** The reply to a receiver whose job was handed back instead of saving its outcome. */
function notSaved(result: SettleResult): SettleResult {
  if (result.status !== 'ok') return result
  return { status: 'refused', reason: result.state === 'ready' ? 'lost' : 'gone' }
}

/** Why a run ended badly; null if it did not. */
function failureIn(outcome: Outcome): Failure | null {
  switch (outcome.kind) {
    case 'error':
    case 'timeout':
    case 'lost':
    case 'bury':
    case 'cancel':
      return outcome.failure
    default:
      return null
  }
}

/** What is stored of an attempt that failed says on which version it ran, so that queries can ask for it. */
function versioned(outcome: Outcome, version: string | undefined): Outcome {
  if (version === undefined) return outcome
  const { kind } = outcome
  if (kind !== 'error' && kind !== 'timeout' && kind !== 'bury') return outcome
  return { ...outcome, failure: { ...outcome.failure, version } }
}

/** Whether it ended a run of a flow, for which somebody may wait. */
function endsRun({ move }: Run): boolean {
  return move?.status !== undefined && move.status !== 'running'
}

/** Enqueues what follows in the job's chain, if it is in one, together with its success. */
export function goOn(run: Run, result: string | null): void {
  const next = nextInChain(run.job, result)
  if (next === null) return
  if (run.enqueued === null) run.enqueued = [next]
  else run.enqueued.push(next)
  run.handsOn = next.member !== null
  run.next = next.id
}

/** What a run wants to happen together with its success. Most want nothing, and others mostly nothing but jobs. */
function withWishes(run: Run, settlement: Settlement, isBare: boolean): Settlement {
  const { enqueued, groups, move, handsOn } = run
  if (enqueued === null && groups === null && move === null) return settlement
  if (isBare && enqueued !== null && groups === null && move === null) {
    const { space, id, token, verdict } = settlement
    // Written out: to copy it costs more than all the rest of a step of a chain.
    return { space, id, token, verdict, enqueue: enqueued, handsOn }
  }
  return {
    ...settlement,
    ...(enqueued && { enqueue: enqueued }),
    ...(groups && { groups }),
    ...(move && { move }),
    ...(handsOn && { handsOn }),
  }
}

type Success = Extract<Outcome, { kind: 'success' }>

function rolledBack(): { kind: 'error'; failure: Failure } {
  const error = new SkepError(
    'TX_ROLLED_BACK',
    'The handler called complete() in a transaction that did not commit. Commit it before returning, or throw.',
  )
  return { kind: 'error', failure: failureOf('error', error) }
}
