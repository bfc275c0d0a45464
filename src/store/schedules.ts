/**
 * What a store promises about schedules. It knows no calendar: the process that asks has worked out the slots, and the
 * store compares and swaps. The rules of `store.ts` hold here too: one call is one transaction, many at a time, the
 * store's own clock unless a test passes `now`, and every call can be repeated.
 *
 * Redis, where `{s}` is the hash tag of the space: a hash for each schedule, and one sorted set by next slot of those
 * that are not paused.
 */
import type { NewJob } from '../core/jobs/job.ts'
import type { Overlap, Schedule } from '../core/schedules/schedule.ts'
import type { Enqueued } from './flows.ts'

export interface ScheduleStore {
  /**
   * Puts schedules in the place of what the caller has read. One that has the same specification and owner already is
   * `unchanged`; one whose stored revision is the new one was put by an earlier try and is `ok` again; one that is not
   * what the caller read is refused. Redis: for each HGET revision, nextAt, compare; HSET; ZADD due.
   */
  putSchedules(call: PutSchedulesCall): Promise<{ readonly results: readonly PutScheduleResult[] }>

  /** Removes schedules. Their jobs stay. Returns the ids of those that were there. */
  removeSchedules(call: RemoveSchedulesCall): Promise<{ readonly removed: readonly string[] }>

  /** Makes schedules stand still. One that does already keeps its reason. Returns the ids of all that exist. */
  pauseSchedules(call: PauseSchedulesCall): Promise<{ readonly paused: readonly string[] }>

  /** Lets paused schedules go on at `nextAt`, if they are what the caller read. One that is not paused is `unchanged`. */
  resumeSchedules(call: ResumeSchedulesCall): Promise<{ readonly results: readonly PutScheduleResult[] }>

  /** Schedules by id, null where there is none, and the store's time. */
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
   * The schedules whose next slot has come, earliest first, and when the next one comes after them: one read of an
   * index, whatever the number of schedules. Redis: ZRANGEBYSCORE due.
   */
  dueSchedules(call: DueSchedulesCall): Promise<DueSchedulesReply>

  /**
   * Fires slots: inserts their jobs and moves the chain on, each on condition that the schedule has the revision and
   * the next slot that the caller read, is not paused, and that the slots have come by the store's clock. Everything
   * else is refused and changes nothing. So of several processes one fires a slot, and a repetition is refused.
   * Redis: for each HMGET, compare; HGET the last job's state; insert as above; HSET; ZADD due.
   */
  fireSchedules(call: FireSchedulesCall): Promise<{
    readonly results: readonly FireResult[]
    /** Queues in which groups that fired have enqueued jobs, for hints; left out when none did. */
    readonly enqueued?: readonly Enqueued[]
  }>
}

export interface PutSchedulesCall {
  readonly schedules: readonly PutSchedule[]
  readonly now?: number
}

export interface PutSchedule
  extends Pick<Schedule, 'space' | 'id' | 'revision' | 'spec' | 'dynamic' | 'declaredBy' | 'nextAt'> {
  /** What is stored, as the caller read it; null when there was nothing. */
  readonly expect: Pick<Schedule, 'revision' | 'nextAt'> | null
}

export type PutScheduleResult = 'ok' | 'unchanged' | 'refused'

export interface RemoveSchedulesCall {
  readonly space: string
  readonly ids: readonly string[]
  /** Only those declared by this owner; with null only those made at run time. */
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
  /** From the page before; null for the first. */
  readonly cursor: string | null
}

export interface DueSchedulesCall {
  readonly space: string
  readonly limit: number
  /** The ids of schedules whose payload the caller can make. Others with a payload by function are left out. */
  readonly known: readonly string[]
  /** Leave these out: the caller could do nothing with them just now. */
  readonly except: readonly string[]
  readonly now?: number
}

export interface DueSchedulesReply {
  readonly schedules: readonly Schedule[]
  /**
   * The next slot of the first one that is not due yet (a moment of the store's clock), and that clock's time now.
   * Filled in when fewer than `limit` were due; otherwise null.
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
  /** The latest slot that this is about: it must have come. */
  readonly upTo: number
  /** Where the chain goes. */
  readonly nextAt: number | null
  /** In the order of their slots. None: the chain only moves. More than one only where they may overlap. */
  readonly jobs: readonly NewJob[]
  /** Slots that were left out. */
  readonly skipped: number
  readonly overlap: Overlap
  /** For `replace`: JSON text of a failure, kept with the job that is cancelled, and how long that is kept. */
  readonly failure: string
  readonly keepMs: number
}

export type FireResult =
  | {
      readonly status: 'fired'
      /** What became of each job; empty when none was made. */
      readonly inserted: readonly { readonly id: string; readonly dueAt: number }[]
      /** The job that made way: it was cancelled, or asked to stop if it runs. */
      readonly replaced: { readonly id: string; readonly isRunning: boolean } | null
    }
  /**
   * gone: no such schedule. changed: another revision. moved: another slot is next, or somebody fires it just now.
   * paused. early: the slots have not come.
   */
  | { readonly status: 'refused'; readonly reason: 'gone' | 'changed' | 'moved' | 'paused' | 'early' }
