/**
 * How often jobs may start: a token bucket, kept as one number.
 *
 * `fullAt` is the moment at which the bucket is full again if nothing starts until then (a moment in the past means it
 * is full). From it follow how many may start now and exactly when the next may, so nobody ever has to poll.
 * In any span of `perMs` at most `limit + burst` jobs of cost 1 start; over a long time exactly `limit`.
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
const LATE_MS = 20

/** The time in which one token comes back. */
export function spacingMs({ limit, perMs }: Rate): number {
  return perMs / limit
}

/** How far before the bucket is full the first token can be taken. */
function toleranceMs(rate: Rate): number {
  const spacing = spacingMs(rate)
  return (rate.burst - 1) * spacing + Math.min(spacing / 2, LATE_MS)
}

/** From when on a job of this cost may start. One that costs more than a full bucket starts when it is full. */
export function startsAt(rate: Rate, fullAt: number, cost: number): number {
  return fullAt + (Math.min(cost, rate.burst) - 1) * spacingMs(rate) - toleranceMs(rate)
}

/** `fullAt` after a job of this cost has started. */
export function charged(rate: Rate, fullAt: number, cost: number, now: number): number {
  return Math.max(fullAt, now) + cost * spacingMs(rate)
}

/** The burst when nothing is said: what comes back in a tenth of a second, so that claims in batches can keep up. */
export function usualBurst(limit: number, perMs: number): number {
  return Math.max(1, Math.floor((limit * Math.min(100, perMs)) / perMs))
}
