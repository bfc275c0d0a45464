import { type Duration, type Keep, keepToMs, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { Membership } from '../../core/flows/groups.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { storedPriority } from '../../core/jobs/priority.ts'
import { encodeHeaders, encodeJson, fits } from '../../core/json/payload.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertJobId, assertKey, show } from '../../core/names.ts'
import { assertOptions, type OptionKeys, optionKeys } from '../../core/options.ts'
import type { Policy } from '../../core/policies/policy.ts'
import type { Instrumentation } from '../../runtime/instrumentation.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { assertWhole } from '../../worker/options.ts'
import { assertCost } from '../queues/lane-options.ts'
import { assertEnqueuable, type Queue, timeoutMs } from '../queues/queue.ts'
import { resolveUnique, type UniqueOptions } from './unique.ts'

export interface EnqueueOptions {
  /** Starts not earlier than this long from now. */
  readonly delay?: Duration
  /** Starts not earlier than this moment; years ahead is fine. A moment in the past means now. */
  readonly runAt?: Date | number
  /** -100 to 100. What a step is worth is the queue's `priorityMode`: ten minutes of waiting, or any. @default the queue's */
  readonly priority?: number
  /** At most one such job at a time; a string is the key, held until the job has ended. */
  readonly unique?: string | UniqueOptions
  /** Short strings that travel with the job: trace ids, tenants, causes. */
  readonly headers?: Readonly<Record<string, string>>
  /** The longest the handler may run, for this job. @default the queue's */
  readonly timeout?: Duration | 'none'
  /** How long this job is kept once done. @default the queue's */
  readonly retention?: Keep
  /**
   * The id of the job, a UUID: unique within its space. Enqueuing it again in the same queue changes nothing and gives the job
   * that is there; in another queue it throws `ID_TAKEN`. For an id from a key of yours see {@link jobIdOf}.
   * @default a new UUIDv7
   */
  readonly id?: string
  /** The key of its lane. @default what the queue's `lane` says */
  readonly lane?: string
  /** How much of a rate, and of its lane's turn, it takes: 1 to 1,000,000. @default the queue's */
  readonly cost?: number
  /** Your open transaction: the job exists if, and only if, it commits. */
  readonly tx?: unknown
}

export const ENQUEUE_KEYS: OptionKeys = optionKeys<EnqueueOptions>('enqueue()', {
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
  tx: true,
})

/**
 * Validates a job before anything is written, and makes what the store gets. The payload is read before it returns, also
 * where a schema checks it asynchronously: what the caller does with the object afterwards does not matter.
 */
export type Prepare = <Input, Result, Output>(
  queue: Queue<Input, Result, Output>,
  payload: Input,
  options: Omit<EnqueueOptions, 'tx'>,
  member?: Membership | null,
  /** The JSON text of an ordinary payload that has no schema, see `ManyTexts`. */
  text?: string,
) => NewJob | Promise<NewJob>

interface PrepareEnv {
  readonly space: string
  readonly runtime: Runtime
  readonly payloadBytes: number
  /** Headers that every job gets besides its own, see {@link Instrumentation.headers}. */
  readonly headers?: Instrumentation['headers']
}

export function makePrepare(env: PrepareEnv): Prepare {
  return (queue, payload, options, member = null, text) => {
    if (typeof queue?.name !== 'string' || queue.lanes === undefined) throw notDeclared(queue)
    if (queue.name.startsWith('flow')) assertEnqueuable(queue)
    assertOptions(ENQUEUE_KEYS, options)
    const checked = queue.check?.(payload)
    if (!(checked instanceof Promise)) {
      return build(env, queue as unknown as Queue<never>, payload, options, member, text)
    }
    let made: () => NewJob
    try {
      const job = build(env, queue as unknown as Queue<never>, payload, options, member, text)
      made = () => job
    } catch (error) {
      // Perhaps only because the payload does not fit: what the schema says of that comes first.
      made = () => {
        throw error
      }
    }
    return checked.then(() => made())
  }
}

function notDeclared(queue: unknown): SkepError {
  const name = typeof queue === 'string' ? show(queue) : "'mail.send'"
  return new SkepError(
    'OPTION_INVALID',
    `The queue of a job is ${show(queue)}; pass a declared queue: const mail = queue(${name}), then skep.enqueue(mail, payload).`,
  )
}

/** Prepares one job for each item, all of them before it returns. Rejects with the error of the first that is not valid. */
export async function prepareAll<Item>(
  items: readonly Item[],
  prepare: (item: Item, index: number) => NewJob | Promise<NewJob>,
): Promise<readonly NewJob[]> {
  const jobs: (NewJob | Promise<NewJob>)[] = []
  let isSlow = false
  for (let index = 0; index < items.length; index++) {
    let made: NewJob | Promise<NewJob>
    try {
      made = prepare(items[index] as Item, index)
    } catch (error) {
      made = Promise.reject(error)
    }
    if (made instanceof Promise) {
      isSlow = true
      // It is awaited below; one that rejects before that is not an unhandled rejection.
      made.catch(() => {})
    }
    jobs.push(made)
  }
  if (!isSlow) return jobs as NewJob[]
  const all: NewJob[] = []
  for (const job of jobs) all.push(await job)
  return all
}

function build(
  env: PrepareEnv,
  queue: Queue<never>,
  payload: unknown,
  options: Omit<EnqueueOptions, 'tx'>,
  member: Membership | null,
  text: string | undefined,
): NewJob {
  const { runAt, priority = queue.priority, id, lane, cost } = options
  const delayMs = assertPlace(queue, options)
  return {
    id: id ?? env.runtime.uuid(),
    space: env.space,
    queue: queue.name,
    payload:
      text !== undefined && fits(text, env.payloadBytes)
        ? text
        : encodeJson('payload', payload, env.payloadBytes),
    headers: headersOf(env, options.headers),
    priority: storedPriority(priority, queue.priorityMode),
    delayMs,
    runAt: runAt === undefined ? null : moment(runAt),
    unique: resolveUnique(options.unique ?? queue.uniqueOf?.(payload as never)),
    overrides: encodeOverrides(options),
    lane: lane ?? queue.lanes.laneOf?.(payload) ?? null,
    strict: queue.lanes.strict,
    cost: cost ?? queue.lanes.costOf(payload),
    member,
  }
}

/** Refuses a place in line that no job of this queue can have. Returns its delay in milliseconds. */
function assertPlace(
  queue: Pick<Queue<never>, 'name' | 'priority' | 'lanes'>,
  { delay, runAt, priority = queue.priority, id, lane, cost }: Omit<EnqueueOptions, 'tx'>,
): number {
  const delayMs = delay === undefined ? 0 : toMs('delay', delay)
  if (priority !== 0) assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
  if (id !== undefined) assertJobId(id)
  if (lane !== undefined) assertKey('lane', lane)
  if (cost !== undefined) assertCost(cost)
  if (queue.lanes.strict && (delayMs > 0 || runAt !== undefined || priority !== 0)) {
    throw new SkepError(
      'OPTION_INVALID',
      `Queue ${show(queue.name)} runs its jobs in strict order, so none can have a delay, a runAt or a priority. Use a queue without order: 'strict' for those.`,
    )
  }
  return delayMs
}

/** Refuses options that no job of this queue can have, where they are declared before there is a job. */
export function assertJobOptions(
  queue: Pick<Queue<never>, 'name' | 'priority' | 'lanes'>,
  options: Omit<EnqueueOptions, 'tx' | 'unique'>,
): void {
  assertEnqueuable(queue)
  assertPlace(queue, options)
  if (options.runAt !== undefined) moment(options.runAt)
  encodeOverrides(options)
  encodeHeaders(options.headers)
}

/** A job's own headers are judged; what is added for others' sake must not make it fail. */
function headersOf({ headers }: PrepareEnv, own: EnqueueOptions['headers']): string | null {
  const encoded = encodeHeaders(own)
  if (headers === undefined) return encoded
  try {
    const added = headers()
    return added === null ? encoded : encodeHeaders({ ...added, ...own })
  } catch {
    return encoded
  }
}

/** A moment as milliseconds, or a clear refusal. */
export function moment(runAt: Date | number): number {
  const ms = runAt instanceof Date ? runAt.getTime() : runAt
  if (Number.isFinite(ms) && ms >= 0 && ms <= 8.64e15) return Math.ceil(ms)
  throw new SkepError(
    'OPTION_INVALID',
    `runAt is ${show(runAt)}; use a valid Date, or milliseconds since 1970.`,
  )
}

/** What one job has of its own, as stored. */
interface Overrides {
  readonly timeoutMs?: number | null
  readonly keepMs?: number
}

export function encodeOverrides({
  timeout,
  retention,
}: Pick<EnqueueOptions, 'timeout' | 'retention'>): string | null {
  if (timeout === undefined && retention === undefined) return null
  const keepMs = retention === undefined ? 0 : keepToMs('retention', retention)
  assertWhole('retention', keepMs, 0, LIMITS.delayMs)
  const overrides: Overrides = {
    ...(timeout === undefined ? {} : { timeoutMs: timeoutMs(timeout) }),
    ...(retention === undefined ? {} : { keepMs }),
  }
  return JSON.stringify(overrides)
}

/** The queue's policy with a job's own options over it. */
export function withOverrides(policy: Policy, stored: string | null): Policy {
  if (stored === null) return policy
  const { timeoutMs: limit, keepMs } = readOverrides(stored)
  return {
    ...policy,
    ...(limit === undefined ? {} : { timeoutMs: limit }),
    ...(keepMs === undefined ? {} : { onSuccess: { end: 'archive', keepMs } }),
  }
}

/** Somebody may have written to the table by hand. What makes no sense is passed over: the queue's own policy is good enough. */
function readOverrides(stored: string): Overrides {
  let read: { readonly timeoutMs?: unknown; readonly keepMs?: unknown } | null
  try {
    read = JSON.parse(stored)
  } catch {
    return {}
  }
  const { timeoutMs: limit, keepMs } = read ?? {}
  return {
    ...(limit === null || isWhole(limit, 1) ? { timeoutMs: limit } : {}),
    ...(isWhole(keepMs, 0) ? { keepMs } : {}),
  }
}

function isWhole(value: unknown, least: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= LIMITS.delayMs
}
