import { JOB_STATES, type JobState, PRIORITY_STEP_MS } from '../../core/jobs/job.ts'
import { STRICT_PRIORITY_SCALE } from '../../core/jobs/priority.ts'
import type { SpaceCounts } from '../../store/store.ts'

/** Lower ranks are those of strict priorities: no job waits for half of their head start, nine years. */
export const STRICT_RANKS_MS: number = (STRICT_PRIORITY_SCALE * PRIORITY_STEP_MS) / 2

/** Counts by the clock, from the stored ones and the number of delayed jobs that are due. */
export function byTheClock(
  stored: Readonly<Record<JobState, number>>,
  overdue: number,
): Readonly<Record<JobState, number>> {
  if (overdue === 0) return stored
  return { ...stored, delayed: stored.delayed - overdue, ready: stored.ready + overdue }
}

/** The counts of spaces, by name, from those of their queues in any order; empty queues are left out. */
export function spacesOf(
  rows: readonly { readonly space: string; readonly states: readonly number[] }[],
): SpaceCounts[] {
  const found = new Map<string, { queues: number; states: number[] }>()
  for (const { space, states } of rows) {
    if (states.every((jobs) => jobs === 0)) continue
    const known = found.get(space) ?? { queues: 0, states: JOB_STATES.map(() => 0) }
    known.queues++
    known.states = known.states.map((jobs, index) => jobs + (states[index] as number))
    found.set(space, known)
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([space, { queues, states }]) => ({
      space,
      queues,
      states: Object.fromEntries(JOB_STATES.map((state, index) => [state, states[index]])) as Record<
        JobState,
        number
      >,
    }))
}
