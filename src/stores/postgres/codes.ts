import type { JobState, UniqueConflict, UniqueScope } from '../../core/job.ts'

/** How states, scopes and rules are stored. The numbers are in users' databases: they never change. */
export const STATE_CODES: Readonly<Record<JobState, number>> = {
  delayed: 0,
  ready: 1,
  running: 2,
  done: 3,
  failed: 4,
  dead: 5,
  cancelled: 6,
}

const STATES = Object.keys(STATE_CODES) as JobState[]

export function stateOf(code: unknown): JobState {
  return STATES[Number(code)] as JobState
}

export const SCOPE_CODES: Readonly<Record<UniqueScope, number>> = { queued: 0, active: 1, window: 2 }

const SCOPES = Object.keys(SCOPE_CODES) as UniqueScope[]

export function scopeOf(code: unknown): UniqueScope {
  return SCOPES[Number(code)] as UniqueScope
}

export const CONFLICT_CODES: Readonly<Record<UniqueConflict, number>> = { ignore: 0, replace: 1, postpone: 2 }

/** What a conflict did, by the same numbers. */
export const CONFLICT_ACTIONS = ['ignored', 'replaced', 'postponed'] as const

/** Which counter a verdict raises. */
export const COUNTER_CODES = { errors: 1, timeouts: 2, lost: 3, snoozes: 4 } as const
