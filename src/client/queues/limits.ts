import { SkepError } from '../../core/errors.ts'
import { type LimitFields, overlaid } from '../../core/lanes/limit-fields.ts'
import type { Rate } from '../../core/lanes/rate.ts'
import { assertName } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import type { LimitRecord, LimitTarget } from '../../store/limits.ts'
import type { Store } from '../../store/store.ts'
import { assertLane, wake } from './holds.ts'
import type { SharedLimit } from './lane-options.ts'
import {
  isSharedLimit,
  type LaneLimitOptions,
  type LimitKind,
  type QueueLimitOptions,
  type SharedLimitOptions,
  toLimitFields,
} from './limit-options.ts'

type QueueName = string | { readonly name: string }

/** A queue, one of its lanes (`''` is the lane of jobs without one), or a limit that several queues share. */
export type Limitable =
  | SharedLimit
  | QueueName
  | { readonly queue: QueueName; readonly lane?: string }
  | { readonly shared: string }

/** Limits as they are shown: the words in which they are set. */
export interface LimitsSaid {
  readonly concurrency?: number | null
  readonly rate?: RateView | null
  readonly lanes?: {
    readonly concurrency?: number | null
    readonly rate?: RateView | null
    readonly weight?: number
  }
  readonly shared?: string | null
  /** Of one lane. */
  readonly weight?: number
  /** `'strict'`: each lane runs one job at a time, in the order of arrival. */
  readonly order?: 'strict'
}

export interface RateView {
  readonly limit: number
  /** In milliseconds. */
  readonly per: number
  readonly burst: number
}

export interface LimitView {
  readonly target: LimitTarget
  /** What code says. */
  readonly declared: LimitsSaid | null
  /** What was changed by hand since. */
  readonly changed: LimitsSaid | null
  /** What holds: the changes over the declaration, word by word. */
  readonly limits: LimitsSaid
}

interface LimitsEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly space: string
  readonly ready: () => Promise<unknown>
  /** The store with the patience of an enqueue, see {@link patientStore}, and the check before its first call. */
  readonly patient: Store
  readonly readyToWrite: () => Promise<unknown>
}

/** Limits at run time: they hold for all workers on all machines, from the answer on. */
export class Limits {
  readonly #env: LimitsEnv

  constructor(env: LimitsEnv) {
    this.#env = env
  }

  /**
   * Changes limits. What is left out stays as it is, null takes a limit away, and jobs that run already count. It
   * counts more than what code declares, also after a restart, until {@link Limits.reset}.
   */
  set(target: SharedLimit | { readonly shared: string }, limits: SharedLimitOptions): Promise<LimitView>
  set(
    target: { readonly queue: QueueName; readonly lane: string },
    limits: LaneLimitOptions,
  ): Promise<LimitView>
  set(target: QueueName | { readonly queue: QueueName }, limits: QueueLimitOptions): Promise<LimitView>
  async set(
    target: Limitable,
    limits: QueueLimitOptions | LaneLimitOptions | SharedLimitOptions,
  ): Promise<LimitView> {
    const chosen = toLimitTarget(target)
    const fields = toLimitFields(limits, kindOf(chosen))
    if (Object.keys(fields).length === 0) {
      throw new SkepError(
        'OPTION_INVALID',
        'Name at least one limit to change, or call limits.reset(target).',
      )
    }
    return this.#say(chosen, fields)
  }

  /** Takes back all that was changed at run time: what code declares counts again. */
  async reset(target: Limitable): Promise<LimitView> {
    return this.#say(toLimitTarget(target), null)
  }

  /** What was said about limits, in code and at run time: all of the space, queue by queue, or one queue with its lanes. */
  async list(queue?: QueueName): Promise<readonly LimitView[]> {
    const { store, space, ready } = this.#env
    const name = queue === undefined ? undefined : nameOf(queue)
    await ready()
    const { limits } = await store.limits(name === undefined ? { space } : { space, queue: name })
    return limits.toSorted((a, b) => compare(orderOf(a), orderOf(b))).map(limitView)
  }

  async #say(target: LimitTarget, fields: LimitFields | null): Promise<LimitView> {
    const { patient, notifier, space, readyToWrite } = this.#env
    await readyToWrite()
    const { limits } = await patient.setLimits({ space, limits: [{ target, by: 'hand', fields }] })
    // There may be room now. Whoever shares a limit is not known here.
    notifier.publish([wake({ space, queue: 'queue' in target ? target.queue : null })])
    return limitView(limits[0] as LimitRecord)
  }
}

const SHARED_TARGET_KEYS = optionKeys<{ shared: string }>('the target', { shared: true })
const TARGET_KEYS = optionKeys<{ queue: QueueName; lane: string; shared: string }>('the target', {
  queue: true,
  lane: true,
  shared: true,
})

function toLimitTarget(target: Limitable): LimitTarget {
  if (isSharedLimit(target)) return { shared: target.name }
  if (typeof target === 'string' || typeof (target as { name?: unknown } | null)?.name === 'string') {
    return { queue: nameOf(target as QueueName) }
  }
  if (typeof (target as { shared?: unknown } | null)?.shared === 'string') {
    assertOptions(SHARED_TARGET_KEYS, target as object)
    const { shared } = target as { readonly shared: string }
    assertName('Shared limit', shared)
    return { shared }
  }
  assertOptions(TARGET_KEYS, (target as object) ?? null)
  const { queue, lane } = target as { readonly queue: QueueName; readonly lane?: string }
  const name = nameOf(queue)
  // A variable that turned out empty must not mean the whole queue.
  if (!Object.hasOwn(target as object, 'lane')) return { queue: name }
  assertLane(lane)
  return { queue: name, lane }
}

function nameOf(queue: QueueName): string {
  const name = typeof queue === 'string' ? queue : (queue as { name?: unknown } | null | undefined)?.name
  assertName('Queue', name)
  return name
}

export function kindOf(target: LimitTarget): LimitKind {
  if ('shared' in target) return 'shared'
  return target.lane === undefined ? 'queue' : 'lane'
}

/** Queue by queue, each before its lanes; then what is shared. */
function orderOf({ target }: LimitRecord): readonly string[] {
  if ('shared' in target) return ['1', target.shared]
  return ['0', target.queue, ...(target.lane === undefined ? [] : [target.lane])]
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  if (at < 0) return a.length - b.length
  return (a[at] as string) < (b[at] ?? '') ? -1 : 1
}

function limitView({ target, declared, changed }: LimitRecord): LimitView {
  const kind = kindOf(target)
  return {
    target,
    declared: declared && said(declared, kind),
    changed: changed && said(changed, kind),
    limits: said(overlaid(declared, changed), kind),
  }
}

function said(fields: LimitFields, kind: LimitKind): LimitsSaid {
  const { concurrency, rate, shared, laneConcurrency, laneRate, strict, weight } = fields
  const isQueue = kind === 'queue'
  const lanes = {
    ...(laneConcurrency === undefined ? {} : { concurrency: laneConcurrency }),
    ...(laneRate === undefined ? {} : { rate: laneRate && rateView(laneRate) }),
    ...(weight === undefined || !isQueue ? {} : { weight }),
  }
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate: rate && rateView(rate) }),
    ...(Object.keys(lanes).length === 0 ? {} : { lanes }),
    ...(shared === undefined ? {} : { shared }),
    ...(weight === undefined || isQueue ? {} : { weight }),
    ...(strict === true ? { order: 'strict' } : {}),
  }
}

export function rateView({ limit, perMs, burst }: Rate): RateView {
  return { limit, per: perMs, burst }
}
