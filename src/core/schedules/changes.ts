/** Every transition of a stored schedule, as pure functions. The stores compare and swap by these. */
import type { Schedule } from './schedule.ts'

type Position = Pick<Schedule, 'revision' | 'nextAt'>

/** The input of a put: everything but what the store itself keeps count of. */
export type ScheduleDraft = Pick<
  Schedule,
  'space' | 'id' | 'revision' | 'spec' | 'dynamic' | 'declaredBy' | 'nextAt'
> & { readonly expect: Position | null }

function isAt(stored: Position, expected: Position): boolean {
  return stored.revision === expected.revision && stored.nextAt === expected.nextAt
}

/** The schedule after a put, or why it stays unchanged. */
export function putOver(
  stored: Schedule | null,
  draft: ScheduleDraft,
  now: number,
): Schedule | 'ok' | 'unchanged' | 'refused' {
  const { expect, ...given } = draft
  if (stored === null)
    return expect === null ? { ...BLANK, ...given, createdAt: now, updatedAt: now } : 'refused'
  // An earlier attempt did it, and its reply was lost.
  if (stored.revision === given.revision) return 'ok'
  if (
    stored.spec === given.spec &&
    stored.declaredBy === given.declaredBy &&
    stored.dynamic === given.dynamic
  ) {
    return 'unchanged'
  }
  return expect !== null && isAt(stored, expect) ? { ...stored, ...given, updatedAt: now } : 'refused'
}

const BLANK = {
  pausedAt: null,
  pauseReason: null,
  pausedBy: null,
  lastSlot: null,
  lastFiredAt: null,
  lastJobId: null,
  fired: 0,
  skipped: 0,
} as const

export function pause(stored: Schedule, reason: string | null, by: string | null, now: number): Schedule {
  if (stored.pausedAt !== null) return stored
  return { ...stored, pausedAt: now, pauseReason: reason, pausedBy: by, updatedAt: now }
}

export function resume(
  stored: Schedule | null,
  expect: Position,
  nextAt: number | null,
  now: number,
): Schedule | 'unchanged' | 'refused' {
  if (stored === null) return 'refused'
  if (stored.pausedAt === null) return 'unchanged'
  if (!isAt(stored, expect)) return 'refused'
  return { ...stored, nextAt, pausedAt: null, pauseReason: null, pausedBy: null, updatedAt: now }
}

/** Why a slot may not be fired now; null if it may. */
export function fireRefusal(
  stored: Schedule | null,
  fire: { readonly revision: string; readonly slot: number; readonly upTo: number },
  now: number,
): 'gone' | 'changed' | 'moved' | 'paused' | 'early' | null {
  if (stored === null) return 'gone'
  if (stored.revision !== fire.revision) return 'changed'
  if (stored.nextAt !== fire.slot) return 'moved'
  if (stored.pausedAt !== null) return 'paused'
  return fire.upTo > now ? 'early' : null
}

/** The schedule after a fire. `jobIds`: the jobs that were created. */
export function fireOver(
  stored: Schedule,
  fire: { readonly upTo: number; readonly nextAt: number | null; readonly skipped: number },
  jobIds: readonly string[],
  overlapped: boolean,
  now: number,
): Schedule {
  const moved = {
    ...stored,
    nextAt: fire.nextAt,
    skipped: stored.skipped + fire.skipped + (overlapped ? 1 : 0),
  }
  const last = jobIds.at(-1)
  if (last === undefined) return moved
  return {
    ...moved,
    lastSlot: fire.upTo,
    lastFiredAt: now,
    lastJobId: last,
    fired: stored.fired + jobIds.length,
  }
}

/** Whether a job in this state counts as an overlap with the next one. */
export function isUnderWay(state: string): boolean {
  return state === 'delayed' || state === 'ready' || state === 'running'
}
