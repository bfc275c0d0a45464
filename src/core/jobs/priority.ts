import { LIMITS } from '../limits.ts'

/**
 * How a queue counts priorities.
 * head-start: each step overtakes ten minutes of waiting, so that nothing starves.
 * strict: a higher priority always starts first, however long others wait.
 */
export type PriorityMode = 'head-start' | 'strict'

export const PRIORITY_MODES: readonly PriorityMode[] = ['head-start', 'strict']

/**
 * A strict priority is stored as so many steps of head start. Each is then worth 19 years of waiting, which no job
 * waits, and the order needs neither a column nor an index of its own. Ranks stay whole: a hundred of them and the
 * latest moment there is are together less than 2^53.
 */
export const STRICT_PRIORITY_SCALE = 1_000_000

/** A priority of -100 to 100 as stores keep it. Zero is the same in both modes. */
export function storedPriority(priority: number, mode: PriorityMode): number {
  return mode === 'strict' ? priority * STRICT_PRIORITY_SCALE : priority
}

/** Two priorities together, not past the highest and the lowest there are. */
export function addedPriority(one: number, other: number): number {
  return Math.max(-LIMITS.priority, Math.min(LIMITS.priority, one + other))
}

/** The priority that was asked for, from the stored one. */
export function shownPriority(stored: number): number {
  return Math.abs(stored) > LIMITS.priority ? Math.round(stored / STRICT_PRIORITY_SCALE) : stored
}
