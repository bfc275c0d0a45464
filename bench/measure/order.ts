import type { Run } from './log.ts'

/**
 * Looks at the jobs of each lane (a job is in the lane of its number modulo `lanes`): they must have begun in the order of
 * their numbers, and none before the one before it had ended. Returns the first that did not, as half a sentence.
 */
export function brokenOrder(runs: readonly Run[], lanes: number): string | null {
  const last = new Map<number, Run>()
  for (const run of runs.toSorted((a, b) => a.begin - b.begin)) {
    const before = last.get(run.n % lanes)
    if (before !== undefined && before.n >= run.n)
      return `job ${run.n} of lane ${run.n % lanes} began after job ${before.n}`
    if (before !== undefined && before.end > run.begin)
      return `job ${run.n} of lane ${run.n % lanes} began before job ${before.n} had ended`
    last.set(run.n % lanes, run)
  }
  return null
}
