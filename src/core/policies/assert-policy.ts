import { SkepError } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { show } from '../names.ts'
import type { Backoff, Ending, FailurePolicy, Policy } from './policy.ts'

/** The highest finite number of retries; above it use Infinity. */
export const MOST_RETRIES = 1_000_000

/** Rejects a value that is not an ending. `what` names it in the error. */
export function assertEnding(what: string, value: unknown): asserts value is Ending {
  if (!isEnding(value)) refuse(what, value, "archive('3d'), discard() or buried('30d')")
}

/** Rejects a value that is not an ending for a success. */
export function assertSuccess(what: string, value: unknown): asserts value is Policy['onSuccess'] {
  if (!isSuccess(value)) refuse(what, value, "archive('3d') or discard()")
}

export function assertFailurePolicy(what: string, value: unknown): asserts value is FailurePolicy {
  if (!isFailurePolicy(value)) refuse(what, value, "retry(5, exponential('1s')) or never()")
}

export function assertBackoff(what: string, value: unknown): asserts value is Backoff {
  if (!isBackoff(value)) refuse(what, value, "fixed('5s') or exponential('1s', { max: '1h' })")
}

function refuse(what: string, value: unknown, makers: string): never {
  throw new SkepError('OPTION_INVALID', `${what} is ${asText(value)}; use ${makers}.`, {
    facts: { what },
  })
}

/** A function is most often a builder that was not called; an object is one written by hand. */
function asText(value: unknown): string {
  if (typeof value === 'function')
    return value.name === '' ? 'a function' : `the function ${show(value.name)}`
  if (typeof value !== 'object' || value === null) return show(value)
  try {
    return show(JSON.stringify(value)).replaceAll('\\"', "'")
  } catch {
    return 'an object'
  }
}

/** Whether a stored value is a complete policy: any program may have written it. */
export function isPolicy(value: unknown): value is Policy {
  const policy = value as Partial<Record<keyof Policy, unknown>> | null | undefined
  return (
    typeof policy === 'object' &&
    policy !== null &&
    isSuccess(policy.onSuccess) &&
    isFailurePolicy(policy.onError) &&
    isFailurePolicy(policy.onTimeout) &&
    isFailurePolicy(policy.onLost) &&
    isSpan(policy.keepCancelledMs) &&
    (policy.timeoutMs === null || isSpan(policy.timeoutMs)) &&
    (policy.holdsLane === undefined || typeof policy.holdsLane === 'boolean')
  )
}

function isSuccess(value: unknown): value is Policy['onSuccess'] {
  return isEnding(value) && value.end !== 'bury'
}

function isEnding(value: unknown): value is Ending {
  const ending = value as { readonly end?: unknown; readonly keepMs?: unknown } | null | undefined
  return (
    ending?.end === 'discard' ||
    ((ending?.end === 'archive' || ending?.end === 'bury') && isSpan(ending.keepMs))
  )
}

function isFailurePolicy(value: unknown): value is FailurePolicy {
  const policy = value as Partial<Record<keyof FailurePolicy, unknown>> | null | undefined
  const { retries, backoff, ending } = policy ?? {}
  const isCount = retries === null || (Number.isInteger(retries) && isNumber(retries, 0, MOST_RETRIES))
  return isCount && isBackoff(backoff) && isEnding(ending)
}

function isBackoff(value: unknown): value is Backoff {
  const backoff = value as Readonly<Record<string, unknown>> | null | undefined
  return (
    isSpan(backoff?.['ms']) &&
    isNumber(backoff['jitter'], 0, 1) &&
    (backoff['kind'] === 'fixed' ||
      (backoff['kind'] === 'exponential' && isNumber(backoff['factor'], 1, 100) && isSpan(backoff['maxMs'])))
  )
}

function isSpan(value: unknown): value is number {
  return Number.isInteger(value) && isNumber(value, 0, LIMITS.delayMs)
}

function isNumber(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most
}
