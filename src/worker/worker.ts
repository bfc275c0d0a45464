import { hostname } from 'node:os'
import { messageOf } from '../core/errors.ts'
import type { ClaimedJob } from '../core/jobs/job.ts'
import { DEFAULT_LANE } from '../core/lanes/lanes.ts'
import type { Outcome } from '../core/policies/policy.ts'
import type { Duty } from '../maintenance/background-task.ts'
import { pruneAll } from '../maintenance/prune.ts'
import { Rescuer } from '../maintenance/rescue.ts'
import type { Meter } from '../metrics/counters.ts'
import type { ErrorBook } from '../metrics/error-groups.ts'
import type { Notices } from '../notifier/notices.ts'
import {
  type Hint,
  NO_RANK,
  type Notifier,
  type NotifierHealth,
  roomHint,
  type Subscription,
} from '../notifier/notifier.ts'
import type { Emitter } from '../runtime/emitter.ts'
import type { Logger } from '../runtime/logger.ts'
import { VitalSigns } from '../runtime/process-stats.ts'
import { type Runtime, sleep } from '../runtime/runtime.ts'
import { atMost, type Loop, type LoopHealth, supervise } from '../runtime/supervise.ts'
import type { ClaimCall, ClaimReply, Source, Store, WorkerInfo } from '../store/store.ts'
import { type NamedWish, NoticeBoard } from './claim-by-id.ts'
import { CommandReader, type CommandRecord, isRecalled, Recalls, type RecallTarget } from './commands.ts'
import { eventJob, type WorkerEvents } from './events.ts'
import { Executor, StopSignal } from './executor.ts'
import type { HandlerSpec } from './handler.ts'
import { HeldRuns, LeaseKeeper } from './leases.ts'
import type { Noter } from './log-writer.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import { Window, type WishOptions } from './prefetch.ts'
import { Run } from './runs.ts'
import { Settler } from './settler.ts'
import { Exchange, type Turns } from './store-batcher.ts'

/** A job that waited this long for a slot here is handed back: somebody else may have one free. */
const STALE_MS = 1_000
/** How long a stop waits for outcomes to be saved, then for jobs to be handed back, and then for the last calls to end. */
const SAVE_MS = 10_000
const HAND_BACK_MS = 5_000
const SIGN_OFF_MS = 5_000
/** A duty that is left to others is checked again after this time, without a call: they may have died. */
const NOT_MINE_MS = 5_000
const POLL_WITH_HINTS_MS = 5_000
const POLL_WITHOUT_HINTS_MS = 250
/** A notifier that is down for this long is worth a warning; a shorter time is a reconnection. */
const SILENCE_MS = 10_000
/** With notices the store is searched so often, for what lost its notice or is due by then. */
const SWEEP_MS = 60_000
/** And whether there still are notices is looked at so often, which asks nobody. */
const LOOK_MS = 1_000

/** While no hints flow it looks so often what it was told. */
const COMMAND_POLL_MS = 1_000
const EVERYTHING: RecallTarget = { space: null, queue: null, lane: null }

export interface WorkerParts {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly events: Emitter<WorkerEvents>
  /** Where handlers leave their notes. Several workers may share one. */
  readonly noter: Noter
  /** Where it counts what happens. */
  readonly meter: Meter
  readonly errors: Pick<ErrorBook, 'add'>
  readonly specs: readonly HandlerSpec[]
  /** The space it works in. @default that of its queues */
  readonly space?: string
  readonly options: ResolvedWorkerOptions
  /** Somebody told it to stop. */
  readonly onStopCommand: () => void
  /** How many jobs it can run at once, where that changes. @default the option `concurrency` */
  readonly slots?: () => number
  /** How to judge a job of a queue that was closed meanwhile. */
  readonly strayOf?: (job: { readonly space: string; readonly queue: string }) => HandlerSpec
  /** What else its process does. */
  readonly duties?: readonly Duty[]
}

export interface StopOptions {
  readonly drainMs?: number
  readonly graceMs?: number
}

export interface WorkerHealth {
  /** `degraded`: it lives, but the store does not answer or a loop keeps failing. */
  readonly status: 'running' | 'degraded' | 'stopping' | 'stopped'
  /** Handlers running now. */
  readonly running: number
  /** Jobs claimed that wait for a slot. */
  readonly buffered: number
  /** It claims no more jobs until it is resumed, see `skep.workers.pause`. */
  readonly paused: boolean
  /** Outcomes not yet saved. */
  readonly unsaved: number
  /** Handlers that ignored their signal and were given up, but still run. */
  readonly zombies: number
  readonly loops: readonly LoopHealth[]
  readonly notifier: NotifierHealth
}

/**
 * Takes jobs, runs them, saves how they ended. The parts and the way of a job between them:
 * window (what to claim) → exchange (the store) → executor (handlers) → settler → exchange. The lease keeper
 * renews what is held; the rescuer gives back what dead workers held.
 */
