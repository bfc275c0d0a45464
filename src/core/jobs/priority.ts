import { LIMITS } from '../limits.ts'

/**
 * How a queue treats priorities.
 * head-start: each step is worth ten minutes of waiting, so nothing starves.
 * strict: a higher priority always starts first, however long others wait.
 */
export type PriorityMode = 'head-start' | 'strict'

export const PRIORITY_MODES: readonly PriorityMode[] = ['head-start', 'strict']

/**
 * A strict priority is stored as this many steps of head start. Each step is then worth 19 years of waiting,
 * so the order needs neither a column nor an index of its own. Ranks stay exact: a hundred steps plus the
 * latest timestamp are less than 2^53.
 */
export const STRICT_PRIORITY_SCALE = 1_000_000

/** A priority of -100 to 100 as it is stored. Zero is the same in both modes. */
export function storedPriority(priority: number, mode: PriorityMode): number {
  return mode === 'strict' ? priority * STRICT_PRIORITY_SCALE : priority
}

export function addedPriority(one: number, other: number): number {
  return Math.max(-LIMITS.priority, Math.min(LIMITS.priority, one + other))
}

/** The requested priority, from the stored one. */
export function shownPriority(stored: number): number {
  return Math.abs(stored) > LIMITS.priority ? Math.round(stored / STRICT_PRIORITY_SCALE) : stored
}
