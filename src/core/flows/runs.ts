/**
 * A run is one execution of a flow: a state, and where it stands. It does one thing at a time, so nobody else changes
 * its state meanwhile: it waits for one group, whose members do what happens at the same time. A branch of several steps
 * is a run of its own, with a copy of the state, and a member of that group.
 *
 *   running ──▶ done | failed | cancelled ── retried, or run again from a step ──▶ running
 *   failed ──▶ done: what failed its last step was mended
 *
 * Each move raises its revision and names the one that it leaves: whoever comes late, or twice, changes nothing.
 *
 * A job of a run runs again only inside of its run: a retry is refused unless the run still waits for the group of the job,
 * see {@link mayRunAgain}. What was undone, cancelled or decided without the job goes on with a retry of the run alone.
 */

import type { FinalState, NewJob } from '../jobs/job.ts'
import type { Group, Membership, NewGroup } from './groups.ts'

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

/** Whether a move is still wanted. A run that failed at its last step is done when what failed it was mended. */
export function mayMove(run: Run, move: RunMove): boolean {
  if (run.revision !== move.revision) return false
  if (run.status === 'running' || move.status === 'running') return true
  return run.status === 'failed' && move.status === 'done'
}

/** Whether a move begins a branch again that has ended: only while the run above it waits for that. */
export function revives(run: Run, move: RunMove): run is Run & { readonly member: Membership } {
  return run.member !== null && run.status !== 'running' && move.status === 'running'
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

/** The part of a position that stores read. */
export interface Standing {
  /** What the run waits for: the id of a group, or of a moment. */
  readonly waits?: { readonly id: string } | null
  /** Why it fails: from then on it only undoes. */
  readonly failure?: string | null
  /** What can be undone. */
  readonly done?: readonly unknown[]
  /** The groups of its undo jobs. */
  readonly undos?: readonly string[]
}

/**
 * Whether a member of this group of a run may run again: the run waits for the group, and nothing was decided that the
 * member could not change any more. When the group has failed and there is something to undo, that is about to begin. An
 * undo job may always run again, until the run is retried.
 */
export function mayRunAgain(
  { status, position }: Pick<Run, 'status' | 'position'>,
  { id, fired }: Pick<Group, 'id' | 'fired'>,
): boolean {
  const { waits, failure, done, undos } = (JSON.parse(position) ?? {}) as Standing
  if (undos?.includes(id)) return true
  if (status === 'done' || status === 'cancelled' || waits?.id !== id || (failure ?? null) !== null)
    return false
  return !fired.includes('failure') || (done?.length ?? 0) === 0
}

/** The ids of groups for which runs wait are UUIDs of this version, which tells what a group was that is not kept any more. */
export const RUN_GROUP_VERSION = '8'

export function isGroupOfRun(group: string): boolean {
  return group[14] === RUN_GROUP_VERSION
}

/** What is needed to walk up from a group: its own run, the group of which that is a member, and so on. */
export interface Ancestry {
  readonly groupOf: (id: string) => Pick<Group, 'id' | 'space' | 'fired' | 'run'> | undefined
  readonly runOf: (space: string, id: string) => Pick<Run, 'status' | 'position' | 'member'> | undefined
}

/**
 * Whether a member of this group may run again, by all the runs above it: what is inside of a branch runs again only while
 * the run of the branch waits for that. A group without a run asks nobody, also when it is not kept any more.
 */
export function mayRejoin(group: string, { groupOf, runOf }: Ancestry): boolean {
  for (let id: string | undefined = group; id !== undefined; ) {
    const found = groupOf(id)
    if (found === undefined) return !isGroupOfRun(id)
    if (found.run === null) return true
    const run = runOf(found.space, found.run)
    if (run === undefined || !mayRunAgain(run, found)) return false
    id = run.member?.group
  }
  return true
}

/** What the end of a run is to the group that it is a member of; null while it goes on. */
export function outcomeState(status: RunStatus): FinalState | null {
  return status === 'running' ? null : status
}
