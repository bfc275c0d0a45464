/**
 * A rate limit: a token bucket, stored as one integer.
 *
 * `fullAtUs` is the time, in microseconds, at which the bucket is full again if nothing starts until then (in
 * the past: it is full). It determines how many jobs may start now and exactly when the next may, so polling
 * is never needed. In any span of `perMs` at most `limit + burst` jobs of cost 1 start; over a long time
 * never more than `limit`.
 */
export interface Rate {
  /** The number of tokens refilled … */
  readonly limit: number
  /** … in this time, evenly. */
  readonly perMs: number
  /** The number of jobs that may start at once after a pause. */
  readonly burst: number
}

/** Tolerance for a timer that fires a little late, so that the time is not lost. */
const LATE_US = 20_000

/** The year 2255. A later timestamp would exceed the safe integers. */
const FAR_US = 9_000_000_000_000_000

/** The time to refill one token. Rounded up, so that a rate is never exceeded. */
export function spacingUs({ limit, perMs }: Rate): number {
  return Math.ceil((perMs * 1_000) / limit)
}

/** How long before the bucket is full the first token can be taken. */
function toleranceUs(rate: Rate): number {
  const spacing = spacingUs(rate)
  return (rate.burst - 1) * spacing + Math.min(Math.floor(spacing / 2), LATE_US)
}

/**
 * When a job of this cost may start, in milliseconds, rounded up. One that costs more than a full bucket
 * starts when the bucket is full.
 */
export function startsAt(rate: Rate, fullAtUs: number, cost: number): number {
  const us = fullAtUs + (Math.min(cost, rate.burst) - 1) * spacingUs(rate) - toleranceUs(rate)
  // Not -0, which no database keeps.
  return Math.ceil(us / 1_000) + 0
}

/** `fullAtUs` after a job of this cost has started. */
export function charged(rate: Rate, fullAtUs: number, cost: number, now: number): number {
  return Math.min(FAR_US, Math.max(fullAtUs, now * 1_000) + cost * spacingUs(rate))
}

/** The default burst: the tokens of a tenth of a second, so that claims in batches can keep up. */
export function usualBurst(limit: number, perMs: number): number {
  return Math.max(1, Math.floor((limit * Math.min(100, perMs)) / perMs))
}
