import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { covers, type Hold, type HoldKind, type HoldTarget, holdKey } from '../../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertKey, assertName, assertPattern, show, utf8Bytes } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Hint, Notifier } from '../../notifier/notifier.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { renewNotices } from '../jobs/renew-notices.ts'
import { isSharedLimit } from './limit-options.ts'
import { type Recallable, recall, untilRecalled } from './recall.ts'

/**
 * What a hold is on: a queue, by its name or itself; all queues whose names fit a pattern, in which `*` stands for
 * anything; one lane of a queue (`''` is the lane of jobs without one); the whole space of this Skep (`{}`); or every
 * space (`everywhere`).
 */
export type Holdable =
  | string
  | { readonly name: string }
  | { readonly queue: string | { readonly name: string }; readonly lane: string }
  | { readonly queue?: string | { readonly name: string }; readonly everywhere?: boolean }

export interface HoldOptions {
  /** Why, for whoever looks: up to 4,096 bytes. */
  readonly reason?: string
  /** Who says so. */
  readonly by?: string
  /** It ends by itself after this time. @default it stays until it is taken away */
  readonly for?: Duration
  /**
   * Waits until every live worker has handed back what it had taken before and not started, so that after the answer only jobs
   * inside handlers go on. Rejects with `HOLD_UNCONFIRMED` if some did not in time; the hold stands all the same. @default false
   */
  readonly wait?: boolean
  /** How long `wait` waits. @default '30s' */
  readonly timeout?: Duration
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

/** A hold as it is shown. */
export interface HoldView {
  readonly kind: HoldKind
  /** Null: every space. */
  readonly space: string | null
  /** A name or a pattern. Null: every queue. */
  readonly queue: string | null
  /** Null: all of it. */
  readonly lane: string | null
  readonly reason: string | null
  readonly by: string | null
  readonly since: Date
  /** When it ends by itself; null: when somebody takes it away. */
  readonly until: Date | null
}

export interface HoldSummary {
  /** All that keeps back the whole target now, whoever put it there. Empty: it runs. */
  readonly holds: readonly HoldView[]
}

export interface ReleaseSummary extends HoldSummary {
  /** Whether there was one to take away. */
  readonly released: boolean
}

export interface HoldEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly ready: () => Promise<unknown>
  /** The store with the patience of an enqueue, see {@link patientStore}, and the check before its first call. */
  readonly patient: Store
  readonly readyToWrite: () => Promise<unknown>
  /** How long {@link patient} repeats a call. */
  readonly patienceMs: number
  /** The workers of this process on the store. */
  readonly workers: ReadonlyMap<string, Recallable>
  /** Ends all waiting. */
  readonly closed: AbortSignal
}

/** The longest name of who put a hold. */
const BY_BYTES = 512

/** Before every job: strict ones have small numbers, and all others have ranks. */
const LOWEST_RANK = -Number.MAX_SAFE_INTEGER

const KEYS = optionKeys<HoldOptions>('queues.pause() and queues.block()', {
  reason: true,
  by: true,
  for: true,
  wait: true,
  timeout: true,
  signal: true,
})
const RELEASE_KEYS = optionKeys<Pick<HoldOptions, 'by'>>('queues.resume() and queues.unblock()', { by: true })
const TARGET_KEYS = optionKeys<{ queue: string; lane: string; everywhere: boolean }>('the target', {
  queue: true,
  lane: true,
  everywhere: true,
})

/**
 * Puts a hold. When it has answered, nothing of the target is claimed until it is gone, the workers of this process have
 * handed back what they had taken and not started, and those of other processes are told to.
 */
export async function hold(
  env: HoldEnv,
  kind: HoldKind,
  on: Holdable,
  options: HoldOptions,
): Promise<HoldSummary> {
  const target = toHoldTarget(env.space, on)
  const { reason, by, forMs, wait } = readHoldOptions(options)
  options.signal?.throwIfAborted()
  await env.readyToWrite()
  await env.patient.hold({ holds: [{ ...target, kind, reason, by, forMs }] })
  env.logger.info(`A ${kind} was put on ${describeTarget(target)}${saidBy(by)}.`)
  // It may end earlier than the one it replaced, and an idle worker sleeps until the end it was told.
  if (forMs !== null) env.notifier.publish([wake(target)])
  recall(env, target)
  if (wait !== null) await untilRecalled(env, target, { timeoutMs: wait, signal: options.signal })
  return { holds: await standingOn(env.patient, target) }
}

/** Takes a hold of this kind on this very target away. Those of the other kind, or on something wider, stay. */
export async function release(
  env: HoldEnv,
  kind: HoldKind,
  on: Holdable,
  options: Pick<HoldOptions, 'by'>,
): Promise<ReleaseSummary> {
  const target = toHoldTarget(env.space, on)
  assertOptions(RELEASE_KEYS, options)
  const by = textOf('by', options.by, BY_BYTES)
  await env.readyToWrite()
  const { released } = await env.patient.release({ holds: [{ ...target, kind }] })
  if (released[0]) env.logger.info(`The ${kind} on ${describeTarget(target)} was taken away${saidBy(by)}.`)
  // Also when there was none: if the answer to an earlier call was lost, nobody was told.
  env.notifier.publish([wake(target)])
  await renewNotices(env, target)
  return { released: released[0] ?? false, holds: await standingOn(env.patient, target) }
}