export class WorkerEngine {
  readonly id: string
  readonly #parts: WorkerParts
  readonly #window: Window
  readonly #exchange: Exchange
  readonly #settler: Settler
  readonly #executor: Executor
  readonly #keeper: LeaseKeeper
  readonly #held = new HeldRuns()
  /** The queues that it serves now. */
  #specs: readonly HandlerSpec[]
  readonly #loops: Loop[] = []
  readonly #duties: { readonly duty: Duty; readonly loop: Loop }[] = []
  readonly #startedAt: number
  readonly #commands: CommandReader
  /** There while it is on the list. */
  #vitals: VitalSigns | null = null
  /** It claims no more jobs until it is resumed. */
  #paused = false
  /** Null: the notifier has no notices. */
  readonly #board: NoticeBoard | null
  #subscription: Subscription | null = null
  #poll: Loop | null = null
  /** Since when the notifier is down. */
  #silence: { readonly since: number; isTold: boolean } | null = null
  #dueTimer: { at: number; stop: () => void } | null = null
  #askTimer: { at: number; stop: () => void } | null = null
  /** How far the store's clock is ahead of our monotonic one, from the latest reply: at least, and at most. */
  #storeClock = 0
  #storeClockMost = 0
  #status: 'running' | 'stopping' | 'stopped' = 'running'
  #stopped: Promise<void> | null = null
  /** Ends the drain time of a stop, in which running handlers may finish undisturbed. */
  readonly #drained = new AbortController()
  /** Ends the grace of a stop, in which handlers may end after their signal aborted. */
  readonly #graced = new AbortController()
  #starting = false
  /** When the heartbeat last got through; null while it fails. */
  #renewedAt: number | null
  #becameIdle: (() => void) | null = null
  readonly #recalls = new Recalls()
  /** Lanes that were told to wait where that is not saved yet: by the run, what then ends the local recall. */
  readonly #throttling = new Map<Run, () => void>()
  /** When it last looked what it was told, while no hints flow. */
  #lookedAt = 0
  /** Queues of which others are told, at the end of this turn of the event loop, that there is room. */
  readonly #roomTold = new Set<HandlerSpec>()

