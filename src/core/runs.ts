/**
 * A run is one execution of a flow: a state, and where it stands. It does one thing at a time, so nobody else changes
 * its state meanwhile: it waits for one group, whose members do what happens at the same time. A branch of several steps
 * is a run of its own, with a copy of the state, and a member of that group.
 *
 *   running ──▶ done | failed | cancelled ── retried, or run again from a step ──▶ running
 *                      failed ── the member that failed its last step was mended ──▶ done
 *
 * Each move raises its revision and names the one that it leaves: whoever comes late, or twice, changes nothing.
 */

import type { Membership, NewGroup } from './groups.ts'
import type { FinalState, NewJob } from './job.ts'

export const RUN_STATUSES = ['running', 'done', 'failed', 'cancelled'] as const

export type RunStatus = (typeof RUN_STATUSES)[number]

/** A run as it is handed to a store to be made. */
export interface NewRun {
  /** Made by the client, so that making the same run twice is harmless. */
  readonly id: string
  readonly space: string
  /** The name and the version of its flow. */
  readonly flow: string
  readonly version: number
  /** JSON text: where it stands, as the flow understands it. */
  readonly position: string
  /** JSON text. */
  readonly state: string
  /** What it can be found by, each `name:value`. */
  readonly attributes: readonly string[]
  /** What it is a branch of. */
  readonly member: Membership | null
  /** The run at the top: its own id if nobody waits for it. The whole tree is kept and removed together. */
  readonly root: string
}

/** Everything a store knows about a run. */
export interface Run extends NewRun {
  readonly status: RunStatus
  readonly revision: number
  readonly startedAt: number
  readonly changedAt: number
  readonly endedAt: number | null
  readonly expiresAt: number | null
  /** JSON text, or null. */
  readonly result: string | null
  readonly failure: string | null
}

/** What a move does to a run. What is left out stays as it is. */
export interface RunMove {
  readonly id: string
  readonly space: string
  /** The revision that it leaves; otherwise nothing happens. */
  readonly revision: number
  readonly position?: string
  readonly state?: string
  /** Ends it, or begins it again. */
  readonly status?: RunStatus
  readonly result?: string | null
  readonly failure?: string | null
  /** With an end: how long it is kept. */
  readonly keepMs?: number
  /** What it waits for now, and the members of it that are runs or jobs. */
  readonly groups: readonly NewGroup[]
  readonly runs: readonly NewRun[]
  readonly jobs: readonly NewJob[]
}

export function createRun(run: NewRun, now: number): Run {
  return {
    ...run,
    status: 'running',
    revision: 0,
    startedAt: now,
    changedAt: now,
    endedAt: null,
    expiresAt: null,
    result: null,
    failure: null,
  }
}

/** Whether a move is still wanted. One that has failed can be done at once, when what failed it was mended. */
export function mayMove(run: Run, move: RunMove): boolean {
  if (run.revision !== move.revision) return false
  if (run.status === 'running' || move.status === 'running') return true
  return run.status === 'failed' && move.status === 'done'
}

export function moved(run: Run, move: RunMove, now: number): Run {
  const status = move.status ?? run.status
  const isOver = status !== 'running'
  return {
    ...run,
    revision: run.revision + 1,
    position: move.position ?? run.position,
    state: move.state ?? run.state,
    status,
    changedAt: now,
    endedAt: isOver ? now : null,
    expiresAt: isOver && run.member === null ? now + (move.keepMs ?? 0) : null,
    result: isOver ? (move.result ?? null) : null,
    failure: isOver ? (move.failure ?? null) : null,
  }
}

/** What the end of a run is to the group that it is a member of; null while it goes on. */
export function outcomeState(status: RunStatus): FinalState | null {
  return status === 'running' ? null : status
}
