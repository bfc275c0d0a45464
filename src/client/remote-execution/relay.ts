import { isDeepStrictEqual } from 'node:util'
import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import { clean, failureOf, reasonFailure } from '../../core/jobs/failure.ts'
import type { Failure, Job } from '../../core/jobs/job.ts'
import { LOG_LEVELS, type LogLevel } from '../../core/jobs/job-log.ts'
import { parseExact } from '../../core/json/lossless-json.ts'
import { encodeJson } from '../../core/json/payload.ts'
import { isInRange, type KeyRange } from '../../core/lanes/key-range.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Outcome, Policy } from '../../core/policies/policy.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import type { SettleResult } from '../../store/store.ts'
import type { RecallTarget } from '../../worker/commands.ts'
import { StopSignal } from '../../worker/executor.ts'
import { type HandlerSpec, isInstruction, LATER } from '../../worker/handler.ts'
import { resolveWorkerOptions, type WorkerOptions } from '../../worker/options.ts'
import { Run } from '../../worker/runs.ts'
import { WorkerEngine, type WorkerHealth, type WorkerParts } from '../../worker/worker.ts'
import { withOverrides } from '../enqueue/enqueue.ts'
import { cancelRest, restOf } from '../groups/insert-with-groups.ts'
import type { ResultReader } from '../jobs/results.ts'
import { Worker } from '../workers/worker.ts'
import { RelayedJob, repeatTokenOf, tokenOf } from './job.ts'
import { RelayPolicies } from './policies.ts'
import { relayedResults, resultsIn } from './results.ts'

/** After a fault of the store a job whose group could not be read is looked at again after this time. */
const AGAIN_MS = 1_000

/** Most jobs give nothing. */
const SUCCESS: Outcome = { kind: 'success', result: null }

/** How a job ended, as whoever ran it says. */
export type RelayEnd =
  /** `text` is the result as JSON text, `value` the same as a value; with neither there is none. */
  | { readonly kind: 'done'; readonly text?: string | null; readonly value?: unknown }
  /** It failed, and the policy of its queue says what comes next. `retryInMs` is the wait if there is a next try. */
  | {
      readonly kind: 'failed'
      readonly message: string
      readonly name?: string
      readonly stack?: string
      readonly retryInMs?: number
    }
  /** Again later. Counts as no failure. */
  | { readonly kind: 'snooze'; readonly delayMs: number; readonly reason: string }
  /** Among the dead, whatever the policy says. */
  | { readonly kind: 'bury'; readonly reason: string }
  | { readonly kind: 'cancel'; readonly reason: string }
  /** Somebody else shall have it. `ran`: whether it was begun, so that its start counts; nothing else does. */
  | { readonly kind: 'back'; readonly ran: boolean }
  /** Whoever had it is gone: counts as lost. */
  | { readonly kind: 'lost'; readonly reason: string }

/**
 * What the store said to an end. `ok`: saved. `lost`: the lease is somebody else's now, or nobody's. `gone`: the job is finished
 * in another way, or removed.
 */
export type RelayWord = 'ok' | 'lost' | 'gone'

/** Why a job that is out shall end. `stopping`: its server stops, and takes its ack, whatever it says, for the grace still. */
export type RelayStop = 'cancelled' | 'timeout' | 'lost' | 'stopping'

const STOP_OF: Readonly<Record<StopSignal['kind'], RelayStop>> = {
  cancel: 'cancelled',
  timeout: 'timeout',
  lost: 'lost',
  stop: 'stopping',
}

export interface RelayOptions<Holder>
  extends Pick<WorkerOptions, 'lease' | 'drain' | 'grace' | 'poll' | 'rescueGrace' | 'prune'> {
  /** What each outcome leads to, for queues that the caller knows better than the store does. */
  readonly policyOf?: (queue: string) => Policy | null
  /** How many jobs can be out at once, for whoever looks at the list of workers. */
  readonly slots: () => number
  /** Whether whoever takes it has been sent it. Left out: as soon as it was given. */
  readonly isSent?: (job: RelayedJob<Holder>) => boolean
  /** The job shall end. Its end still counts for a moment; then it is given up. */
  readonly onStop: (job: RelayedJob<Holder>, why: RelayStop, detail: string) => void
  /** The job is over, by its end or without one: `job.holder` has it no longer. */
  readonly onOver: (job: RelayedJob<Holder>) => void
  /** The store has had its word on the end of a job. */
  readonly onWord: (job: RelayedJob<Holder>, word: RelayWord) => void
  /** It has stopped, perhaps because somebody ordered it to: nothing comes any more. */
  readonly onStopped?: () => void
}

