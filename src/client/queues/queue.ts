import { type Duration, type Keep, keepToMs, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { PRIORITY_MODES, type PriorityMode } from '../../core/jobs/priority.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { assertFailurePolicy, assertSuccess, isPolicy } from '../../core/policies/assert-policy.ts'
import { DEFAULT_POLICY, type Ending, type FailurePolicy, type Policy } from '../../core/policies/policy.ts'
import { type Preset, presets } from '../../core/policies/presets.ts'
import { assertOrdinaryQueue } from '../../flows/control-jobs.ts'
import { assertWhole } from '../../worker/options.ts'
import {
  type ResolvedThreadOptions,
  resolveThreadOptions,
  type ThreadOptions,
} from '../../worker/threads/options.ts'
import type { UniqueOptions } from '../enqueue/unique.ts'
import type { DraftOptions, JobDraft } from '../groups/members.ts'
import type { BatchHandlerFunction, HandlerFunction } from './handler-context.ts'
import { type LaneRules, type QueueLaneOptions, resolveLanes } from './lane-options.ts'
import {
  describeIssues,
  type InputOf,
  jsonSchemaOf,
  type OutputOf,
  type SchemaResult,
  type StandardSchema,
} from './schema.ts'

/** What a queue says about all its jobs. Everything has a default. */
export interface QueueOptions<Payload = unknown> extends QueueLaneOptions<Payload> {
  /** Starts from the numbers of an ancestor design; what is said beside it wins. */
  readonly preset?: Preset
  /** The longest a handler may run. `'none'`: as long as it likes, as long as its worker lives. @default 'none' */
  readonly timeout?: Duration | 'none'
  /** What happens to a job whose handler returned. @default archive('3d') */
  readonly onSuccess?: Exclude<Ending, { end: 'bury' }>
  /** What happens when a handler throws. @default retry(20, exponential('1s', { max: '1h' })), about 9 hours */
  readonly onError?: FailurePolicy
  /** What happens when a handler runs out of time. @default retry(12, exponential('5s', { max: '1h' })), about 3 hours */
  readonly onTimeout?: FailurePolicy
  /** What happens when a worker dies with the job. @default retry(5, fixed(0)) */
  readonly onLost?: FailurePolicy
  /** How long cancelled jobs are kept. @default '3d' */
  readonly keepCancelled?: Keep
  /** The priority of its jobs unless an enqueue says otherwise: -100 to 100. @default 0 */
  readonly priority?: number
  /**
   * How its priorities count. `'head-start'`: each step overtakes ten minutes of waiting, and nothing starves.
   * `'strict'`: a higher priority always starts first, however long others wait. @default 'head-start'
   */
  readonly priorityMode?: PriorityMode
  /** The unique key of a job, unless an enqueue gives one. */
  readonly unique?: (payload: Payload) => string | UniqueOptions | undefined
  /**
   * A JSON Schema of the payload, for people: the dashboard makes a form of it. Nothing is checked against it.
   * @default what the `payload` schema tells
   */
  readonly jsonSchema?: Readonly<Record<string, unknown>>
  /** Runs at once in each worker, within that worker's own limit. @default no limit of its own */
  readonly concurrencyPerWorker?: number
}

/** A queue with a description of its payload, and perhaps of its result, that is checked at both ends. */
export interface SchemaQueueOptions<
  Schema extends StandardSchema,
  ResultSchema extends StandardSchema | undefined = undefined,
> extends QueueOptions<InputOf<Schema>> {
  readonly payload: Schema
  readonly result?: ResultSchema
}

/**
 * A line of jobs with one handler, declared once and known to both ends.
 *
 * `Input` is what an enqueue takes, `Result` what the handler returns and `job.result()` gives, and `Output` what
 * the handler gets: the same as `Input`, unless a schema converts it.
 */
export interface Queue<Input = unknown, Result = unknown, Output = Input> {
  readonly name: string
  readonly policy: Policy
  readonly priority: number
  readonly priorityMode: PriorityMode
  readonly concurrencyPerWorker: number
  /** Its lanes and limits. */
  readonly lanes: LaneRules
  /** The key by which its jobs are unique, if it has one. */
  readonly uniqueOf: ((payload: Input) => string | UniqueOptions | undefined) | null
  /** Checks a payload before it is enqueued. Throws `PAYLOAD_INVALID`. */
  readonly check: ((payload: Input) => void | Promise<void>) | null
  /** Checks what a handler returned before it is saved. */
  readonly checkResult: ((result: Result) => void | Promise<void>) | null
  /** Turns a stored payload into what the handler gets. */
  readonly read: (payload: unknown) => Output | Promise<Output>
  /** The JSON Schema of its payload; null if nobody can tell it. It is made when somebody asks, and never throws. */
  readonly jsonSchema: () => unknown
  /** A job of it that is to be, for groups and chains. */
  job(payload: Input, options?: DraftOptions): JobDraft<Result>
  /** Says what to do with its jobs. Give the answer to `skep.worker`. */
  handle(run: HandlerFunction<Output, Result>): Handler
  /** The same for many jobs in one call: the handler answers for each. `size` is the most it gets at once. */
  handleBatch(options: { readonly size: number }, run: BatchHandlerFunction<Output, Result>): Handler
  /**
   * The same in threads, for handlers that keep a CPU busy: the event loop stays free, and a handler that does not end
   * when it shall is killed. `module` is the file that calls `threadHandler` with this queue. To have the compiler
   * compare the two, name the module's type: `handleInThreads<typeof import('./compress.thread.ts')>(…)`.
   */
  handleInThreads<Module extends ThreadModule<Output, Result> = ThreadModule<Output, Result>>(
    module: ThreadFile<Module>,
    options?: ThreadOptions,
  ): Handler
}

/** A file whose default export is a handler for threads. */
export interface ThreadModule<Payload, Result> {
  readonly default: ThreadHandler<Payload, Result>
}

/** Where a module of this type is: a URL, or an absolute path. */
export type ThreadFile<_Module> = URL | string

/** A handler that can run in threads. Made by `threadHandler`. */
export interface ThreadHandler<Payload = unknown, Result = unknown> {
  /** The name of its queue. */
  readonly queue: string
  /** The function itself, for tests and for `queue.handle`. */
  readonly run: HandlerFunction<Payload, Result>
}

/** A queue and what to do with its jobs. */
export interface Handler {
  readonly queue: AnyQueue
  readonly batch: number
  readonly run: HandlerFunction<never, unknown> | BatchHandlerFunction<never, unknown>
  /** Where and how it runs, if in threads. */
  readonly threads?: ResolvedThreadOptions
}

/** A queue whatever its types: what a list of handlers holds. */
export interface AnyQueue
  extends Omit<Queue<never, never, unknown>, 'handle' | 'handleBatch' | 'handleInThreads' | 'job'> {}

const KEYS = optionKeys<SchemaQueueOptions<StandardSchema, StandardSchema>>('queue()', {
  payload: true,
  result: true,
  preset: true,
  timeout: true,
  onSuccess: true,
  onError: true,
  onTimeout: true,
  onLost: true,
  keepCancelled: true,
  priority: true,
  priorityMode: true,
  unique: true,
  jsonSchema: true,
  concurrencyPerWorker: true,
  lane: true,
  lanes: true,
  order: true,
  concurrency: true,
  rate: true,
  limit: true,
  cost: true,
})
const PRESET_NAMES = Object.keys(presets).map((name) => `presets.${name}`)
const BATCH_KEYS = optionKeys<{ readonly size: number }>('handleBatch()', { size: true })

/** Declares a queue, typed by a schema of its payload (zod, valibot, arktype …). */
export function queue<
  Schema extends StandardSchema,
  ResultSchema extends StandardSchema | undefined = undefined,
>(
  name: string,
  options: SchemaQueueOptions<Schema, ResultSchema>,
): Queue<
  InputOf<Schema>,
  ResultSchema extends StandardSchema ? OutputOf<ResultSchema> : unknown,
  OutputOf<Schema>
>
/** Declares a queue, typed by hand: `queue<{ to: string }, { id: string }>('mail.send')`. */
export function queue<Payload = unknown, Result = unknown>(
  name: string,
  options?: QueueOptions<Payload>,
): Queue<Payload, Result>
export function queue(
  name: string,
  options: QueueOptions<never> & { readonly payload?: StandardSchema; readonly result?: StandardSchema } = {},
): Queue<never, never, unknown> {
  assertName('Queue', name)
  assertOptions(KEYS, options)
  const { concurrencyPerWorker = Infinity, priority = 0, priorityMode = 'head-start' } = options
  const { payload: schema, result: resultSchema } = options
  if (concurrencyPerWorker !== Infinity) assertWhole('concurrencyPerWorker', concurrencyPerWorker, 1, 100_000)
  assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
  assertPriorityMode(priorityMode)
  assertSchema(name, 'payload', schema)
  assertSchema(name, 'result', resultSchema)
  const { unique, jsonSchema } = options
  if (unique !== undefined && typeof unique !== 'function') {
    throw new SkepError(
      'OPTION_INVALID',
      `unique of queue ${show(name)} is not a function; use (payload) => payload.orderId.`,
    )
  }
  if (jsonSchema !== undefined && (typeof jsonSchema !== 'object' || jsonSchema === null)) {
    throw new SkepError(
      'OPTION_INVALID',
      `jsonSchema of queue ${show(name)} is ${show(jsonSchema)}; use a JSON Schema as an object.`,
    )
  }

  const policy = resolvePolicy(name, options)
  const lanes = resolveLanes(name, options)
  if (lanes.strict && priority !== 0) {
    throw new SkepError(
      'OPTION_INVALID',
      `Queue ${show(name)} runs its jobs in strict order, so it cannot have a priority. Leave out priority, or order: 'strict'.`,
    )
  }
  const self: Queue<never, never, unknown> = {
    name,
    policy: lanes.holdsLane ? Object.freeze({ ...policy, holdsLane: true }) : policy,
    priority,
    priorityMode,
    concurrencyPerWorker,
    lanes,
    uniqueOf: (options.unique as Queue<never>['uniqueOf']) ?? null,
    check: schema
      ? (payload) => checkWith(schema, `The payload does not fit queue ${show(name)}`, payload)
      : null,
    checkResult: resultSchema
      ? (result) =>
          checkWith(resultSchema, `The result of the handler does not fit queue ${show(name)}`, result)
      : null,
    read: schema ? (payload) => readWith(schema, name, payload) : (payload) => payload,
    jsonSchema: () => options.jsonSchema ?? jsonSchemaOf(schema),
    job: (payload, options = {}) => ({ queue: self, payload, options }),
    handle(run, ...more: unknown[]) {
      assertFunction(name, run)
      assertAlone(name, 'handle(run)', more[0])
      return { queue: self, batch: 1, run: run as HandlerFunction<never, unknown> }
    },
    handleBatch(options, run, ...more: unknown[]) {
      assertOptions(BATCH_KEYS, options ?? null)
      const { size } = options
      assertFunction(name, run)
      assertAlone(name, 'handleBatch({ size }, run)', more[0])
      assertWhole('size', size, 1, 10_000)
      return { queue: self, batch: size, run: run as BatchHandlerFunction<never, unknown> }
    },
    handleInThreads: (module, options) => ({
      queue: self,
      batch: 1,
      run: () =>
        Promise.reject(new SkepError('OPTION_INVALID', 'This handler runs in threads of a worker only.')),
      threads: resolveThreadOptions(module, options),
    }),
  }
  return Object.freeze(self)
}

const CONTROL_QUEUES = new WeakSet<object>()

/** A queue of control jobs of a flow. Only code of this library enqueues jobs in those. */
export function controlQueue<Input>(name: string): Queue<Input> {
  const made = queue<Input>(name)
  CONTROL_QUEUES.add(made)
  return made
}

/** Refuses jobs of callers in queues of control jobs: without a run they would be removed without a trace. */
export function assertEnqueuable(queue: Pick<AnyQueue, 'name'>): void {
  if (CONTROL_QUEUES.has(queue)) return
  assertOrdinaryQueue(
    queue.name,
    'jobs cannot be enqueued in it',
    'Start the flow with skep.start(), or choose another name for the queue.',
  )
}

function assertFunction(queue: string, run: unknown): void {
  if (typeof run === 'function') return
  throw new SkepError(
    'OPTION_INVALID',
    `The handler of queue ${show(queue)} is ${show(run)}; pass a function.`,
  )
}

/** Refuses options where other libraries take them: beside the handler. */
function assertAlone(queue: string, call: string, given: unknown): void {
  if (given === undefined) return
  const names = typeof given === 'object' && given !== null ? Object.keys(given) : []
  const what = names.length === 0 ? show(given) : `{ ${names.join(', ')} }`
  throw new SkepError(
    'OPTION_INVALID',
    `${call} of queue ${show(queue)} takes no options after the handler, and got ${what}. Options of the queue ` +
      `(concurrency, concurrencyPerWorker, rate, timeout, onError) go to queue(${show(queue)}, options), ` +
      'those of the worker (concurrency, lease, poll) to skep.worker(handlers, options).',
    { facts: { place: `queue.${call.slice(0, call.indexOf('('))}()`, name: names[0] ?? null } },
  )
}

function resolvePolicy(name: string, options: QueueOptions<never>): Policy {
  const { preset, timeout, keepCancelled } = options
  if (preset !== undefined && !isPolicy(preset?.queue)) {
    throw new SkepError(
      'OPTION_INVALID',
      `The preset of queue ${show(name)} is ${show(preset)}; use one of: ${PRESET_NAMES.join(', ')}.`,
    )
  }
  const base = preset?.queue ?? DEFAULT_POLICY
  const { onSuccess = base.onSuccess, onError = base.onError } = options
  const { onTimeout = base.onTimeout, onLost = base.onLost } = options
  // What the builders did not make would otherwise show only when the first job ends, in the worker and for every attempt.
  assertSuccess(`onSuccess of queue ${show(name)}`, onSuccess)
  assertFailurePolicy(`onError of queue ${show(name)}`, onError)
  assertFailurePolicy(`onTimeout of queue ${show(name)}`, onTimeout)
  assertFailurePolicy(`onLost of queue ${show(name)}`, onLost)
  return Object.freeze({
    onSuccess,
    onError,
    onTimeout,
    onLost,
    keepCancelledMs:
      keepCancelled === undefined ? base.keepCancelledMs : keepToMs('keepCancelled', keepCancelled),
    timeoutMs: timeout === undefined ? base.timeoutMs : timeoutMs(timeout),
  })
}

/** A time limit in milliseconds; null for none. */
export function timeoutMs(timeout: Duration | 'none'): number | null {
  if (timeout === 'none') return null
  const ms = toMs('timeout', timeout)
  assertWhole('timeout', ms, 1, 365 * 86_400_000)
  return ms
}

export function assertPriorityMode(mode: PriorityMode): void {
  if (PRIORITY_MODES.includes(mode)) return
  throw new SkepError(
    'OPTION_INVALID',
    `priorityMode is ${show(mode)}; use one of: ${PRIORITY_MODES.join(', ')}.`,
  )
}

function assertSchema(name: string, what: string, schema: StandardSchema | undefined): void {
  if (schema === undefined || typeof schema?.['~standard']?.validate === 'function') return
  throw new SkepError(
    'OPTION_INVALID',
    `The ${what} of queue ${show(name)} is not a Standard Schema. Use zod 3.24+, valibot 1+ or arktype 2+, ` +
      'or type the queue by hand: queue<Payload, Result>(name).',
  )
}

function checkWith(schema: StandardSchema, problem: string, value: unknown): void | Promise<void> {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) return result.then((settled) => void accept(settled, problem, false))
  accept(result, problem, false)
}

function readWith(schema: StandardSchema, name: string, payload: unknown): unknown {
  const problem = `A stored payload of queue ${show(name)} does not fit its schema`
  const result = schema['~standard'].validate(payload)
  return result instanceof Promise
    ? result.then((settled) => accept(settled, problem, true))
    : accept(result, problem, true)
}

/** The checked value, or an error. A stored payload that does not fit is poison: trying again would not help. */
function accept(result: SchemaResult<unknown>, problem: string, poison: boolean): unknown {
  if (!result.issues) return result.value
  throw new SkepError('PAYLOAD_INVALID', `${problem}: ${describeIssues(result.issues)}`, {
    facts: { issues: result.issues, poison },
  })
}
