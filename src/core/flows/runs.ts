/**
 * A run is one execution of a flow: a state and a position. It does one thing at a time, so nothing else
 * changes its state meanwhile: it waits for one group, whose members run concurrently. A branch of several
 * steps is a run of its own, with a copy of the state, and a member of that group.
 *
 *   running ──▶ done | failed | cancelled ── retried, or rerun from a step ──▶ running
 *   failed ──▶ done: the member that failed its last step has succeeded after all
 *
 * Each move raises the revision and names the one it leaves, so late or repeated moves change nothing.
 *
 * A job of a run can be retried only while the run still waits for the job's group, see {@link mayRunAgain}.
 * What was undone, cancelled or decided without the job continues only with a retry of the run.
 */

import type { FinalState, NewJob } from '../jobs/job.ts'
import type { Group, Membership, NewGroup } from './groups.ts'

export const RUN_STATUSES = ['running', 'done', 'failed', 'cancelled'] as const

export type RunStatus = (typeof RUN_STATUSES)[number]

/** A run as it is passed to a store. */
export interface NewRun {
  /** Made by the client, so starting the same run twice is idempotent. */
  readonly id: string
  readonly space: string
  readonly flow: string
  readonly version: number
  /** JSON text: its position, in the flow's own format. */
  readonly position: string
  /** JSON text. */
  readonly state: string
  /** Searchable attributes, each `name:value`. */
  readonly attributes: readonly string[]
  /** The group member it is, if it is a branch. */
  readonly member: Membership | null
  /** The run at the top; its own id if it has no parent. The whole tree is kept and removed together. */
  readonly root: string
}

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

/** What a move changes in a run. Omitted fields stay unchanged. */
export interface RunMove {
  readonly id: string
  readonly space: string
  /** The revision it leaves; if the run has another, nothing happens. */
  readonly revision: number
  readonly position?: string
  readonly state?: string
  /** Ends the run, or restarts it. */
  readonly status?: RunStatus
  readonly result?: string | null
  readonly failure?: string | null
  /** For an end: how long the run is kept. */
  readonly keepMs?: number
  /** The groups it now waits for, and their members that are runs or jobs. */
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

/**
 * Whether a move still applies. A run that failed at its last step becomes done if the failed member
 * succeeds later.
 */
export function mayMove(run: Run, move: RunMove): boolean {
  if (run.revision !== move.revision) return false
  if (run.status === 'running' || move.status === 'running') return true
  return run.status === 'failed' && move.status === 'done'
}

/** Whether a move restarts an ended branch: possible only while the parent run waits for it. */
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
  /** What the run waits for: the id of a group, or of a timer. */
  readonly waits?: { readonly id: string } | null
  /** Why it fails: from then on it only compensates. */
  readonly failure?: string | null
  /** The steps that can be undone. */
  readonly done?: readonly unknown[]
  readonly undos?: readonly string[]
}

/**
 * Whether a member of this group may be retried: the run waits for the group, and nothing was decided that
 * the member could no longer change. If the group has failed and there is something to undo, compensation is
 * about to start. An undo job may always be retried, until the run is.
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

/** Groups that runs wait for have UUIDs of this version, which identifies them even after removal. */
export const RUN_GROUP_VERSION = '8'

export function isGroupOfRun(group: string): boolean {
  return group[14] === RUN_GROUP_VERSION
}

/** What is needed to walk up from a group: its run, the group of which that is a member, and so on. */
export interface Ancestry {
  readonly groupOf: (id: string) => Pick<Group, 'id' | 'space' | 'fired' | 'run'> | undefined
  readonly runOf: (space: string, id: string) => Pick<Run, 'status' | 'position' | 'member'> | undefined
}

/**
 * Whether a member of this group may be retried, considering all ancestor runs: a job inside a branch only
 * while the branch's run waits for it. A group without a run has no such condition, even after removal.
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

/** The outcome of a run for its group; null while it is running. */
export function outcomeState(status: RunStatus): FinalState | null {
  return status === 'running' ? null : status
}