const KEYS = optionKeys<RelayOptions<never>>('workers.relay()', {
  lease: true,
  drain: true,
  grace: true,
  poll: true,
  rescueGrace: true,
  prune: true,
  policyOf: true,
  slots: true,
  isSent: true,
  onStop: true,
  onOver: true,
  onWord: true,
  onStopped: true,
})

/** One queue that a relay serves, and who takes its jobs. All of it is asked often, so it should answer at once. */
export interface RelayLine<Holder> {
  readonly queue: string
  /** Only lanes whose keys are in this range. */
  readonly keys?: KeyRange
  /** How many jobs of it can be out at once. */
  readonly concurrency: () => number
  /** How many more it takes now, and whether there is any such. */
  readonly room: () => number
  readonly hasRoom: () => boolean
  /** Takes a job. Asked for only when there was room. */
  readonly take: (job: RelayedJob<Holder>) => void
}

/** What a foreign end is about: a job that this relay does not hold. */
export interface ForeignEnd {
  readonly id: string
  readonly token: string
  readonly end: RelayEnd
  /** Whether whoever asks may end jobs of this queue. */
  readonly mayEnd: (queue: string) => boolean
  readonly onWord: (word: RelayWord) => void
}

/** What was said of a job, and with which token. Null: nothing. */
interface SaidEnd {
  readonly id: string
  readonly token: string
  readonly end: RelayEnd | null
}

export interface RelayEnv
  extends Omit<WorkerParts, 'specs' | 'options' | 'slots' | 'strayOf' | 'onStopCommand'> {
  readonly space: string
  readonly payloadBytes: number
  readonly results: Pick<ResultReader, 'outcomes'>
  readonly ready: () => Promise<unknown>
  readonly onStopped: () => void
}

/**
 * A worker whose jobs run outside of the process: it claims, keeps the leases, saves the ends, rescues and drains as any other,
 * and hands the jobs over. Made by `skep.workers.relay`. Queues come and go while it runs, and how many jobs are wanted changes at any moment.
 */
export class Relay<Holder = unknown> {
  readonly id: string
  readonly #env: RelayEnv
  readonly #options: RelayOptions<Holder>
  readonly #engine: WorkerEngine
  readonly #worker: Worker
  readonly #policies: RelayPolicies
  readonly #specs = new Map<RelayLine<Holder>, HandlerSpec>()

