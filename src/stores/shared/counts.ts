import { type JobState, PRIORITY_STEP_MS } from '../../core/job.ts'
import { STRICT_PRIORITY_SCALE } from '../../core/priority.ts'

/** Ranks further back than this are those of strict priorities: no job waits for half of their head start, nine years. */
export const STRICT_RANKS_MS: number = (STRICT_PRIORITY_SCALE * PRIORITY_STEP_MS) / 2

/** Counts as they are by the clock, from those that are stored and how many delayed jobs are due. */
export function byTheClock(
  stored: Readonly<Record<JobState, number>>,
  overdue: number,
): Readonly<Record<JobState, number>> {
  if (overdue === 0) return stored
  return { ...stored, delayed: stored.delayed - overdue, ready: stored.ready + overdue }
}
