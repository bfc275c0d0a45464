import type { WorkerSummary } from '../../../../src/operations/schema/wire-types.ts'

/** Event-loop lag above this delays heartbeats and acknowledgements. */
const LATE_LOOP_MS = 250

export function isLagging({ lagMs }: Pick<WorkerSummary, 'lagMs'>): boolean {
  return lagMs !== null && lagMs > LATE_LOOP_MS
}

/** The number of workers per version, largest first. Workers without a version are omitted. */
export function versionsOf(
  workers: readonly Pick<WorkerSummary, 'version'>[],
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { version } of workers) if (version !== null) counts.set(version, (counts.get(version) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
