import { type Duration, type Keep, keepToMs, toMs } from '../duration.ts'
import { SkepError } from '../errors.ts'
import { clean } from '../jobs/failure.ts'
import type { Counters, Failure, JobState } from '../jobs/job.ts'
import { LIMITS } from '../limits.ts'
import { show } from '../names.ts'
import { assertOptions, optionKeys } from '../options.ts'
import { assertBackoff, assertEnding, MOST_RETRIES } from './assert-policy.ts'

/** The delay before the next attempt. `jitter` is the fraction by which it may be shorter or longer. */
export type Backoff =
  | { readonly kind: 'fixed'; readonly ms: number; readonly jitter: number }
  | {
      readonly kind: 'exponential'
      readonly ms: number
      readonly factor: number
      readonly maxMs: number
      readonly jitter: number
    }

/** How a job ends: kept for a while as done or failed, removed at once, or kept as dead for inspection. */
export type Ending =
  | { readonly end: 'archive'; readonly keepMs: number }
  | { readonly end: 'discard' }
  | { readonly end: 'bury'; readonly keepMs: number }

/** What an outcome other than success leads to: a number of retries, then an ending. */
export interface FailurePolicy {
  /** Attempts after the first. `null` means unlimited. */
  readonly retries: number | null
  readonly backoff: Backoff
  readonly ending: Ending
}

/** Plain data, so that it can be stored and shown. */
export interface Policy {
  readonly onSuccess: Exclude<Ending, { end: 'bury' }>
  readonly onError: FailurePolicy
  readonly onTimeout: FailurePolicy
  readonly onLost: FailurePolicy
  readonly keepCancelledMs: number
  /** The maximum duration of a handler. `null` means no limit: only the lease shows that it is alive. */
  readonly timeoutMs: number | null
  /**
   * A job without attempts left stays at the head of its strict lane, and the lane is paused for an operator.
   */
  readonly holdsLane?: boolean
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

const FIXED_KEYS = optionKeys<{ readonly jitter?: number }>('fixed()', { jitter: true })
const EXPONENTIAL_KEYS = optionKeys<NonNullable<Parameters<typeof exponential>[1]>>('exponential()', {
  factor: true,
  max: true,
  jitter: true,
})
const RETRY_KEYS = optionKeys<{ readonly ending?: Ending }>('retry()', { ending: true })

/** The same delay before every attempt. */
export function fixed(wait: Duration, options: { readonly jitter?: number } = {}): Backoff {
  assertOptions(FIXED_KEYS, options)
  return Object.freeze({
    kind: 'fixed',
    ms: toMs('fixed', wait),
    jitter: share('jitter', options.jitter ?? 0),
  })
}

/**
 * A delay that grows with every attempt: `first`, `first × factor`, … up to `max`.
 * @default factor 2, max '1h' or `first` if that is longer, jitter 0.2
 */
export function exponential(
  first: Duration,
  options: { readonly factor?: number; readonly max?: Duration; readonly jitter?: number } = {},
): Backoff {
  assertOptions(EXPONENTIAL_KEYS, options)
  const { factor = 2, max, jitter = 0.2 } = options
  if (!(typeof factor === 'number' && factor >= 1 && factor <= 100)) {
    throw new SkepError('OPTION_INVALID', `factor is ${show(factor)}; use a number from 1 to 100.`)
  }
  const ms = toMs('exponential', first)
  const maxMs = max === undefined ? Math.max(HOUR, ms) : toMs('max', max)
  // Every delay would be the maximum, and the first not the requested one.
  if (maxMs < ms) {
    throw new SkepError(
      'OPTION_INVALID',
      `max is ${show(max)}, shorter than the first wait ${show(first)}; use a longer max, or fixed(${show(max)}).`,
    )
  }
  return Object.freeze({
    kind: 'exponential',
    ms,
    factor,
    maxMs,
    jitter: share('jitter', jitter),
  })
}

/** Keep a finished job for a while, or `'forever'`. @default '3d' */
export function archive(keep: Keep = '3d'): Extract<Ending, { end: 'archive' }> {
  return Object.freeze({ end: 'archive', keepMs: keepToMs('archive', keep) })
}

/** Remove a finished job at once. Its result cannot be read. */
export function discard(): Extract<Ending, { end: 'discard' }> {
  return Object.freeze({ end: 'discard' })
}

/** Make a failed job dead: it is listed, counted and can be retried. @default '30d' */
export function buried(keep: Keep = '30d'): Extract<Ending, { end: 'bury' }> {
  return Object.freeze({ end: 'bury', keepMs: keepToMs('buried', keep) })
}

/**
 * Retry up to `times` times with this backoff, then end. `Infinity` is unlimited.
 * @default exponential('1s'), then buried
 */
export function retry(
  times: number,
  backoff: Backoff = exponential('1s'),
  options: { readonly ending?: Ending } = {},
): FailurePolicy {
  if (!(times === Infinity || (Number.isInteger(times) && times >= 0 && times <= MOST_RETRIES))) {
    throw new SkepError(
      'OPTION_INVALID',
      `retry(${show(times)}): use a whole number from 0 to ${MOST_RETRIES}, or Infinity.`,
    )
  }
  assertOptions(RETRY_KEYS, options)
  assertBackoff('The backoff of retry()', backoff)
  const { ending = buried() } = options
  assertEnding('The ending of retry()', ending)
  return Object.freeze({ retries: times === Infinity ? null : times, backoff, ending })
}

/** Do not retry: end at once. */
export function never(ending: Ending = buried()): FailurePolicy {
  assertEnding('The ending of never()', ending)
  return retry(0, fixed(0), { ending })
}

function share(what: string, value: number): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new SkepError('OPTION_INVALID', `${what} is ${show(value)}; use a share from 0 to 1.`)
}

