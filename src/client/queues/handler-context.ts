import { type Duration, toMs } from '../../core/duration.ts'
import { LeaseLostError, SkepError } from '../../core/errors.ts'
import { givenAtFront, givenIn, withoutChain } from '../../core/flows/chains.ts'
import { shownPriority } from '../../core/jobs/priority.ts'
import { idTakenError } from '../../core/jobs/taken-ids.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { judge } from '../../core/policies/policy.ts'
import { SCHEDULE_HEADER, SLOT_HEADER } from '../../core/schedules/schedule.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { StoreInTransaction } from '../../store/store.ts'
import { type Instruction, instruction } from '../../worker/handler.ts'
import type { Noter } from '../../worker/log-writer.ts'
import { assertWhole } from '../../worker/options.ts'
import type { Run } from '../../worker/runs.ts'
import { goOn } from '../../worker/settler.ts'
import type { EnqueueOptions, Prepare } from '../enqueue/enqueue.ts'
import type { Settled } from '../flows/joins.ts'
import { GROUP_HEADER, GROUP_KEYS, type GroupOptions, type JobDraft, makeGroup } from '../groups/members.ts'
import { type JobLog, jobLog } from '../jobs/logs.ts'
import type { Queue } from './queue.ts'

/** What a handler may answer: its result, or an instruction. */
export type Answer<Result> = Result | Instruction

export type HandlerFunction<Payload, Result> = (
  job: JobContext<Payload, Result>,
) => Answer<Result> | Promise<Answer<Result>>

/** Answers for each job, in order (a result, an instruction, or an Error); returning nothing means all succeeded. */
export type BatchHandlerFunction<Payload, Result> = (
  jobs: readonly JobContext<Payload, Result>[],
) => BatchAnswer<Result> | Promise<BatchAnswer<Result>>

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void.
export type BatchAnswer<Result> = readonly (Answer<Result> | Error)[] | void

/** Return it to be called again later. Counts as a snooze, never as a failure. */
export function snooze(wait: Duration, reason = ''): Instruction {
  const delayMs = toMs('snooze', wait)
  assertWhole('snooze', delayMs, 0, LIMITS.delayMs)
  return instruction('snooze', delayMs, reason)
}

/**
 * Return it when somebody else's limit was hit (a 429): nothing of this job's lane starts until then, and of a queue
 * without lanes nothing at all. The job keeps its place, and it counts as if it had not been taken.
 */
export function rateLimited(until: Duration | Date, reason = ''): Instruction {
  if (until instanceof Date) {
    if (Number.isFinite(until.getTime())) return instruction('throttle', 0, reason, until.getTime())
    throw new SkepError('OPTION_INVALID', 'rateLimited got an invalid Date; use a valid one, or a duration.')
  }
  const delayMs = toMs('rateLimited', until)
  assertWhole('rateLimited', delayMs, 0, LIMITS.delayMs)
  return instruction('throttle', delayMs, reason)
}

/** Return it to end the job as cancelled. */
export function cancel(reason: string): Instruction {
  return instruction('cancel', 0, reason)
}

/** Return it to put the job among the dead at once: trying again would not help. */
export function bury(reason: string): Instruction {
  return instruction('bury', 0, reason)
}

const WITHIN_KEYS = optionKeys<Omit<EnqueueOptions, 'tx'>>('enqueue() of a handler', {
  delay: true,
  runAt: true,
  priority: true,
  unique: true,
  headers: true,
  timeout: true,
  retention: true,
  id: true,
  lane: true,
  cost: true,
})
const COMPLETE_KEYS = optionKeys<{ readonly tx: unknown }>('complete()', { tx: true })

/** What a handler gets: the job, and what it can do while it holds it. */
export class JobContext<Payload = unknown, Result = unknown> {
  readonly id: string
  readonly queue: string
  readonly space: string
  readonly payload: Payload
  /** The key of its lane; null when it has none. */
  readonly lane: string | null
  /** Which run of the job this is, from 1. */
  readonly attempt: number
  readonly #run: Run
  readonly #tools: ContextTools
  #log: JobLog | null = null

