/**
 * How often jobs may start: a token bucket, kept as one whole number.
 *
 * `fullAtUs` is the moment, in microseconds, at which the bucket is full again if nothing starts until then (in the past:
 * it is full). From it follow how many may start now and exactly when the next may, so nobody ever has to poll.
 * In any span of `perMs` at most `limit + burst` jobs of cost 1 start; over a long time never more than `limit`.
 */
export interface Rate {
  /** So many tokens come back … */
  readonly limit: number
  /** … in this time, evenly. */
  readonly perMs: number
  /** So many may start at once when nothing started for a while. */
  readonly burst: number
}

/** Whoever wakes up to start the next job is a little late, and must not lose the time. */
const LATE_US = 20_000

/** The year 2255. A moment that is further away would not be a whole number any more. */
const FAR_US = 9_000_000_000_000_000

/** The time in which one token comes back. Rounded up: a rate is never exceeded. */
export function spacingUs({ limit, perMs }: Rate): number {
  return Math.ceil((perMs * 1_000) / limit)
}

/** How far before the bucket is full the first token can be taken. */
function toleranceUs(rate: Rate): number {
  const spacing = spacingUs(rate)
  return (rate.burst - 1) * spacing + Math.min(Math.floor(spacing / 2), LATE_US)
}

/**
 * From when on a job of this cost may start, in milliseconds, rounded up. One that costs more than a full bucket starts
 * when it is full.
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

/** The burst when nothing is said: what comes back in a tenth of a second, so that claims in batches can keep up. */
export function usualBurst(limit: number, perMs: number): number {
  return Math.max(1, Math.floor((limit * Math.min(100, perMs)) / perMs))
}