export const DEFAULT_POLICY: Policy = Object.freeze({
  onSuccess: archive(),
  // A dependency may be down for hours: attempts go on for about 9 hours after an error, 3 after a timeout.
  onError: retry(20, exponential('1s', { max: '1h' })),
  onTimeout: retry(12, exponential('5s', { max: '1h' })),
  // A worker that dies once is rarely the job's fault, so the job restarts at once.
  onLost: retry(5, fixed(0)),
  keepCancelledMs: 3 * DAY,
  timeoutMs: null,
})

/** The delay before retry number `failures` (1 for the first). `random` is in [0, 1). */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const base =
    backoff.kind === 'fixed' ? backoff.ms : Math.min(backoff.maxMs, backoff.ms * growth(backoff, failures))
  const spread = 1 + backoff.jitter * (2 * random - 1)
  return Math.min(LIMITS.delayMs, Math.round(base * spread))
}

// Never Infinity: multiplied by a delay of 0 it would be NaN.
function growth({ factor }: Extract<Backoff, { kind: 'exponential' }>, failures: number): number {
  return Math.min(Number.MAX_VALUE, factor ** Math.max(0, failures - 1))
}

/** The outcome of one attempt. */
export type Outcome =
  | { readonly kind: 'success'; readonly result: string | null }
  | { readonly kind: 'timeout' | 'lost'; readonly failure: Failure }
  /** `delayMs`: the delay before the next attempt, if there is one, instead of the backoff of the policy. */
  | { readonly kind: 'error'; readonly failure: Failure; readonly delayMs?: number }
  /** The handler asked to be called later. Counts only as a snooze. */
  | { readonly kind: 'snooze'; readonly delayMs: number; readonly failure: Failure | null }
  | { readonly kind: 'cancel'; readonly failure: Failure }
  /** The handler gave up, or its payload could not be decoded. */
  | { readonly kind: 'bury'; readonly failure: Failure }
  /** A service answered "too many requests": the job goes back as if never claimed, and its lane waits. */
  | { readonly kind: 'throttle'; readonly delayMs: number; readonly failure: Failure | null }
  /** The worker stops: the job goes back as if never claimed. `ran`: whether its handler was called. */
  | { readonly kind: 'handback'; readonly ran: boolean }

/** Whether the verdict removed a failed job instead of keeping it. */
export function isDiscarded(state: JobState, { keepMs }: Verdict): boolean {
  return state === 'failed' && keepMs === null
}

/** What a store does with a leased job: already decided, nothing left to judge. */
export interface Verdict {
  readonly to: 'done' | 'failed' | 'dead' | 'cancelled' | 'ready' | 'delayed'
  /** For a final state: how long to keep the job. `null` removes it at once. */
  readonly keepMs: number | null
  /** For `delayed`: the delay from now. */
  readonly delayMs: number
  /** The counter to increment. */
  readonly count: 'errors' | 'timeouts' | 'lost' | 'snoozes' | null
  /** The handler was not called: the start is subtracted again. */
  readonly refund: boolean
  /** For `ready`: the job keeps its due time, and so its place in the queue. Otherwise it is due now. */
  readonly keepPlace: boolean
  /** How long to keep the job if it was cancelled while running and would now wait for another attempt. */
  readonly keepCancelledMs: number
  readonly result: string | null
  readonly failure: string | null
  /** What happens to the job's lane, in the same transaction. Omitted: nothing. */
  readonly lane?: LaneVerdict
}

