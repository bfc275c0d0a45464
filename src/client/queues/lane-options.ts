import { SkepError } from '../../core/errors.ts'
import type { LimitFields } from '../../core/lanes/limit-fields.ts'
import { assertKey, assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { LimitTarget } from '../../store/limits.ts'
import { assertWhole } from '../../worker/options.ts'
import {
  type LaneLimitOptions,
  MOST_WEIGHT,
  type RateOptions,
  type SharedLimitOptions,
  toLimitFields,
} from './limit-options.ts'

/** What holds for each lane of a queue. */
export interface LaneOptions {
  /** Jobs of one lane that run at one time, on all machines together. @default no limit */
  readonly concurrency?: number
  /** How often jobs of one lane may start. @default no limit */
  readonly rate?: RateOptions
  /** `'strict'`: the jobs of a lane run one at a time, in the order in which they were enqueued, through every retry. */
  readonly order?: 'strict'
  /**
   * What happens in a strict lane when a job's tries are used up: the lane goes on without it (`'skip'`), or it is
   * paused with the job still in front, until somebody resumes it (`'hold'`). @default 'skip'
   */
  readonly failing?: 'skip' | 'hold'
  /** Each lane's share beside the others, 1 to 1000; or the shares of some, by key, and 1 for the rest. @default 1 */
  readonly weight?: number | Readonly<Record<string, number>>
}

const LANES_KEYS = optionKeys<LaneOptions>('lanes', {
  concurrency: true,
  rate: true,
  order: true,
  failing: true,
  weight: true,
})

/** What a queue says about order and limits. All of it holds for all workers on all machines together. */
export interface QueueLaneOptions<Payload> {
  /** The key of a job's lane: a tenant, an account, a document. Jobs without one share the default lane. */
  readonly lane?: (job: { readonly payload: Payload }) => string | undefined
  readonly lanes?: LaneOptions
  /** `'strict'`: the whole queue runs one job at a time, in the order in which they were enqueued. */
  readonly order?: 'strict'
  /** Jobs of this queue that run at one time, on all machines together. @default no limit */
  readonly concurrency?: number
  /** How often jobs of this queue may start. @default no limit */
  readonly rate?: RateOptions
  /** A limit that several queues share, made by {@link sharedLimit}. */
  readonly limit?: SharedLimit
  /** How much of a rate, and of its lane's turn, a job takes: 1 to 1,000,000. @default 1 */
  readonly cost?: number | ((job: { readonly payload: Payload }) => number)
}

/** A limit that several queues share. Give it to each as its `limit`. */
export interface SharedLimit {
  readonly name: string
  readonly fields: LimitFields
}

/**
 * Declares a limit that several queues of a space share: together they run, and start, no more than it says.
 *
 *     const api = sharedLimit('billing-api', { concurrency: 5, rate: { limit: 100, per: '1m' } })
 *     const charge = queue('charge', { limit: api })
 *     const refund = queue('refund', { limit: api })
 */
export function sharedLimit(name: string, options: SharedLimitOptions): SharedLimit {
  assertName('Shared limit', name)
  return Object.freeze({ name, fields: toLimitFields(options, 'shared') })
}

/** What code says about one target. */
export interface Declaration {
  readonly target: LimitTarget
  readonly fields: LimitFields
}

/** What is known of a queue's lanes once its options are checked. */
export interface LaneRules {
  readonly laneOf: ((payload: unknown) => string | null) | null
  readonly costOf: (payload: unknown) => number
  readonly strict: boolean
  readonly holdsLane: boolean
  /** What its workers tell the store about it; empty when it has no limits. */
  readonly declared: readonly Declaration[]
}

export function resolveLanes(name: string, options: QueueLaneOptions<never>): LaneRules {
  const { lane, lanes = {}, limit, order, cost } = options
  assertOptions(LANES_KEYS, lanes)
  if (lane !== undefined && typeof lane !== 'function') {
    throw optionError(`lane of queue ${show(name)} is not a function; use ({ payload }) => payload.tenantId.`)
  }
  if (lane !== undefined && order !== undefined) {
    throw optionError(`Queue ${show(name)} has lanes, so say lanes: { order: 'strict' } instead of order.`)
  }
  assertOneOf('order', order, ['strict'])
  assertOneOf('lanes.order', lanes.order, ['strict'])
  const strictness = order ?? lanes.order
  assertOneOf('lanes.failing', lanes.failing, ['skip', 'hold'])
  if (lanes.failing !== undefined && strictness === undefined) {
    throw optionError("lanes.failing is about strict lanes; add order: 'strict'.")
  }
  if (limit !== undefined && (typeof limit?.name !== 'string' || limit.fields === undefined)) {
    throw optionError(
      `limit of queue ${show(name)} is not a shared limit; make one with sharedLimit(name, …).`,
    )
  }
  if (cost !== undefined && typeof cost !== 'function') assertCost(cost)
  assertWeight(lanes.weight)

  return {
    laneOf: lane ? (payload) => keyOf(lane, payload) : null,
    costOf: typeof cost === 'function' ? (payload) => costOf(cost, payload) : () => cost ?? 1,
    strict: strictness === 'strict',
    holdsLane: lanes.failing === 'hold',
    declared: declarationsOf(name, options, strictness === 'strict'),
  }
}

function declarationsOf(
  queue: string,
  { lane, lanes = {}, concurrency, rate, limit }: QueueLaneOptions<never>,
  strict: boolean,
): Declaration[] {
  const { weight, concurrency: laneConcurrency, rate: laneRate } = lanes
  const each: LaneLimitOptions = {
    ...(laneConcurrency === undefined ? {} : { concurrency: laneConcurrency }),
    ...(laneRate === undefined ? {} : { rate: laneRate }),
    ...(typeof weight === 'number' ? { weight } : {}),
  }
  const fields: LimitFields = {
    ...toLimitFields({
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(rate === undefined ? {} : { rate }),
      lanes: each,
    }),
    ...(limit ? { shared: limit.name } : {}),
    ...(strict ? { strict } : {}),
  }
  if (lane === undefined && Object.keys(fields).length === 0 && weight === undefined) return []
  const own = typeof weight === 'object' ? Object.entries(weight) : []
  return [
    { target: { queue }, fields },
    ...own.map(([key, share]): Declaration => {
      assertKey('lanes.weight', key)
      return { target: { queue, lane: key }, fields: toLimitFields({ weight: share }, 'lane') }
    }),
    ...(limit ? [{ target: { shared: limit.name }, fields: limit.fields }] : []),
  ]
}

function keyOf(lane: (job: { payload: never }) => string | undefined, payload: unknown): string | null {
  const key = lane({ payload: payload as never })
  if (key === undefined || key === null) return null
  assertKey('lane', key)
  return key
}

function costOf(cost: (job: { payload: never }) => number, payload: unknown): number {
  const found = cost({ payload: payload as never })
  assertCost(found)
  return found
}

function assertWeight(weight: LaneOptions['weight']): void {
  if (weight === undefined || typeof weight === 'number') return
  const isMap = typeof weight === 'object' && weight !== null && !Array.isArray(weight)
  if (isMap) for (const share of Object.values(weight)) assertWhole('lanes.weight', share, 1, MOST_WEIGHT)
  else throw optionError(`lanes.weight is ${show(weight)}; use a number, or numbers by key: { acme: 5 }.`)
}

export function assertCost(cost: number): void {
  assertWhole('cost', cost, 1, 1_000_000)
}

function assertOneOf(what: string, value: unknown, known: readonly string[]): void {
  if (value === undefined || known.includes(value as string)) return
  throw optionError(`${what} is ${show(value)}; use ${known.map((one) => `'${one}'`).join(' or ')}.`)
}

function optionError(message: string): SkepError {
  return new SkepError('OPTION_INVALID', message)
}

/** Whether a queue was declared with a limit that other queues may share. */
export function sharesLimit(queue: {
  readonly lanes: { readonly declared: readonly Declaration[] }
}): boolean {
  return queue.lanes.declared.some(({ fields }) => typeof fields.shared === 'string')
}
