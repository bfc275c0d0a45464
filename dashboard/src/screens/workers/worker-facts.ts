import type { WorkerSummary } from '../../../../src/operations/schema/wire-types.ts'

/** An event loop that is later than this keeps heartbeats and answers waiting. */
const LATE_LOOP_MS = 250

export function isLagging({ lagMs }: Pick<WorkerSummary, 'lagMs'>): boolean {
  return lagMs !== null && lagMs > LATE_LOOP_MS
}

/** How many workers have each version, most first. Those that tell none are left out. */
export function versionsOf(
  workers: readonly Pick<WorkerSummary, 'version'>[],
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { version } of workers) if (version !== null) counts.set(version, (counts.get(version) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