/**
 * `waitMs`: the lane starts nothing for this long, because a service answered "too many requests".
 * `pause`: puts a hold on the lane, for this reason.
 */
export type LaneVerdict = { readonly waitMs: number } | { readonly pause: string }

const COUNTER = { error: 'errors', timeout: 'timeouts', lost: 'lost' } as const
const POLICY_OF = { error: 'onError', timeout: 'onTimeout', lost: 'onLost' } as const

/** The verdict for a success depends on the policy alone, and most jobs succeed. */
const successes = new WeakMap<Policy, Verdict>()

function successOf(policy: Policy): Verdict {
  const known = successes.get(policy)
  if (known !== undefined) return known
  const { keepCancelledMs, onSuccess } = policy
  const verdict = Object.freeze({ ...BLANK, keepCancelledMs, ...outcomeOf(onSuccess, 'done') })
  successes.set(policy, verdict)
  return verdict
}

/** Decides what an outcome leads to. The only place where policies and budgets are read. */
export function judge(policy: Policy, counters: Counters, outcome: Outcome, random: number): Verdict {
  if (outcome.kind === 'success') {
    const success = successOf(policy)
    return outcome.result === null ? success : { ...success, result: outcome.result }
  }
  const blank: Verdict = { ...BLANK, keepCancelledMs: policy.keepCancelledMs }

  switch (outcome.kind) {
    case 'error':
    case 'timeout':
    case 'lost': {
      const { retries, backoff, ending } = policy[POLICY_OF[outcome.kind]]
      const count = COUNTER[outcome.kind]
      const failures = counters[count] + 1
      const failure = JSON.stringify(outcome.failure)
      if (retries !== null && failures > retries) {
        if (policy.holdsLane !== true) return { ...blank, ...outcomeOf(ending, 'failed'), count, failure }
        const pause = `Its first job has failed ${failures} times: ${outcome.failure.message}`
        return {
          ...blank,
          keepPlace: true,
          count,
          failure,
          lane: { pause: clean(pause, LIMITS.reasonBytes) },
        }
      }
      const own = outcome.kind === 'error' ? outcome.delayMs : undefined
      const delayMs = own ?? backoffMs(backoff, failures, random)
      return { ...blank, to: delayMs > 0 ? 'delayed' : 'ready', delayMs, count, failure }
    }

    case 'snooze':
      return {
        ...blank,
        to: outcome.delayMs > 0 ? 'delayed' : 'ready',
        delayMs: outcome.delayMs,
        count: 'snoozes',
        failure: outcome.failure === null ? null : JSON.stringify(outcome.failure),
      }

    case 'throttle':
      return {
        ...blank,
        refund: true,
        keepPlace: true,
        failure: outcome.failure === null ? null : JSON.stringify(outcome.failure),
        lane: { waitMs: outcome.delayMs },
      }

    case 'cancel':
      return {
        ...blank,
        to: 'cancelled',
        keepMs: policy.keepCancelledMs,
        failure: JSON.stringify(outcome.failure),
      }

    case 'bury': {
      const { ending } = policy.onError
      return {
        ...blank,
        to: 'dead',
        keepMs: ending.end === 'bury' ? ending.keepMs : buried().keepMs,
        failure: JSON.stringify(outcome.failure),
      }
    }

    case 'handback':
      return { ...blank, to: 'ready', refund: !outcome.ran, keepPlace: true }
  }
}

const BLANK: Verdict = Object.freeze({
  to: 'ready',
  keepMs: null,
  delayMs: 0,
  count: null,
  refund: false,
  keepPlace: false,
  keepCancelledMs: 0,
  result: null,
  failure: null,
})

function outcomeOf(how: Ending, archivedAs: 'done' | 'failed'): Pick<Verdict, 'to' | 'keepMs'> {
  if (how.end === 'bury') return { to: 'dead', keepMs: how.keepMs }
  return { to: archivedAs, keepMs: how.end === 'discard' ? null : how.keepMs }
}