  constructor(run: Run, payload: Payload, tools: ContextTools) {
    this.id = run.job.id
    this.queue = run.job.queue
    this.space = run.job.space
    this.payload = payload
    this.lane = run.job.lane
    this.attempt = run.job.starts
    this.#run = run
    this.#tools = tools
  }

  get headers(): Readonly<Record<string, string>> {
    return withoutChain(this.#headers)
  }

  get #headers(): Readonly<Record<string, string>> {
    const { id, headers } = this.#run.job
    try {
      return headers === null ? {} : (JSON.parse(headers) as Record<string, string>)
    } catch (cause) {
      throw new SkepError(
        'PAYLOAD_UNREADABLE',
        `The headers of job "${id}" are not JSON. They are kept as they are; correct them and retry the job.`,
        { cause, facts: { id, poison: true } },
      )
    }
  }

  /** The schedule that made the job, and the moment it stands for; null when it was run by hand. Null for all other jobs. */
  get schedule(): { readonly id: string; readonly slot: Date | null } | null {
    const { [SCHEDULE_HEADER]: id, [SLOT_HEADER]: slot } = this.headers
    return id === undefined ? null : { id, slot: slot === undefined ? null : new Date(slot) }
  }

  /** How often each thing happened to the job before this run. */
  get counters(): {
    readonly errors: number
    readonly timeouts: number
    readonly lost: number
    readonly snoozes: number
  } {
    const { errors, timeouts, lost, snoozes } = this.#run.job
    return { errors, timeouts, lost, snoozes }
  }

  get priority(): number {
    return shownPriority(this.#run.job.priority)
  }

  get enqueuedAt(): Date {
    return new Date(this.#run.job.enqueuedAt)
  }

  /**
   * Aborts when the job shall stop: its time is up, somebody cancelled it, the lease was lost, or the worker
   * stops. After that nothing this run does is saved. Pass it on to `fetch` and the like.
   */
  get signal(): AbortSignal {
    return this.#run.signal
  }

  /** When the time limit ends; null without one. */
  get deadline(): Date | null {
    const { deadline } = this.#run
    return deadline === null ? null : new Date(deadline)
  }

  // Getters, so that a handler may take the functions out of its argument: `({ enqueue }) => …`.

  /**
   * Enqueues a job that exists if, and only if, this run succeeds: it is saved together with the result.
   * Errors in the payload show here, before anything is saved.
   */
  get enqueue(): EnqueueWithin {
    return (queue, payload, options = {}) => this.#enqueue(queue, payload, options)
  }

  /**
   * Saves the success of this job inside your transaction: your changes and the end of the job commit
   * together, so the effect happens exactly once. Throws `LEASE_LOST` when the job is not ours any
   * more: let your transaction roll back. What the handler returns afterwards does not count.
   */
  get complete(): Completing<Result>['complete'] {
    return async (result, options) => {
      assertOptions(COMPLETE_KEYS, options)
      return this.#complete(result, options?.tx)
    }
  }

  /**
   * Says how far the job is, for whoever looks: a number of your choice, usually percent, and a few words. The last
   * one counts. It returns at once and never fails; what is not a number is ignored.
   */
  get progress(): (value: number, note?: string) => void {
    return (value, note) => this.#tools.noter.progress(this.#run, value, note)
  }

  /**
   * Writes a line that is kept with the job: `log('sent')`, `log.warn('slow', { ms })`. It returns at once and never
   * fails. Lines are sent in batches, and all of them by the time the job's end can be seen; a process that dies takes
   * the last moments with it. Of each job the newest 1,000 lines are kept.
   */
  get log(): JobLog {
    this.#log ??= jobLog((level, message, fields) =>
      this.#tools.noter.line(this.#run, level, message, fields),
    )
    return this.#log
  }

  async #enqueue<Input, Other, Output>(
    queue: Queue<Input, Other, Output>,
    payload: Input,
    options: Omit<EnqueueOptions, 'tx'>,
  ): Promise<{ readonly id: string }> {
    assertOptions(WITHIN_KEYS, options)
    const job = await this.#tools.prepare(queue, payload, options)
    this.#assertRuns()
    this.#run.enqueued ??= []
    this.#run.enqueued.push(job)
    if (options.id !== undefined) this.#run.hasGivenIds = true
    return { id: job.id }
  }