  constructor(env: RelayEnv, options: RelayOptions<Holder>) {
    assertOptions(KEYS, options ?? null)
    this.#env = env
    this.#options = options
    this.#policies = new RelayPolicies({
      store: env.store,
      space: env.space,
      given: options.policyOf,
      served: () => Array.from(this.#specs.keys(), ({ queue }) => queue),
    })
    const parts: Omit<WorkerParts, 'onStopCommand'> = {
      ...env,
      specs: [],
      options: resolveWorkerOptions(options),
      slots: options.slots,
      duties: [...(env.duties ?? []), this.#policies],
      strayOf: ({ queue }) => this.#strayOf(queue),
    }
    this.#engine = new WorkerEngine({ ...parts, onStopCommand: () => void this.#worker.stop() })
    this.#worker = new Worker(
      {
        ...parts,
        ready: env.ready,
        onStopped: () => {
          env.onStopped()
          options.onStopped?.()
        },
      },
      this.#engine,
    )
    this.id = this.#worker.id
  }

  /** Resolves when it takes jobs. If the store is away it goes on trying. */
  get ready(): Promise<void> {
    return this.#worker.ready
  }

  health(): WorkerHealth {
    return this.#worker.health()
  }

  /** Serves this queue from now on. Resolves when it does; until then it asks the store how the queue was declared. */
  async open(line: RelayLine<Holder>): Promise<void> {
    const { queue } = line
    const refusal = this.refusal(queue)
    if (refusal !== null) throw refusal
    await this.#policies.load(queue)
    if (this.#specs.has(line)) return
    const spec = this.#specOf(line)
    this.#specs.set(line, spec)
    this.#engine.open(spec)
  }

  /** Why jobs of this queue cannot be run outside; null if they can. */
  refusal(queue: string): SkepError | null {
    assertName('Queue', queue)
    if (flowOfQueue(queue) === null) return null
    return new SkepError(
      'NAME_INVALID',
      `Queue ${show(queue)} moves the runs of a flow on, which needs its code. A worker of that flow does it.`,
      { facts: { queue } },
    )
  }

  /** Serves it no longer. Jobs that are out stay out. */
  close(line: RelayLine<Holder>): void {
    const spec = this.#specs.get(line)
    if (spec === undefined) return
    this.#specs.delete(line)
    this.#engine.close(spec)
  }

  /** There may be room for more. */
  nudge(): void {
    this.#engine.nudge()
  }

  /** A job that is out, or whose end is not saved yet. */
  find(id: string): RelayedJob<Holder> | undefined {
    const parcel = this.#engine.runOf(id)?.parcel
    return parcel instanceof RelayedJob ? (parcel as RelayedJob<Holder>) : undefined
  }

  /** Ends jobs that are out. What the store says to it comes by `onWord`, however long the store is away. */
  end(ends: readonly { readonly job: RelayedJob<Holder>; readonly end: RelayEnd }[]): void {
    this.#engine.end(
      ends.map(({ job, end }) => {
        job.end = end
        return { run: RelayedJob.runOf(job as RelayedJob<never>), outcome: this.#outcomeOf(end) }
      }),
    )
  }

  /**
   * Ends jobs that another process handed out, or that are over here. The token says whether that is theirs to do; the store
   * decides whether it still counts. Rejects if the store does not answer.
   */
  async endForeign(ends: readonly ForeignEnd[]): Promise<void> {
    const { store, space } = this.#env
    const { jobs } = await store.get({ space, ids: ends.map(({ id }) => id) })
    for (const [index, foreign] of ends.entries()) await this.#endForeign(foreign, jobs[index] ?? null)
  }

  /** What the store knows of jobs that this relay does not hold: whether the token still does. */
  async standing(
    jobs: readonly { readonly id: string; readonly token: string }[],
    maySee: (queue: string) => boolean,
  ): Promise<readonly ('held' | 'lost' | 'gone')[]> {
    const { store, space } = this.#env
    const { jobs: stored } = await store.get({ space, ids: jobs.map(({ id }) => id) })
    return jobs.map(({ id, token }, index) => {
      const job = stored[index] ?? null
      if (job === null || !maySee(job.queue) || (job.state !== 'running' && !isWaiting(job))) return 'gone'
      const isTheirs =
        job.state === 'running' && job.token !== null && tokenOf({ id, token: job.token }) === token
      return isTheirs ? 'held' : 'lost'
    })
  }

  /** How far a job is. */
  progress(job: RelayedJob<Holder>, value: number, note: string | null): void {
    this.#env.noter.progress(RelayedJob.runOf(job as RelayedJob<never>), value, note)
  }

  /** A line for its log. */
  log(job: RelayedJob<Holder>, level: string, message: string, fields?: unknown): void {
    const known = (LOG_LEVELS as readonly string[]).includes(level) ? (level as LogLevel) : 'info'
    this.#env.noter.line(RelayedJob.runOf(job as RelayedJob<never>), known, message, fields)
  }

  /** Hands back what it has of a target and nobody has been sent. */
  recall(target: RecallTarget): void {
    this.#engine.recall(target)
  }

  /** Takes no more jobs, lets those that are out end within `drain`, and hands the rest back. */
  stop(options: Parameters<Worker['stop']>[0] = {}): Promise<void> {
    return this.#worker.stop(options)
  }

  #specOf(line: RelayLine<Holder>): HandlerSpec {
    const { isSent, onStop, onOver, onWord } = this.#options
    const jobOf = (run: Run): RelayedJob<Holder> | null => run.parcel as RelayedJob<Holder> | null
    return {
      space: this.#env.space,
      queue: line.queue,
      ...(line.keys === undefined ? {} : { keys: line.keys }),
      get concurrency() {
        return line.concurrency()
      },
      batch: 1,
      policyOf: (job) => withOverrides(this.#policies.of(line.queue), job.overrides),
      encodeResult: () => null,
      call: ([run]) => this.#hand(line, run as Run),
      away: {
        room: line.room,
        hasRoom: line.hasRoom,
        covers: ({ lane }) => line.keys === undefined || isInRange(line.keys, lane),
        isSent: (run) => {
          const job = jobOf(run)
          return job !== null && (isSent?.(job) ?? job.holder !== null)
        },
        stop: (run) => {
          const job = jobOf(run)
          const reason = run.abortReason
          if (job === null || !(reason instanceof StopSignal)) return
          onStop(job, STOP_OF[reason.kind], reason.message)
        },
        over: (run) => {
          const job = jobOf(run)
          if (job !== null) onOver(job)
        },
        settled: (run, result) => {
          const job = jobOf(run)
          if (job !== null) this.#report(job, result, (word) => onWord(job, word))
        },
      },
    }
  }

  #hand(line: RelayLine<Holder>, run: Run): unknown {
    const results = resultsIn(run.job.headers)
    if ('given' in results && restOf(run) === null) line.take(new RelayedJob<Holder>(run, results.given))
    else void this.#handLater(line, run, results)
    return LATER
  }

  /** After the rest of its group is cancelled, and what became of the group is read. */
  async #handLater(line: RelayLine<Holder>, run: Run, results: ReturnType<typeof resultsIn>): Promise<void> {
    try {
      const wait = await cancelRest(this.#env, run)
      if (isInstruction(wait)) return this.#putOff(run, wait.delayMs, wait.reason)
      const given =
        'given' in results ? results.given : relayedResults(await this.#env.results.outcomes(results.group))
      if (run.stage === 'running') line.take(new RelayedJob<Holder>(run, given))
    } catch (error) {
      if (error instanceof StoreError && error.transient) {
        this.#putOff(run, AGAIN_MS, `The results of the group cannot be read yet: ${messageOf(error)}`)
      } else this.#engine.end([{ run, outcome: { kind: 'error', failure: failureOf('error', error) } }])
    }
  }

  /** A store that is away is no fault of whoever would run the job. */
  #putOff(run: Run, delayMs: number, reason: string): void {
    this.#engine.end([
      { run, outcome: { kind: 'snooze', delayMs, failure: reasonFailure('snooze', reason) } },
    ])
  }

  /** For a job of a queue that is not served here any more. */
  #strayOf(queue: string): HandlerSpec {
    return {
      space: this.#env.space,
      queue,
      concurrency: 0,
      batch: 1,
      policyOf: (job) => withOverrides(this.#policies.of(queue), job.overrides),
      encodeResult: () => null,
      call: () => LATER,
    }
  }

  async #endForeign(foreign: ForeignEnd, job: Job | null): Promise<void> {
    const { id, token, end, mayEnd, onWord } = foreign
    if (job === null || !mayEnd(job.queue)) return onWord('gone')
    if (job.state !== 'running') {
      return onWord(this.#isSaved(foreign, job) ? 'ok' : isWaiting(job) ? 'lost' : 'gone')
    }
    if (job.token === null || tokenOf({ id, token: job.token }) !== token) return onWord('lost')
    await this.#policies.load(job.queue)
    const spec: HandlerSpec = {
      ...this.#strayOf(job.queue),
      away: {
        room: () => 0,
        hasRoom: () => false,
        covers: () => true,
        isSent: () => true,
        stop: () => {},
        over: () => {},
        settled: (_run, result) => this.#report(foreign, result, onWord),
      },
    }
    const outcome = this.#outcomeOf(end)
    const run = new Run({ ...job, token: job.token }, spec, 0, 0)
    run.repeatToken = repeatTokenOf(token, outcome)
    this.#engine.settle(run, outcome)
  }

  /** Reports what became of an end. One that is refused may have been saved before, by another server that received the same. */
  #report(said: SaidEnd, result: SettleResult | null, onWord: (word: RelayWord) => void): void {
    const word = wordOf(result)
    if (word === 'ok' || said.end === null) {
      onWord(word)
      return
    }
    const { store, space } = this.#env
    store.get({ space, ids: [said.id] }).then(
      ({ jobs: [job] }) => onWord(job && this.#isSaved(said, job) ? 'ok' : word),
      () => onWord(word),
    )
  }

  /** Whether this end of a job has been saved: by this server or by another, for the holder or in its place. */
  #isSaved({ id, token, end }: SaidEnd, job: Job): boolean {
    if (end === null || job.token === null || job.state === 'running') return false
    const outcome = this.#outcomeOf(end)
    if (job.token === repeatTokenOf(token, outcome)) return true
    if (tokenOf({ id, token: job.token }) !== token || !leadsTo(end, job.state)) return false
    return outcome.kind !== 'success' || isSameJson(outcome.result ?? null, job.result)
  }

  #outcomeOf(end: RelayEnd): Outcome {
    switch (end.kind) {
      case 'done':
        return this.#success(end)
      case 'failed': {
        const failure = failureFrom(end)
        const { retryInMs } = end
        return retryInMs === undefined
          ? { kind: 'error', failure }
          : { kind: 'error', failure, delayMs: delay(retryInMs) }
      }
      case 'snooze': {
        const failure = end.reason === '' ? null : reasonFailure('snooze', end.reason)
        return { kind: 'snooze', delayMs: delay(end.delayMs), failure }
      }
      case 'bury':
      case 'cancel':
      case 'lost':
        return { kind: end.kind, failure: reasonFailure(end.kind, end.reason) }
      case 'back':
        return { kind: 'handback', ran: end.ran }
    }
  }

  /** A result that cannot be stored is an error of whoever ran the job, as it is of a handler. */
  #success({ text, value }: Extract<RelayEnd, { kind: 'done' }>): Outcome {
    try {
      if (typeof text === 'string' && text !== '') {
        return {
          kind: 'success',
          result: encodeJson('result', parseExact('result', text), this.#env.payloadBytes),
        }
      }
      if (value === undefined) return SUCCESS
      return { kind: 'success', result: encodeJson('result', value, this.#env.payloadBytes) }
    } catch (error) {
      const known = error instanceof SkepError
      const cause = known ? error : new Error(`The result is not JSON: ${messageOf(error)}`)
      return { kind: 'error', failure: failureOf('error', cause) }
    }
  }
}

function failureFrom({ message, name, stack }: Extract<RelayEnd, { kind: 'failed' }>): Failure {
  return {
    kind: 'error',
    message: clean(message, LIMITS.errorMessageBytes),
    ...(name ? { name: clean(name, 128) } : {}),
    ...(stack ? { stack: clean(stack, LIMITS.errorStackBytes) } : {}),
  }
}

function delay(ms: number): number {
  return Number.isFinite(ms) ? Math.min(LIMITS.delayMs, Math.max(0, Math.ceil(ms))) : 0
}

function wordOf(result: SettleResult | null): RelayWord {
  if (result?.status === 'ok') return 'ok'
  return result?.status === 'refused' && result.reason === 'gone' ? 'gone' : 'lost'
}

function isSameJson(a: string | null, b: string | null): boolean {
  return a === b || (a !== null && b !== null && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)))
}

function isWaiting({ state }: Job): boolean {
  return state === 'ready' || state === 'delayed'
}

/** Whether a job is where this end would have brought it, so that saying it again changes nothing. */
function leadsTo(end: RelayEnd, state: Job['state']): boolean {
  switch (end.kind) {
    case 'done':
      return state === 'done'
    case 'cancel':
      return state === 'cancelled'
    case 'bury':
      return state === 'dead'
    case 'failed':
    case 'lost':
      return state !== 'done'
    case 'snooze':
    case 'back':
      return state === 'ready' || state === 'delayed' || state === 'cancelled'
  }
}
