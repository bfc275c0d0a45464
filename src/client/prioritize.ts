import { SkepError } from '../core/errors.ts'
import { LIMITS } from '../core/limits.ts'
import { assertOptions, optionKeys } from '../core/options.ts'
import { type PriorityMode, storedPriority } from '../core/priority.ts'
import { assertWhole } from '../worker/options.ts'
import type { JobFilter, Target } from './manage.ts'
import { type AnyQueue, assertPriorityMode } from './queue.ts'

/** What is known of a queue that was declared: its name, and how it counts priorities. */
export type DeclaredQueue = Pick<AnyQueue, 'name' | 'priorityMode'>

/** All jobs of a queue, or those that fit. The queue is given as it was declared, so that its mode is known. */
export type DeclaredTarget = DeclaredQueue | (JobFilter & { readonly queue: DeclaredQueue })

export interface PrioritizeOptions {
  /** How the queue of these jobs counts priorities: ids and names do not tell. */
  readonly priorityMode: PriorityMode
}

const KEYS = optionKeys<PrioritizeOptions>('prioritize()', { priorityMode: true })

/**
 * Which jobs get which stored priority. The same number means minutes in one mode and rank before everything in the
 * other, and a job of priority 0 does not show of which kind its queue is. So the mode is never guessed.
 */
export function resolvePriority(
  target: Target | DeclaredTarget,
  priority: number,
  options: Partial<PrioritizeOptions> = {},
): { readonly target: Target; readonly priority: number } {
  assertOptions(KEYS, options)
  assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
  const { queue, ...filter } = partsOf(target)
  const mode = options.priorityMode ?? queue?.priorityMode
  if (mode === undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      "Ids and the name of a queue do not tell how it counts priorities. Pass the queue itself, or priorityMode: 'head-start' or 'strict'.",
    )
  }
  assertPriorityMode(mode)
  return {
    target: queue === null ? (target as Target) : { ...filter, queue: queue.name },
    priority: storedPriority(priority, mode),
  }
}

function partsOf(target: Target | DeclaredTarget): JobFilter & { readonly queue: DeclaredQueue | null } {
  if (typeof target !== 'object' || target === null || Array.isArray(target)) return { queue: null }
  if ('priorityMode' in target) return { queue: target }
  const { queue, ...filter } = target as JobFilter & { readonly queue: string | DeclaredQueue }
  return typeof queue === 'string' ? { queue: null } : { ...filter, queue }
}
