import type { Group, Outcome } from '../core/flows/groups.ts'
import type { Run, RunMove, RunStatus } from '../core/flows/runs.ts'
import type { NewJob } from '../core/jobs/job.ts'

/**
 * Groups and runs, see `core/groups.ts` and `core/runs.ts`. They are made by {@link Store.insert}, together with their
 * jobs; a run is moved by the settlement of a job, or by a call. Whatever ends a member (a settlement, a change, a run's
 * move, the insert of a job whose unique key is held) counts it and fires what is due in that same transaction; a
 * retry takes its outcome back. Groups of different runs never wait for each other.
 */
export interface FlowStore {
  /**
   * Moves runs, as settlements do with theirs. Redis: for each HGET revision, compare; HSET; insert; then count the run
   * in its group.
   */
  moveRuns(call: MoveRunsCall): Promise<MoveRunsReply>

  /** Runs by id; null where there is none in that space. Redis: HGETALL each. */
  getRuns(call: {
    readonly space: string
    readonly ids: readonly string[]
  }): Promise<{ readonly runs: readonly (Run | null)[] }>

  /** One page of runs, newest first, by key and never by offset. Redis: ZREVRANGE from the cursor, of an attribute's set. */
  listRuns(call: ListRunsCall): Promise<{ readonly runs: readonly Run[]; readonly cursor: string | null }>

  /**
   * How many runs there are of each flow and version in each status, branches left out: of the newest `limit`, so that it
   * costs the same however many are kept. Redis: ZREVRANGE of so many, HMGET each.
   */
  countRuns(call: CountRunsCall): Promise<CountRunsReply>

  /** Groups by id; null where there is none in that space. Redis: HGETALL each. */
  getGroups(call: {
    readonly space: string
    readonly ids: readonly string[]
  }): Promise<{ readonly groups: readonly (Group | null)[] }>

  /** The outcomes of each of these groups, by number: up to a limit of each, the same for all. Redis: HMGET of a range of numbers. */
  outcomes(call: OutcomesCall): Promise<{ readonly outcomes: readonly (readonly Outcome[])[] }>

  /** The members of a group that have not ended: jobs and runs, by number. Redis: SSCAN of its members. */
  openMembers(call: OpenMembersCall): Promise<{ readonly members: readonly OpenMember[] }>

  /**
   * Tells of a member outside. It counts once: later words about it are `told`. The group may not be there yet;
   * then it finds the outcome when it is made. Redis: HSETNX outcomes; then count, if the group is there.
   */
  tell(call: TellCall): Promise<TellReply>

  /**
   * Adds members to an open group, or seals it, or both: then these are the last. It is all or nothing. Two who do it at the
   * same time come one after the other, so a member is either counted by the seal or refused. Redis: HGET size; insert;
   * HINCRBY size; with a seal HSET size and need, then fire, as after a count.
   */
  addMembers(call: AddMembersCall): Promise<AddMembersReply>

  /**
   * Compares groups that have not ended with their outcomes, and mends those whose counts are wrong or that should have
   * fired. There is nothing to mend unless there is a bug: the caller logs what it hears. A page, by id.
   */
  auditGroups(call: AuditCall): Promise<AuditReply>
}

export interface MoveRunsCall {
  readonly moves: readonly RunMove[]
  readonly now?: number
}

export interface MoveRunsReply {
  readonly results: readonly MoveResult[]
  /** The queues in which jobs were enqueued, for hints. */
  readonly enqueued: readonly Enqueued[]
}

export type MoveResult =
  | { readonly status: 'ok' }
  /** `unknown`: no such run. `moved`: it is at another revision. `over`: it has ended. */
  | { readonly status: 'refused'; readonly reason: 'unknown' | 'moved' | 'over' }

/**
 * Jobs that a group or a move enqueued, or that replaced or postponed the holder of their unique key: when the first of a
 * queue is due, and the lowest rank.
 */
export interface Enqueued {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly rank: number
}

export interface ListRunsCall {
  readonly space: string
  /** All that is given must hold. */
  readonly flow?: string
  readonly status?: RunStatus
  readonly attribute?: string
  /** With branches; otherwise only runs for which nobody waits. Quick with a root, or of those that are running. */
  readonly branches?: boolean
  readonly root?: string
  readonly limit: number
  readonly cursor: string | null
}

export interface CountRunsCall {
  readonly space: string
  /** All that is given must hold. */
  readonly flow?: string
  readonly status?: RunStatus
  readonly limit: number
}

export interface CountRunsReply {
  /** Those of which there are any, by flow, version and status. */
  readonly counts: readonly RunCount[]
  /** Whether all were counted; otherwise there are more. */
  readonly isAll: boolean
}

export interface RunCount {
  readonly flow: string
  readonly version: number
  readonly status: RunStatus
  readonly runs: number
}

export interface OutcomesCall {
  readonly space: string
  readonly groups: readonly string[]
  /** From this number on. */
  readonly from: number
  readonly limit: number
}

export interface OpenMembersCall {
  readonly space: string
  readonly group: string
  readonly from: number
  readonly limit: number
}

export interface OpenMember {
  readonly n: number
  readonly id: string
  readonly kind: 'job' | 'run'
}

export interface TellCall {
  readonly space: string
  readonly group: string
  readonly n: number
  readonly result: string | null
  readonly now?: number
}

export interface TellReply {
  readonly status: 'ok' | 'told'
  readonly enqueued: readonly Enqueued[]
}

export interface AddMembersCall {
  readonly space: string
  readonly group: string
  /** Members of the group, with numbers from 0: the store adds how many were there before them. */
  readonly jobs: readonly NewJob[]
  readonly seal: boolean
  /** An earlier call with these jobs may have happened: if one of them is a member by now, they all are, and none is added. */
  readonly again?: boolean
  readonly now?: number
}

export interface AddMembersReply {
  /**
   * `sealed`: it was before, so these came too late. `unknown`: no such group. Either way nothing was written. To seal once
   * more, with no jobs or with those of an earlier call, is `ok`.
   */
  readonly status: 'ok' | 'sealed' | 'unknown'
  /** How many members it has now. */
  readonly size: number
  /** The queues in which jobs were enqueued, for hints: members too. */
  readonly enqueued: readonly Enqueued[]
}

/** A page of an audit ends when about so many outcomes were counted: others wait meanwhile. */
export const AUDIT_OUTCOMES = 20_000

export interface AuditCall {
  /** How many groups, at most. */
  readonly limit: number
  /** From the page before; null for the first. */
  readonly cursor: string | null
  readonly now?: number
}

export interface AuditReply {
  readonly mended: readonly { readonly space: string; readonly group: string; readonly what: string }[]
  readonly enqueued: readonly Enqueued[]
  readonly cursor: string | null
}
