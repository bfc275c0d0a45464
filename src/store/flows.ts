import type { Group, Outcome } from '../core/flows/groups.ts'
import type { Run, RunMove, RunStatus } from '../core/flows/runs.ts'
import type { NewJob } from '../core/jobs/job.ts'

/**
 * Groups and runs, see `core/flows/groups.ts` and `core/flows/runs.ts`. {@link Store.insert} creates them
 * with their jobs; a run is moved by the settlement of a job, or by a call. Any end of a member (a
 * settlement, a change, a run's move, the insert of a job whose unique key is held) is counted and fires due
 * events in the same transaction; a retry takes its outcome back. Different runs never block each other.
 */
export interface FlowStore {
  /**
   * Moves runs, as settlements do with theirs. Redis: for each HGET revision, compare; HSET; insert; then
   * count the run in its group.
   */
  moveRuns(call: MoveRunsCall): Promise<MoveRunsReply>

  /** Runs by id; null if there is none in that space. Redis: HGETALL each. */
  getRuns(call: {
    readonly space: string
    readonly ids: readonly string[]
  }): Promise<{ readonly runs: readonly (Run | null)[] }>

  /** One page of runs, newest first, by key. Redis: ZREVRANGE from the cursor, of an attribute's set. */
  listRuns(call: ListRunsCall): Promise<{ readonly runs: readonly Run[]; readonly cursor: string | null }>

  /**
   * Counts the runs of each flow and version by status, without branches, among the newest `limit`, so that
   * the cost does not depend on their number. Redis: ZREVRANGE with that limit, HMGET each.
   */
  countRuns(call: CountRunsCall): Promise<CountRunsReply>

  /** Groups by id; null if there is none in that space. Redis: HGETALL each. */
  getGroups(call: {
    readonly space: string
    readonly ids: readonly string[]
  }): Promise<{ readonly groups: readonly (Group | null)[] }>

  /**
   * Outcomes of these groups, by number: up to the same limit for each. Redis: HMGET of a range of numbers.
   */
  outcomes(call: OutcomesCall): Promise<{ readonly outcomes: readonly (readonly Outcome[])[] }>

  /** The unfinished members of a group, jobs and runs, by number. Redis: SSCAN of its members. */
  openMembers(call: OpenMembersCall): Promise<{ readonly members: readonly OpenMember[] }>

  /**
   * Reports the outcome of an external member. Idempotent: repeats return `told`. If the group does not exist
   * yet, it finds the outcome when it is created. Redis: HSETNX outcomes; then count, if the group exists.
   */
  tell(call: TellCall): Promise<TellReply>

  /**
   * Adds members to an open group, or seals it, or both, atomically: then these are the last. Concurrent
   * calls are serialized, so a member is either counted by the seal or refused. Redis: HGET size; insert;
   * HINCRBY size; with a seal HSET size and need, then fire, as after a count.
   */
  addMembers(call: AddMembersCall): Promise<AddMembersReply>

  /**
   * Compares groups that have not ended with their outcomes, and repairs wrong counts and missed events.
   * There is nothing to repair unless there is a bug: the caller logs the result. A page, by id.
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
 * Jobs that a group or a move enqueued, or that replaced or postponed the holder of their unique key: the
 * earliest due time in a queue, and the lowest rank.
 */
export interface Enqueued {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly rank: number
}

export interface ListRunsCall {
  readonly space: string
  /** All given conditions must match. */
  readonly flow?: string
  readonly status?: RunStatus
  readonly attribute?: string
  /** Includes branches; otherwise only top-level runs. Fast with a root, or for running ones. */
  readonly branches?: boolean
  readonly root?: string
  readonly limit: number
  readonly cursor: string | null
}

export interface CountRunsCall {
  readonly space: string
  /** All given conditions must match. */
  readonly flow?: string
  readonly status?: RunStatus
  readonly limit: number
}

export interface CountRunsReply {
  /** The non-zero counts, by flow, version and status. */
  readonly counts: readonly RunCount[]
  /** Whether all runs were counted. */
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
  /** Members of the group, numbered from 0: the store adds the number of existing members. */
  readonly jobs: readonly NewJob[]
  readonly seal: boolean
  /** An earlier call with these jobs may have succeeded: if one is a member, all are, and none is added. */
  readonly again?: boolean
  readonly now?: number
}

export interface AddMembersReply {
  /**
   * `sealed`: it was sealed before, so these came too late. `unknown`: no such group. Either way nothing was
   * written. To seal again, without jobs or with those of an earlier call, is `ok`.
   */
  readonly status: 'ok' | 'sealed' | 'unknown'
  readonly size: number
  /** The queues in which jobs were enqueued, for hints: members too. */
  readonly enqueued: readonly Enqueued[]
}

/** A page of an audit ends after about this many outcomes, as other calls wait meanwhile. */
export const AUDIT_OUTCOMES = 20_000

export interface AuditCall {
  readonly limit: number
  /** From the previous page; null for the first. */
  readonly cursor: string | null
  readonly now?: number
}

export interface AuditReply {
  readonly mended: readonly { readonly space: string; readonly group: string; readonly what: string }[]
  readonly enqueued: readonly Enqueued[]
  readonly cursor: string | null
}
