import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { LimitFields } from '../../core/lanes/limit-fields.ts'
import { type Rate, usualBurst } from '../../core/lanes/rate.ts'
import { assertName } from '../../core/names.ts'
import { assertOptions, type OptionKeys, optionKeys } from '../../core/options.ts'
import { assertWhole } from '../../worker/options.ts'

/** How often jobs may start. */
export interface RateOptions {
  /** So many … */
  readonly limit: number
  /** … in this time, evenly spread. 1 ms to 31 days. */
  readonly per: Duration
  /** So many may start at once after a quiet time. @default what comes back in a tenth of a second, at least 1 */
  readonly burst?: number
}

/** Null says that there is no limit; what is left out stays as it is. */
export interface SharedLimitOptions {
  /** Jobs that run at one time, on all machines together. */
  readonly concurrency?: number | null
  readonly rate?: RateOptions | null
}

export interface LaneLimitOptions extends SharedLimitOptions {
  /** Its share beside other lanes: 1 to 1000. @default 1 */
  readonly weight?: number
}

export interface QueueLimitOptions extends SharedLimitOptions {
  /** What holds for each lane that has no limit of its own. */
  readonly lanes?: LaneLimitOptions
  /** The name of the limit that this queue shares with others of its space. */
  readonly shared?: string | null
}

/** What limits are about. */
export type LimitKind = 'queue' | 'lane' | 'shared'

const KEYS: Readonly<Record<LimitKind, OptionKeys>> = {
  queue: optionKeys<QueueLimitOptions>('the limits of a queue', {
    concurrency: true,
    rate: true,
    lanes: true,
    shared: true,
  }),
  lane: optionKeys<LaneLimitOptions>('the limits of a lane', { concurrency: true, rate: true, weight: true }),
  shared: optionKeys<SharedLimitOptions>('a shared limit', { concurrency: true, rate: true }),
}
const RATE_KEYS = optionKeys<RateOptions>('rate', { limit: true, per: true, burst: true })

const MOST_CONCURRENCY = 1_000_000
export const MOST_WEIGHT = 1_000
const MOST_STARTS = 1_000_000_000
/** Rates are counted in microseconds, and their sums must stay exact. */
const LONGEST_PER_MS = 31 * 86_400_000

/** Checks a rate as people write it. `what` names it in errors. */
export function toRate(what: string, options: RateOptions): Rate {
  assertOptions(RATE_KEYS, options ?? null)
  const { limit, per } = options
  assertWhole(`${what}.limit`, limit, 1, MOST_STARTS)
  const perMs = toMs(`${what}.per`, per)
  assertWhole(`${what}.per`, perMs, 1, LONGEST_PER_MS)
  const { burst = usualBurst(limit, perMs) } = options
  // A bucket that takes longer than this to fill would count beyond what numbers can hold.
  assertWhole(`${what}.burst`, burst, 1, Math.max(1, Math.floor((LONGEST_PER_MS * limit) / perMs)))
  return { limit, perMs, burst }
}

/** Checks limits as people write them: of a queue unless `kind` says otherwise. */
export function toLimitFields(
  options: QueueLimitOptions | LaneLimitOptions | SharedLimitOptions,
  kind: LimitKind = 'queue',
): LimitFields {
  if (kind !== 'shared' && (options as { order?: unknown } | null)?.order !== undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      "order cannot be changed at run time: jobs in line have their places already. Declare it in code: queue(name, { order: 'strict' }).",
    )
  }
  assertOptions(KEYS[kind], options ?? null)
  const { lanes, shared, weight, ...own } = options as QueueLimitOptions & LaneLimitOptions
  assertOptions(KEYS.lane, lanes)
  if (shared !== undefined && shared !== null) assertName('Shared limit', shared)
  const { concurrency, rate } = limitFields('', own)
  const each = limitFields('lanes.', lanes ?? {})
  const share = weightOf('weight', weight) ?? weightOf('lanes.weight', lanes?.weight)
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(shared === undefined ? {} : { shared }),
    ...(each.concurrency === undefined ? {} : { laneConcurrency: each.concurrency }),
    ...(each.rate === undefined ? {} : { laneRate: each.rate }),
    ...(share === undefined ? {} : { weight: share }),
  }
}

function limitFields(
  prefix: string,
  { concurrency, rate }: SharedLimitOptions,
): Pick<LimitFields, 'concurrency' | 'rate'> {
  if (concurrency !== undefined && concurrency !== null)
    assertWhole(`${prefix}concurrency`, concurrency, 1, MOST_CONCURRENCY)
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate: rate === null ? null : toRate(`${prefix}rate`, rate) }),
  }
}

function weightOf(what: string, weight: number | undefined): number | undefined {
  if (weight !== undefined) assertWhole(what, weight, 1, MOST_WEIGHT)
  return weight
}

/** Whether it is what `sharedLimit` makes, which has a name as a queue has. */
export function isSharedLimit(
  thing: unknown,
): thing is { readonly name: string; readonly fields: LimitFields } {
  return typeof thing === 'object' && thing !== null && 'name' in thing && 'fields' in thing
}
