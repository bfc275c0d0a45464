/**
 * The contract for schedules. It knows no calendar: the calling process has computed the slots, and the store
 * compares and swaps. The rules of `store.ts` apply here too: one call is one transaction, in batches, by the
 * store's own clock unless a test passes `now`, and every call can be repeated.
 *
 * Redis, where `{s}` is the hash tag of the space: a hash for each schedule, and a sorted set by next slot of
 * those that are not paused.
 */
import type { NewJob } from '../core/jobs/job.ts'
import type { Overlap, Schedule } from '../core/schedules/schedule.ts'
import type { Enqueued } from './flows.ts'

export interface ScheduleStore {
  /**
   * Puts schedules in place of what the caller has read. One with the same specification and owner is
   * `unchanged`; one with the new revision was put by an earlier attempt and is `ok` again; one that differs
   * from what the caller read is refused. Redis: for each HGET revision, nextAt, compare; HSET; ZADD due.
   */
  putSchedules(call: PutSchedulesCall): Promise<{ readonly results: readonly PutScheduleResult[] }>

  /** Removes schedules. Their jobs stay. Returns the ids of those that existed. */
  removeSchedules(call: RemoveSchedulesCall): Promise<{ readonly removed: readonly string[] }>

  /** Pauses schedules. One already paused keeps its reason. Returns the ids of all that exist. */
  pauseSchedules(call: PauseSchedulesCall): Promise<{ readonly paused: readonly string[] }>

  /**
   * Resumes paused schedules at `nextAt`, if unchanged since the caller read them. Others are `unchanged`.
   */
  resumeSchedules(call: ResumeSchedulesCall): Promise<{ readonly results: readonly PutScheduleResult[] }>

  /** Schedules by id, null if missing, and the store's time. */
  getSchedules(call: {
    readonly space: string
    readonly ids: readonly string[]
    readonly now?: number
  }): Promise<{ readonly schedules: readonly (Schedule | null)[]; readonly now: number }>

  /** One page of a space's schedules, by id; with `declaredBy` only those of that owner. */
  listSchedules(call: ListSchedulesCall): Promise<{
    readonly schedules: readonly Schedule[]
    readonly cursor: string | null
  }>

  /**
   * The schedules whose next slot is due, earliest first, and when the next one is due after them: one read
   * of an index, for any number of schedules. Redis: ZRANGEBYSCORE due.
   */
  dueSchedules(call: DueSchedulesCall): Promise<DueSchedulesReply>

  /**
   * Fires slots: inserts their jobs and advances the chain, each on condition that the schedule has the
   * revision and next slot that the caller read, is not paused, and that the slots are due by the store's
   * clock. Everything else is refused and changes nothing, so only one of several processes fires a slot.
   * Redis: for each HMGET, compare; HGET the last job's state; insert as above; HSET; ZADD due.
   */
  fireSchedules(call: FireSchedulesCall): Promise<{
    readonly results: readonly FireResult[]
    /** Queues in which groups that fired have enqueued jobs, for hints; omitted if none. */
    readonly enqueued?: readonly Enqueued[]
  }>
}

export interface PutSchedulesCall {
  readonly schedules: readonly PutSchedule[]
  readonly now?: number
}

export interface PutSchedule
  extends Pick<Schedule, 'space' | 'id' | 'revision' | 'spec' | 'dynamic' | 'declaredBy' | 'nextAt'> {
  /** What is stored, as the caller read it; null: nothing. */
  readonly expect: Pick<Schedule, 'revision' | 'nextAt'> | null
}

export type PutScheduleResult = 'ok' | 'unchanged' | 'refused'

export interface RemoveSchedulesCall {
  readonly space: string
  readonly ids: readonly string[]
  /** Only those declared by this owner; with null only those created at run time. */
  readonly declaredBy?: string | null
}

export interface PauseSchedulesCall {
  readonly space: string
  readonly ids: readonly string[]
  readonly reason: string | null
  readonly by: string | null
  readonly now?: number
}

export interface ResumeSchedulesCall {
  readonly schedules: readonly {
    readonly space: string
    readonly id: string
    readonly expect: Pick<Schedule, 'revision' | 'nextAt'>
    readonly nextAt: number | null
  }[]
  readonly now?: number
}

export interface ListSchedulesCall {
  readonly space: string
  readonly declaredBy?: string
  readonly limit: number
  /** From the previous page; null for the first. */
  readonly cursor: string | null
}

export interface DueSchedulesCall {
  readonly space: string
  readonly limit: number
  /** The ids of schedules whose payload function the caller has. Others with a function are left out. */
  readonly known: readonly string[]
  /** Leave these out: the caller could not fire them just now. */
  readonly except: readonly string[]
  readonly now?: number
}

export interface DueSchedulesReply {
  readonly schedules: readonly Schedule[]
  /**
   * The next slot that is not due yet, and the current time, both by the store's clock. `nextAt` is set when
   * fewer than `limit` were due; otherwise null.
   */
  readonly nextAt: number | null
  readonly now: number
}

export interface FireSchedulesCall {
  readonly fires: readonly Fire[]
  readonly now?: number
}

export interface Fire {
  readonly space: string
  readonly id: string
  /** What the caller read. */
  readonly revision: string
  readonly slot: number
  /** The latest of these slots: it must be due. */
  readonly upTo: number
  readonly nextAt: number | null
  /** In the order of their slots. Empty: the chain only advances. More than one only if they may overlap. */
  readonly jobs: readonly NewJob[]
  readonly skipped: number
  readonly overlap: Overlap
  /** For `replace`: JSON text of the failure of the cancelled job, and how long that job is kept. */
  readonly failure: string
  readonly keepMs: number
}

export type FireResult =
  | {
      readonly status: 'fired'
      /** The jobs created; empty if none. */
      readonly inserted: readonly { readonly id: string; readonly dueAt: number }[]
      /** The replaced job: it was cancelled, or asked to stop if it is running. */
      readonly replaced: { readonly id: string; readonly isRunning: boolean } | null
    }
  /**
   * gone: no such schedule. changed: another revision. moved: another slot is next, or another process is
   * firing it. paused. early: the slots are not due.
   */
  | { readonly status: 'refused'; readonly reason: 'gone' | 'changed' | 'moved' | 'paused' | 'early' }