  constructor(parts: WorkerParts) {
    const { store, runtime, logger, specs, options } = parts
    this.#parts = parts
    this.id = runtime.uuid()
    this.#startedAt = runtime.now()
    this.#renewedAt = runtime.mono()
    this.#specs = specs
    const slots = parts.slots === undefined ? options.concurrency : Infinity
    this.#window = new Window(specs, slots, store.capabilities)
    this.#executor = new Executor({
      runtime,
      graceMs: options.graceMs,
      onOver: (run, outcome) => this.#over(run, outcome),
      onLate: () => logger.info('A handler that had been given up has ended.'),
    })
    this.#keeper = new LeaseKeeper({
      store,
      runtime,
      leaseMs: options.leaseMs,
      held: () => this.#held.values(),
      onCancel: (run, reason) => this.#cancel(run, reason),
      onLost: (run, refused) => this.#lost(run, refused),
    })
    this.#exchange = new Exchange({
      store,
      runtime,
      logger,
      wish: (options) => this.#wish(options),
      onClaimed: (call, reply, sentAt, turns) => this.#claimed(call, reply, sentAt, turns),
      onClaimFailed: (call, isOver) => this.#claimFailed(call, isOver),
      onEnqueued: (enqueued) => parts.notifier.publish(enqueued.map((one) => ({ kind: 'work', ...one }))),
      onTurn: () => this.#startWaiting(),
    })
    this.#settler = new Settler({
      runtime,
      logger,
      notifier: parts.notifier,
      events: parts.events,
      exchange: this.#exchange,
      noter: parts.noter,
      meter: parts.meter,
      errors: parts.errors,
      origin: {
        worker: this.id,
        ...(parts.options.version === null ? {} : { version: parts.options.version }),
      },
      storeTime: () => this.#storeTime(),
      onHeld: (run) => {
        if (run.isHeld) return
        run.isHeld = true
        this.#window.hold(run.spec, true)
      },
      onApart: (run) => this.#endedApart(run),
      onSettled: (run, result) => {
        this.#release(run)
        if (run.isHeld) this.#window.hold(run.spec, false)
        run.isHeld = false
        if (this.#throttling.size > 0) this.#throttled(run, result.status === 'ok')
        if (this.#window.leavesRoom(run.spec)) this.#tellOfRoom(run.spec)
      },
    })
    this.#commands = new CommandReader({
      store,
      runtime,
      logger,
      space: parts.space ?? specs[0]?.space ?? 'default',
      workerId: this.id,
      obey: (command) => this.#obey(command),
      recall: (target) => this.recall(target),
    })
    const { notices } = parts.notifier
    this.#board = notices === undefined ? null : this.#makeBoard(notices)
  }

  #makeBoard(notices: Notices): NoticeBoard {
    const { store, runtime, logger, notifier, options } = this.#parts
    const specs = this.#specs
    return new NoticeBoard({
      notices,
      notifier,
      store,
      runtime,
      logger,
      specs,
      window: this.#window,
      sweepMs: options.pollMs ?? SWEEP_MS,
      // Asking a little too early costs less than coming again although it is due.
      waitMs: (at) =>
        this.#storeClock === 0 || at <= runtime.mono() + this.#storeClockMost
          ? 0
          : Math.ceil(at - runtime.mono() - this.#storeClock),
      storeTime: () => this.#storeTime(),
      isFailing: () => this.#exchange.failing || !this.#canRenew(),
      nudge: () => this.#exchange.nudge(),
    })
  }

  /**
   * Puts the worker on the list and begins. Resolves when it is ready to take jobs. `awaySince`: since when the
   * store has not answered, if it did not at first.
   */
  async start(awaySince: number | null = null): Promise<void> {
    const { store, notifier, options, runtime, logger } = this.#parts
    try {
      const specs = this.#specs
      const starts = specs.flatMap((spec) => spec.start?.() ?? [])
      if (starts.length > 0) await Promise.all(starts)
      // The store has to know the worker before it holds anything, or nobody would miss it if it died.
      await store.attend({ worker: this.#info() })
    } catch (error) {
      // A start that failed is begun anew, or never again.
      this.#endVitals()
      await this.#stopHandlers()
      throw error
    }
    this.#subscription = notifier.subscribe((hints) => this.#hear(hints))
    this.#board?.open()

    const loop = (name: string, turn: (signal: AbortSignal) => Promise<number>): Loop => {
      // A worker keeps its process alive, and one loop is enough for that.
      const made = supervise(name, { runtime, logger, keepsAlive: name === 'poll' }, turn)
      this.#loops.push(made)
      return made
    }
    const rescuer = new Rescuer({
      store,
      notifier,
      runtime,
      workerId: this.id,
      leaseMs: options.leaseMs,
      graceMs: options.rescueGraceMs,
      sources: () => this.#queues().map((queue) => ({ space: this.#space(), queue })),
      policyOf: (job) => this.#specFor(job).policyOf(job),
      storeTime: () => this.#storeTime(),
      onRescued: (job, failure, state, isDiscarded) => {
        this.#settler.countFailed(job, true, failure, state, null)
        const told = isDiscarded ? 'discarded' : state
        this.#settler.tellFailed('lost', { job: eventJob(job), failure, state: told, durationMs: 0 })
      },
    })
    if (awaySince !== null) rescuer.noticeOutage(awaySince)
    const beatMs = Math.min(10_000, options.leaseMs / 3)
    let lastBeat = runtime.mono()
    loop('heartbeat', async () => {
      try {
        // Leases first: they matter more than being seen.
        await this.#keeper.renewDue()
        if (runtime.mono() - lastBeat >= beatMs * 0.9) {
          await store.attend({ worker: this.#info() })
          lastBeat = runtime.mono()
          void this.#commands.look()
          this.#lookForRecalls(true)
        }
        this.#renewedAt = runtime.mono()
      } catch (error) {
        this.#renewedAt = null
        rescuer.noticeOutage()
        throw error
      }
      this.#exchange.nudge()
      return beatMs / 4
    })
    loop('deadlines', async () => {
      this.#keeper.checkDeadlines()
      this.#handBackStale()
      return this.#keeper.marginMs / 2
    })
    this.#poll = loop('poll', this.#pollTurn())
    loop('rescue', () => rescuer.turn())
    loop('prune', async (signal) => {
      await pruneAll(store, signal)
      return options.pruneMs * (0.5 + runtime.random())
    })
    for (const duty of this.#parts.duties ?? []) {
      const turn = async (signal: AbortSignal): Promise<number> =>
        duty.isForFew && !rescuer.isOneOfFew ? NOT_MINE_MS : duty.turn(signal)
      this.#duties.push({ duty, loop: loop(duty.name, turn) })
    }
  }

  #pollTurn(): () => Promise<number> {
    const { notifier, options, runtime } = this.#parts
    const poll = async (): Promise<number> => {
      this.#window.heat()
      this.#exchange.nudge()
      const hints = notifier.health().status === 'up'
      this.#warnOfSilence()
      this.#lookForRecalls(hints)
      return options.pollMs ?? (hints ? POLL_WITH_HINTS_MS : POLL_WITHOUT_HINTS_MS)
    }
    if (this.#board === null || options.pollMs !== null) return poll
    let sweepAt = runtime.mono()
    return async () => {
      if (notifier.health().status !== 'up') {
        sweepAt = runtime.mono()
        return poll()
      }
      if (runtime.mono() >= sweepAt) {
        await poll()
        // Never later than after the whole time: notices of what is due after it are dropped.
        sweepAt = runtime.mono() + SWEEP_MS * (0.75 + runtime.random() / 4)
      }
      return LOOK_MS
    }
  }

  /** Polling hides that hints do not come, so it is said once. While the store is away too, that is what matters. */
  #warnOfSilence(): void {
    const { notifier, runtime, logger } = this.#parts
    const { status, detail } = notifier.health()
    if (status !== 'down') {
      this.#silence = null
      return
    }
    this.#silence ??= { since: runtime.mono(), isTold: false }
    const isLong = runtime.mono() - this.#silence.since >= SILENCE_MS
    if (!isLong || this.#silence.isTold || this.#exchange.failing) return
    this.#silence.isTold = true
    logger.warn(`The notifier is down, so work is found by polling. ${detail}`)
  }

  health(): WorkerHealth {
    const loops = this.#loops.map((loop) => loop.health())
    const degraded =
      this.#exchange.failing ||
      (this.#loops.length > 0 && !this.#canRenew()) ||
      loops.some((loop) => loop.lastError !== null)
    return {
      status: this.#status === 'running' && degraded ? 'degraded' : this.#status,
      running: this.#window.busy,
      buffered: this.#window.buffered,
      paused: this.#paused,
      unsaved: this.#exchange.pending,
      zombies: this.#executor.zombies,
      loops,
      notifier: this.#parts.notifier.health(),
    }
  }

  /**
   * Stops claiming and hands back what has not started; lets handlers finish for the drain time; aborts the signals of the
   * rest and waits for them for the grace; takes the outcome of those that end, and hands back the others. Leases are
   * renewed throughout. A second call is the same stop: `drainMs: 0` ends its drain time, `graceMs: 0` its grace.
   */
  stop(options: StopOptions = {}): Promise<void> {
    const { drainMs = this.#parts.options.drainMs, graceMs = this.#parts.options.graceMs } = options
    if (drainMs === 0) this.#drained.abort()
    if (graceMs === 0) this.#graced.abort()
    this.#stopped ??= this.#stop(drainMs, graceMs)
    return this.#stopped
  }

  async #stop(drainMs: number, graceMs: number): Promise<void> {
    const { store, runtime, logger } = this.#parts
    this.#status = 'stopping'
    this.#subscription?.end()
    this.#dueTimer?.stop()
    this.#askTimer?.stop()
    this.#board?.close()
    await this.#poll?.stop()
    this.#handBack(this.#window.takeStale(Infinity))
    this.#takeBackUnsent(EVERYTHING)

    await this.#idleWithin(drainMs, this.#drained)
    const left = [...this.#held.values()].filter((run) => run.stage === 'running')
    for (const run of left) run.abort(new StopSignal('stop', 'The worker stops.'))
    // The lease is kept while the handler cleans up, so that the next holder of the job is alone with it.
    await this.#idleWithin(graceMs, this.#graced)
    if (this.#specs.some((spec) => spec.stop !== undefined)) await this.#stopHandlers()
    this.#giveUp(left)

    // The leases are kept until every outcome is saved. A store that is away for long must not keep us for ever:
    // what it could not be told runs again when the leases end.
    if (!(await atMost(runtime, SAVE_MS, this.#exchange.flushed())) && !this.#exchange.failing)
      await atMost(runtime, HAND_BACK_MS, this.#handBackHeld())
    if (this.#exchange.pending > 0)
      logger.warn(`The worker stops with ${this.#exchange.pending} outcomes unsaved; those jobs run again.`)
    this.#exchange.close()
    this.#board?.end()
    this.#endVitals()
    const signedOff = Promise.all(this.#loops.map((loop) => loop.stop()))
      .then(() => store.depart({ workerId: this.id }))
      .catch((error: unknown) => logger.warn(`The worker could not sign off: ${messageOf(error)}`))
    if (!(await atMost(runtime, SIGN_OFF_MS, signedOff)))
      logger.warn('The worker stops without having signed off: the store does not answer.')
    this.#status = 'stopped'
  }

  /** Waits until no handler runs or `ended` aborts, at most this long. */
  async #idleWithin(ms: number, ended: AbortController): Promise<void> {
    if (this.#window.busy === 0) return
    this.#becameIdle = () => ended.abort()
    await sleep(this.#parts.runtime, ms, ended.signal)
    this.#becameIdle = null
  }

  /** Hands back the jobs of handlers that ignored their signal. Holding on would only delay them: this process may end now. */
  #giveUp(runs: readonly Run[]): void {
    const deaf = runs.filter((run) => run.stage === 'running')
    if (deaf.length === 0) return
    const [{ job }] = deaf as [Run]
    const others = deaf.length === 1 ? '' : ` and ${deaf.length - 1} more`
    this.#parts.logger.warn(
      `The handler of job "${job.id}" (queue "${job.queue}")${others} did not end after its signal aborted, so the job is ` +
        'handed back and may start elsewhere while that handler still runs. Pass `signal` on, or raise `grace`.',
    )
    for (const run of deaf) this.#executor.giveUp(run)
  }

  /** Hands back the jobs whose outcomes wait for another transaction. Their leases would delay them and count as lost. */
  async #handBackHeld(): Promise<void> {
    await this.#settler.handBack(await this.#exchange.withdrawHeld())
  }

  async #stopHandlers(): Promise<void> {
    const { runtime, logger, options } = this.#parts
    const stops = Promise.all(this.#specs.flatMap((spec) => spec.stop?.() ?? []))
    if (!(await atMost(runtime, options.graceMs, stops)))
      logger.warn('The worker stops while one of its threads still runs: it does not let itself be ended.')
  }

  #info(): WorkerInfo {
    const { options, slots } = this.#parts
    return {
      id: this.id,
      space: this.#space(),
      host: hostname(),
      pid: process.pid,
      queues: this.#queues(),
      concurrency: slots?.() ?? options.concurrency,
      running: this.#window.busy,
      startedAt: this.#startedAt,
      vitals: this.#readVitals(),
    }
  }

  #readVitals(): string {
    this.#vitals ??= new VitalSigns(this.#parts.runtime, this.#parts.options.version)
    return this.#vitals.read({
      paused: this.#paused,
      prefetched: this.#window.buffered,
      isRelay: this.#parts.slots !== undefined,
    })
  }

  #endVitals(): void {
    this.#vitals?.end()
    this.#vitals = null
  }

  // ── commands ─────────────────────────────────────────────────────────────────────────────────────

  async #obey({ command }: CommandRecord): Promise<void> {
    if (command === 'stop') {
      this.#parts.onStopCommand()
      return
    }
    if (this.#status !== 'running') return
    this.#paused = command === 'pause'
    if (this.#paused) {
      // What has not begun may run elsewhere.
      this.#handBack(this.#window.takeStale(Infinity))
    } else {
      this.#window.heat()
    }
    this.#exchange.nudge()
    // Reported at once, not with the next heartbeat.
    await this.#parts.store.attend({ worker: this.#info() })
  }

  #space(): string {
    return this.#parts.space ?? this.#specs[0]?.space ?? 'default'
  }

  #queues(): readonly string[] {
    return [...new Set(this.#specs.map((spec) => spec.queue))]
  }

  #specFor(job: ClaimedJob): HandlerSpec {
    return this.#window.specFor(job) ?? (this.#parts.strayOf?.(job) as HandlerSpec)
  }

  // ── queues that come and go, and jobs that run outside ────────────────────────────────────────

  /** Serves this queue too, from now on. */
  open(spec: HandlerSpec): void {
    this.#specs = [...this.#specs, spec]
    this.#window.open(spec)
    this.#board?.add(spec)
    this.nudge()
  }

  /** Serves it no longer. What waits goes back; what runs goes on. */
  close(spec: HandlerSpec): void {
    this.#specs = this.#specs.filter((other) => other !== spec)
    this.#board?.remove(spec)
    this.#handBack(this.#window.close(spec))
  }

  /** There may be room for more. */
  nudge(): void {
    // Before it is on the list it must hold nothing.
    if (this.#loops.length === 0) return
    this.#startWaiting()
    this.#exchange.nudge()
  }

  /** The run of a job that this worker holds. */
  runOf(id: string): Run | undefined {
    return this.#held.get(id)
  }

  /** Ends runs that somebody outside had, as he says. Those that are over are passed over. */
  end(ends: readonly { readonly run: Run; readonly outcome: Outcome }[]): void {
    // What waits starts after all of them have made room, not after each.
    const isStarting = this.#starting
    this.#starting = true
    try {
      for (const { run, outcome } of ends) this.#executor.end(run, outcome)
    } finally {
      this.#starting = isStarting
    }
    this.nudge()
  }

  /** Saves how a run ended of which another process held the lease; the store decides whether that still counts. */
  settle(run: Run, outcome: Outcome): void {
    run.stage = 'over'
    this.#settler.settle(run, outcome, 0)
  }

  // ── taking jobs ────────────────────────────────────────────────────────────────────────────────

  #hear(hints: readonly Hint[]): void {
    const { runtime } = this.#parts
    for (const hint of hints) {
      if (hint.kind === 'sync') {
        this.#window.heat()
        this.#lookForRecalls(true)
      } else if (hint.kind === 'recall') {
        this.recall(hint)
      } else if (hint.kind === 'work') {
        if (hint.rank === NO_RANK) this.#window.heatSharing(hint.space)
        if (this.#mayBeDue(hint.dueAt)) this.#window.heat(hint, hint.rank === NO_RANK ? null : hint.rank)
        else if (this.#window.specOf(hint.space, hint.queue))
          this.#wakeIn(hint.dueAt - (runtime.mono() + this.#storeClock))
      } else if (hint.kind === 'cancel') {
        this.#confirmCancel(hint.ids)
      } else if (hint.kind === 'commands') {
        if (hint.space === this.#space()) void this.#commands.look()
      } else if (hint.kind === 'watch' && this.#window.specOf(hint.space, hint.queue)) {
        this.#parts.noter.watch(hint)
      }
      for (const { duty, loop } of this.#duties) if (duty.concerns(hint)) loop.wake()
    }
    this.#exchange.nudgeAtOnce()
  }

  /** Asking a little too early costs less than a job that is there and waits. */
  #mayBeDue(at: number): boolean {
    // The store tells whole milliseconds.
    return this.#storeClock === 0 || at <= this.#parts.runtime.mono() + this.#storeClockMost + 1
  }

  #wish(options: WishOptions): Omit<ClaimCall, 'now'> | null {
    // A worker that cannot renew must not take more.
    if (this.#status !== 'running' || this.#paused || !this.#canRenew()) {
      this.#board?.rest()
      return null
    }
    const { runtime, options: settings } = this.#parts
    const wish = this.#window.wish(options, runtime.mono(), this.#board) ?? this.#wishById(options.least)
    if (this.#window.askAt !== null) this.#askAt(this.#window.askAt)
    if (wish === null) return null
    const token = runtime.uuid()
    this.#recalls.begin(token)
    return { ...wish, workerId: this.id, token, leaseMs: settings.leaseMs }
  }

  #wishById(least: number): NamedWish | null {
    const wish = this.#board === null ? null : this.#board.wish(least)
    if (wish !== null) this.#window.asking(wish.sources)
    return wish
  }

  /** False while heartbeats fail, and while one has been without an answer for too long. */
  #canRenew(): boolean {
    const { runtime, options } = this.#parts
    return this.#renewedAt !== null && runtime.mono() - this.#renewedAt < options.leaseMs
  }

  #claimed(call: Omit<ClaimCall, 'now'>, reply: ClaimReply, sentAt: number, turns: Turns | null): void {
    const { runtime, options } = this.#parts
    const now = runtime.mono()
    this.#storeClock = reply.now - now
    this.#storeClockMost = reply.now - sentAt
    this.#window.took(now - sentAt)
    const leaseUntil = sentAt + options.leaseMs
    let spec: HandlerSpec | undefined
    let runs = reply.jobs.map((job) => {
      // Mostly the same as for the job before it.
      if (spec?.queue !== job.queue || spec.space !== job.space || spec.keys !== undefined) {
        spec = this.#specFor(job)
      }
      const run = new Run(job, spec, leaseUntil, now)
      run.turnSince = turns?.get(job.id) ?? now
      return run
    })
    for (const run of runs) {
      // If the store gave the job anew, the lease of the run we still have is over. Nobody would miss it otherwise.
      const before = this.#held.add(run)
      if (before) this.#lost(before, true)
    }
    const isById = call.ids !== undefined
    const full = isById ? [] : unexhausted(call, reply)
    if (isById) {
      if (!call.again) this.#window.answeredById(call.sources, reply.limited ?? [])
      this.#board?.answered(call, reply)
    } else if (!call.again) this.#window.answered(call.sources, full, reply.limited ?? [])
    if (this.#status !== 'running' || this.#paused) {
      this.#recalls.end(call.token)
      this.#handBack(runs)
      return
    }
    if (!this.#recalls.isEmpty) {
      const recalled = runs.filter(({ job }) => this.#recalls.has(call.token, job))
      if (recalled.length > 0) {
        runs = runs.filter((run) => !recalled.includes(run))
        this.#handBack(recalled)
      }
    }
    this.#recalls.end(call.token)
    this.#handBack(this.#window.add(runs))
    // With notices a queue that gave all it was asked for goes on giving only when nobody tells of jobs.
    if (this.#board === null || !this.#board.isUp) this.#window.reheat(full)
    for (const source of cutShort(call, reply, full)) {
      const { space, queue } = source
      const spec = this.#window.specOf(space, queue)
      if (spec) this.#tellOfRoom(spec)
    }
    if (reply.nextDueAt !== null) this.#wakeIn(reply.nextDueAt - reply.now)
  }

  #claimFailed(call: Omit<ClaimCall, 'now'>, isOver: boolean): void {
    if (isOver) this.#recalls.end(call.token)
    if (call.ids !== undefined) {
      if (!call.again) this.#window.answeredById(call.sources)
      this.#board?.failed(call)
      return
    }
    if (!call.again) this.#window.answered(call.sources, [])
    this.#window.retell(call.sources)
  }

  /** Looks again when the next delayed job is due: a timer of its own, not a tick. */
  #wakeIn(waitMs: number): void {
    const { runtime } = this.#parts
    const at = runtime.mono() + Math.max(1, Math.ceil(waitMs))
    if (this.#dueTimer && this.#dueTimer.at <= at) return
    this.#dueTimer?.stop()
    const look = (): void => {
      this.#dueTimer = null
      this.#window.heat()
      this.#exchange.nudge()
    }
    // It keeps no process alive, and a job waits for it.
    const stop = runtime.timer(at - runtime.mono(), look, { background: true, looksAround: false })
    this.#dueTimer = { at, stop }
  }

  /** Looks again when others have had their time to take what is there. */
  #askAt(at: number): void {
    const { runtime } = this.#parts
    if (this.#askTimer && this.#askTimer.at <= at) return
    this.#askTimer?.stop()
    const nudge = (): void => {
      this.#askTimer = null
      this.#exchange.nudge()
    }
    const waitMs = Math.max(1, Math.ceil(at - runtime.mono()))
    this.#askTimer = { at, stop: runtime.timer(waitMs, nudge, { background: true }) }
  }

  #startWaiting(): void {
    const { events } = this.#parts
    // A handler that answers at once ends its run inside this very loop, which then goes on by itself.
    if (this.#status !== 'running' || this.#starting) return
    this.#starting = true
    try {
      for (
        let runs = this.#window.take(this.#mayStart);
        runs !== null;
        runs = this.#window.take(this.#mayStart)
      ) {
        if (runs.length > 1 || (runs[0] as Run).spec.batch > 1) {
          const batch = { left: runs.length }
          for (const run of runs) run.batch = batch
        }
        if (events.has('received'))
          for (const { job } of runs) events.emit('received', { job: eventJob(job) })
        this.#countStart(runs)
        this.#executor.start(runs)
      }
    } finally {
      this.#starting = false
    }
  }

  #countStart(runs: readonly Run[]): void {
    const now = this.#storeTime()
    const meter = this.#parts.meter.of((runs[0] as Run).spec.queue)
    for (const { job } of runs) meter.started(now - job.dueAt)
  }

  /** A claim may be answered late, and a process may stand still: what is perhaps not ours any more goes back unrun. */
  readonly #mayStart = (run: Run): boolean => {
    if (this.#keeper.isSafe(run)) return true
    this.#handBack([run])
    return false
  }

  // ── ending runs ────────────────────────────────────────────────────────────────────────────────

  #over(run: Run, outcome: Outcome | null): void {
    const { runtime, logger } = this.#parts
    const durationMs = runtime.mono() - run.since
    if (run.batch === null || --run.batch.left === 0) this.#window.free(run.spec, durationMs)
    run.spec.away?.over(run)

    if (outcome === null) {
      this.#release(run)
      run.spec.away?.settled(run, null)
      this.#parts.noter.release(run, false)
      logger.warn(`The lease on job "${run.job.id}" was lost, so its outcome is not saved.`)
    } else {
      if (outcome.kind === 'throttle') this.#throttle(run)
      // The claim that goes along with the outcome finds the room that it makes.
      this.#window.makeRoom(run.spec)
      this.#settler.settle(run, outcome, durationMs)
    }
    if (this.#window.busy === 0) this.#becameIdle?.()
    this.#startWaiting()
    this.#exchange.nudge()
  }

  // The lease is kept until the outcome is saved, however long that takes: nobody else shall run the job meanwhile.
  #release(run: Run): void {
    this.#held.remove(run)
  }

  /** A lease has ended and this worker has no slot for what may start instead: another may. */
  #tellOfRoom(spec: HandlerSpec): void {
    const { runtime, notifier } = this.#parts
    if (this.#roomTold.size === 0) {
      runtime.defer(() => {
        const dueAt = this.#storeTime()
        const hints = [...this.#roomTold].map(({ space, queue }) => roomHint({ space, queue, dueAt }))
        this.#roomTold.clear()
        notifier.publish(hints)
      })
    }
    this.#roomTold.add(spec)
  }

  /** The claim at the end of the run came before its lease ended, so the room is asked for once more. */
  #endedApart({ spec }: Run): void {
    this.#window.makeRoom(spec)
    if (!this.#window.leavesRoom(spec)) return
    this.#exchange.nudge()
    // After the claim, if there is a slot for one.
    this.#parts.runtime.defer(() => {
      if (this.#window.leavesRoom(spec)) this.#tellOfRoom(spec)
    })
  }

  #storeTime(): number {
    const { runtime } = this.#parts
    return this.#storeClock === 0 ? runtime.now() : Math.round(runtime.mono() + this.#storeClock)
  }

  // ── losing, cancelling, handing back ───────────────────────────────────────────────────────────

  #cancel(run: Run, reason: string): void {
    // A job that has not begun goes back, and the store ends it as cancelled because somebody asked for that.
    if (this.#window.remove(run)) this.#handBack([run])
    else this.#executor.stop(run, new StopSignal('cancel', reason))
  }

  #confirmCancel(ids: readonly string[]): void {
    const ours = ids.map((id) => this.#held.get(id)).filter((run) => run !== undefined)
    // A hint decides nothing: the store is asked, by renewing those leases.
    this.#keeper.renew(ours).catch((error: unknown) => {
      this.#parts.logger.warn(
        `Could not look up what was cancelled; the next heartbeat will: ${messageOf(error)}`,
      )
    })
  }

  #lost(run: Run, refused: boolean): void {
    run.holds = !refused
    if (run.stage === 'running') {
      this.#executor.stop(run, new StopSignal('lost', 'The lease was lost: it could not be renewed in time.'))
    } else if (refused && this.#window.remove(run)) {
      this.#handBack([run])
    }
  }

  // ── recalls ────────────────────────────────────────────────────────────────────────────────────

  /** Hands back what it has of a target and has not started: a hold was put on it, or its lane was told to wait. */
  recall(target: RecallTarget): void {
    this.#recalls.add(target)
    this.#takeBack(target)
  }

  #takeBack(target: RecallTarget): void {
    this.#handBack(this.#window.takeRecalled(target))
    this.#takeBackUnsent(target)
  }

  /** The same of jobs for elsewhere: those that have not been sent. */
  #takeBackUnsent(target: RecallTarget): void {
    if (!this.#specs.some(({ away }) => away !== undefined)) return
    const unsent = Array.from(this.#held.values()).filter(
      (run) => run.stage === 'running' && run.spec.away?.isSent(run) === false && isRecalled(target, run.job),
    )
    if (unsent.length > 0) this.end(unsent.map((run) => ({ run, outcome: { kind: 'handback', ran: false } })))
  }

  /** A handler was told "too many requests". Until the store knows that, claims still bring jobs of the lane. */
  #throttle(run: Run): void {
    const target = laneOf(run)
    this.#throttling.set(run, this.#recalls.hold(target))
    this.#takeBack(target)
  }

  #throttled(run: Run, isSaved: boolean): void {
    const saved = this.#throttling.get(run)
    if (saved === undefined) return
    saved()
    this.#throttling.delete(run)
    if (isSaved) this.#parts.notifier.publish([{ kind: 'recall', ...laneOf(run) }])
  }

  /** Hints may be lost: what is held ahead is compared with the holds that stand, and without hints it looks what it was told. */
  #lookForRecalls(hasHints: boolean): void {
    const { store, runtime, logger } = this.#parts
    if (!hasHints && runtime.mono() - this.#lookedAt >= COMMAND_POLL_MS) {
      this.#lookedAt = runtime.mono()
      void this.#commands.look()
    }
    const isAhead = this.#window.buffered > 0 || this.#specs.some(({ away }) => away !== undefined)
    if (!isAhead || this.#held.isEmpty) return
    store.holds({ space: this.#space() }).then(
      ({ holds }) => {
        for (const hold of holds) this.recall(hold)
      },
      (error: unknown) => logger.debug(`A worker could not look which holds stand: ${messageOf(error)}`),
    )
  }

  #handBackStale(): void {
    this.#handBack(this.#window.takeStale(this.#parts.runtime.mono() - STALE_MS))
  }

  #handBack(runs: readonly Run[]): void {
    for (const run of runs) {
      run.stage = 'over'
      this.#window.makeRoom(run.spec)
      if (run.holds) this.#settler.settle(run, { kind: 'handback', ran: false }, 0)
      else this.#release(run)
    }
  }
}

/** The lane of a job; of a queue without lanes that is all of it. */
function laneOf({ job: { space, queue, lane } }: Run): RecallTarget {
  return { space, queue, lane: lane ?? DEFAULT_LANE }
}

/** The sources that may have more: all of them if the claim was filled, else those that gave all they were asked for. */
function unexhausted(call: Omit<ClaimCall, 'now'>, { jobs }: ClaimReply): readonly Source[] {
  if (jobs.length >= call.limit) return call.sources
  if (call.sources.length === 1) return []
  return call.sources.filter(
    ({ space, queue, limit }) =>
      jobs.reduce((sum, job) => sum + (job.space === space && job.queue === queue ? 1 : 0), 0) >= limit,
  )
}

/**
 * Limited sources that the claim did not get to, because others filled it: the room that an ended lease made there is left
 * for whoever has a slot.
 */
function cutShort(
  call: Omit<ClaimCall, 'now'>,
  { jobs, limited = [] }: ClaimReply,
  full: readonly Source[],
): readonly Source[] {
  if (limited.length === 0 || call.sources.length === 1) return []
  return full.filter(
    (source) =>
      limited.includes(call.sources.indexOf(source)) &&
      !jobs.some(({ space, queue }) => space === source.space && queue === source.queue),
  )
}