/** Makes whoever serves the target look at once. */
export function wake({ space, queue }: Pick<HoldTarget, 'space' | 'queue'>): Hint {
  if (space === null || queue === null || queue.includes('*')) return { kind: 'sync' }
  return { kind: 'work', space, queue, dueAt: 0, rank: LOWEST_RANK }
}

/** The holds that concern a space. */
export async function standing({ store, space, ready }: HoldEnv): Promise<readonly HoldView[]> {
  await ready()
  const { holds } = await store.holds({ space })
  return holdViews(holds)
}

async function standingOn(store: Store, target: HoldTarget): Promise<HoldView[]> {
  const { holds } = await store.holds(target.space === null ? {} : { space: target.space })
  return holdViews(holds.filter((one) => covers(one, target)))
}

/** Checks what a hold is said to be on. */
function toHoldTarget(space: string, target: Holdable): HoldTarget {
  if (typeof target === 'string') return { space, queue: patternOf(target), lane: null }
  if (isSharedLimit(target)) {
    throw new SkepError('OPTION_INVALID', 'A shared limit cannot be held. Name the queues that share it.')
  }
  if (typeof (target as { name?: unknown } | null)?.name === 'string') {
    return { space, queue: patternOf((target as { name: string }).name), lane: null }
  }
  assertOptions(TARGET_KEYS, target ?? null)
  // A variable that turned out empty must not mean everything.
  for (const [key, value] of Object.entries(target)) {
    if (value === undefined || value === null) {
      throw new SkepError(
        'OPTION_INVALID',
        `target.${key} is ${String(value)}. Leave it out, or use {} for the whole space.`,
      )
    }
  }
  const {
    queue,
    lane,
    everywhere = false,
  } = target as {
    queue?: string | { readonly name: string }
    lane?: string
    everywhere?: boolean
  }
  if (typeof everywhere !== 'boolean') {
    throw new SkepError('OPTION_INVALID', `target.everywhere is ${show(everywhere)}; use true or false.`)
  }
  const name = queue === undefined ? null : patternOf(typeof queue === 'string' ? queue : queue.name)
  if (lane === undefined) return { space: everywhere ? null : space, queue: name, lane: null }
  if (name === null || everywhere) {
    throw new SkepError('OPTION_INVALID', 'A lane belongs to one queue of one space: use { queue, lane }.')
  }
  assertName('Queue', name)
  assertLane(lane)
  return { space, queue: name, lane }
}

/** Refuses what cannot be a lane. The default lane is the empty text. */
export function assertLane(lane: unknown): asserts lane is string {
  if (lane !== DEFAULT_LANE) assertKey('lane', lane)
}

function readHoldOptions(options: HoldOptions): {
  readonly reason: string | null
  readonly by: string | null
  readonly forMs: number | null
  /** How long to wait for workers; null: not at all. */
  readonly wait: number | null
} {
  assertOptions(KEYS, options)
  const { wait = false, timeout, signal } = options
  if (typeof wait !== 'boolean') {
    throw new SkepError(
      'OPTION_INVALID',
      `wait is ${show(wait)}; use true or false, and timeout for how long.`,
    )
  }
  if (!wait && (timeout !== undefined || signal !== undefined)) {
    throw new SkepError('OPTION_INVALID', 'timeout and signal are about the wait: give wait: true too.')
  }
  const forMs = options.for === undefined ? null : toMs('for', options.for)
  if (forMs !== null) assertWhole('for', forMs, 1, LIMITS.delayMs)
  return {
    reason: textOf('reason', options.reason, LIMITS.reasonBytes),
    by: textOf('by', options.by, BY_BYTES),
    forMs,
    wait: wait ? toMs('timeout', timeout ?? '30s') : null,
  }
}

function holdView({ since, until, ...hold }: Hold): HoldView {
  return { ...hold, since: new Date(since), until: until === null ? null : new Date(until) }
}

/** Holds as they are shown: blocks first, because a block is the stronger word, then the oldest. */
export function holdViews(holds: readonly Hold[]): HoldView[] {
  const isBlock = ({ kind }: Hold): number => (kind === 'block' ? 1 : 0)
  return holds
    .toSorted((a, b) => isBlock(b) - isBlock(a) || a.since - b.since || (holdKey(a) < holdKey(b) ? -1 : 1))
    .map(holdView)
}

export function describeTarget({ space, queue, lane }: HoldTarget): string {
  const of = space === null ? 'every space' : `space ${show(space)}`
  if (queue === null) return of
  if (lane !== null)
    return `${lane === DEFAULT_LANE ? 'the default lane' : `lane ${show(lane)}`} of queue ${show(queue)}`
  const what = queue.includes('*') ? `the queues ${show(queue)}` : `queue ${show(queue)}`
  return space === null ? `${what} of every space` : what
}

function saidBy(by: string | null): string {
  return by === null ? '' : ` by ${show(by)}`
}

function patternOf(queue: unknown): string {
  assertPattern('Queue', queue)
  return queue
}

/** Text that every store can keep, letter by letter. */
function textOf(what: string, text: unknown, most: number): string | null {
  if (text === undefined) return null
  if (typeof text === 'string' && text.isWellFormed() && !text.includes('\0') && utf8Bytes(text) <= most) {
    return text === '' ? null : text
  }
  throw new SkepError('OPTION_INVALID', `${what} is ${show(text)}; use text of at most ${most} bytes.`, {
    facts: { what },
  })
}