  /**
   * What became of the members of the group that enqueued this job, in their order; in a chain, what the job before it
   * gave. Empty for all other jobs.
   */
  get results(): <Other = unknown>() => Promise<readonly Settled<Other>[]> {
    return <Other>() => this.#results() as Promise<readonly Settled<Other>[]>
  }

  /**
   * Enqueues jobs together with the success of this one, and one that follows when they have ended. It holds no slot
   * while they run.
   */
  get spawn(): (drafts: readonly JobDraft[], options?: GroupOptions) => Promise<{ readonly id: string }> {
    return (drafts, options = {}) => this.#spawn(drafts, options)
  }

  async #results(): Promise<readonly Settled<unknown>[]> {
    const { headers } = this.#run.job
    if (headers === null) return []
    const front = givenAtFront(headers)
    if (front !== undefined) return [{ ok: true, result: JSON.parse(front) as unknown }]
    const all = this.#headers
    const given = givenIn(all)
    if (given !== undefined) return [{ ok: true, result: JSON.parse(given) as unknown }]
    const { [GROUP_HEADER]: id } = all
    return id === undefined ? [] : this.#tools.resultsOf(id)
  }

  async #spawn(drafts: readonly JobDraft[], options: GroupOptions): Promise<{ readonly id: string }> {
    assertOptions(GROUP_KEYS, options)
    const { group, jobs } = await makeGroup({ ...this.#tools, space: this.space }, drafts, options)
    this.#assertRuns()
    this.#run.groups = [...(this.#run.groups ?? []), group]
    this.#run.enqueued = [...(this.#run.enqueued ?? []), ...jobs]
    return { id: group.id }
  }

  #assertRuns(): void {
    if (this.#run.stage === 'running' && this.#run.completed === null) return
    throw new SkepError(
      'LEASE_LOST',
      `Job "${this.id}" has ended, so nothing can be enqueued with it. Await enqueue() before complete() and return.`,
      { facts: { jobId: this.id } },
    )
  }

  async #complete(result: Result, tx: unknown): Promise<void> {
    const { within, encodeResult } = this.#tools
    const { job, spec } = this.#run
    const transaction = within(tx)
    const outcome = { kind: 'success', result: encodeResult(result) } as const
    const verdict = judge(spec.policyOf(job), job, outcome, 0)
    goOn(this.#run, outcome.result)
    const { enqueued, groups, handsOn } = this.#run
    const settlement = {
      space: job.space,
      id: job.id,
      token: job.token,
      verdict,
      enqueue: enqueued ?? [],
      handsOn,
    }
    const reply = await transaction.settle({ settlements: [groups ? { ...settlement, groups } : settlement] })
    const [answer] = reply.results
    if (answer?.status === 'refused' && answer.reason === 'taken') throw idTakenError(answer.taken)
    if (answer?.status !== 'ok') throw new LeaseLostError(job.id)
    this.#run.completed = { ...outcome, fired: reply.enqueued ?? [] }
  }
}

/** As a method of an interface, so that a context with a narrower result fits where any context is taken. */
interface Completing<Result> {
  complete(result: Result, options: { readonly tx: unknown }): Promise<void>
}

/** Enqueues a job together with the success of the one that runs. */
export type EnqueueWithin = <Input, Result, Output>(
  queue: Queue<Input, Result, Output>,
  payload: NoInfer<Input>,
  options?: Omit<EnqueueOptions, 'tx'>,
) => Promise<{ readonly id: string }>

export interface ContextTools {
  /** The store inside the user's transaction. */
  readonly within: (tx: unknown) => StoreInTransaction
  /** Where progress and lines go. */
  readonly noter: Pick<Noter, 'progress' | 'line'>
  readonly prepare: Prepare
  readonly runtime: Runtime
  /** What became of the members of a group that have ended, by number. */
  readonly resultsOf: (group: string) => Promise<readonly Settled<unknown>[]>
  readonly encodeResult: (value: unknown) => string | null
}
