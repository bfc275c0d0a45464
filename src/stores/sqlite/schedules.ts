import type { NewJob } from '../../core/jobs/job.ts'
import { fireOver, fireRefusal, isUnderWay, pause, putOver, resume } from '../../core/schedules/changes.ts'
import type { Schedule } from '../../core/schedules/schedule.ts'
import type { Enqueued } from '../../store/flows.ts'
import type {
  DueSchedulesCall,
  DueSchedulesReply,
  Fire,
  FireResult,
  ListSchedulesCall,
  PauseSchedulesCall,
  PutScheduleResult,
  PutSchedulesCall,
  RemoveSchedulesCall,
  ResumeSchedulesCall,
} from '../../store/schedules.ts'
import type { Row } from './connection/client.ts'
import type { Turn } from './connection/write-batch.ts'
import { firing } from './flows/groups.ts'
import { changeJobs } from './jobs/change.ts'
import { insertJobs } from './jobs/insert.ts'
import { find } from './jobs/job-row.ts'

const COLUMNS = `space, id, revision, spec, dynamic, declared_by, next_at, paused_at, pause_reason, paused_by, last_slot,
  last_fired_at, last_job_id, fired, skipped, created_at, updated_at`
const FIND = `select ${COLUMNS} from skep_schedules where space = ? and id = ?`
const PUT = `insert or replace into skep_schedules (${COLUMNS}) values (${Array(17).fill('?').join(', ')})`

type Reader = Pick<Turn, 'db'>

export function findSchedule(turn: Reader, space: string, id: string): Schedule | null {
  const row = turn.db.get(FIND, space, id)
  return row ? toSchedule(row) : null
}

export function putSchedules(turn: Turn, call: PutSchedulesCall, now: number): PutScheduleResult[] {
  return call.schedules.map((draft) =>
    swapped(turn, putOver(findSchedule(turn, draft.space, draft.id), draft, now)),
  )
}

export function removeSchedules(turn: Turn, { space, ids, declaredBy }: RemoveSchedulesCall): string[] {
  return ids.filter(
    (id) =>
      turn.db.run(
        'delete from skep_schedules where space = ? and id = ? and (? or declared_by is ?)',
        space,
        id,
        declaredBy === undefined ? 1 : 0,
        declaredBy ?? null,
      ) > 0,
  )
}

export function pauseSchedules(turn: Turn, call: PauseSchedulesCall, now: number): string[] {
  return call.ids.filter((id) => {
    const stored = findSchedule(turn, call.space, id)
    if (stored === null) return false
    write(turn, pause(stored, call.reason, call.by, now))
    return true
  })
}

export function resumeSchedules(turn: Turn, call: ResumeSchedulesCall, now: number): PutScheduleResult[] {
  return call.schedules.map(({ space, id, expect, nextAt }) =>
    swapped(turn, resume(findSchedule(turn, space, id), expect, nextAt, now)),
  )
}

export function listSchedules(
  turn: Reader,
  { space, declaredBy, limit, cursor }: ListSchedulesCall,
): { schedules: Schedule[]; cursor: string | null } {
  const rows = turn.db.all(
    `select ${COLUMNS} from skep_schedules where space = ? and id > ? and (? is null or declared_by = ?)
     order by id limit ?`,
    space,
    cursor ?? '',
    declaredBy ?? null,
    declaredBy ?? null,
    limit + 1,
  )
  const schedules = rows.slice(0, limit).map(toSchedule)
  return { schedules, cursor: rows.length > limit ? (schedules.at(-1)?.id ?? null) : null }
}

// What a schedule has to be to come due, as the index says it.
const ACTIVE = 'next_at is not null and paused_at is null and id not in (select value from json_each(?))'
const KNOWN = 'and id in (select value from json_each(?))'

interface Reads {
  readonly due: string
  readonly next: string
}

function reads(dynamic: 0 | 1): Reads {
  const from = `from skep_schedules where space = ? and dynamic = ${dynamic} and ${ACTIVE} ${dynamic ? KNOWN : ''}`
  return {
    due: `select ${COLUMNS} ${from} and next_at <= ? order by next_at, id limit ?`,
    next: `select next_at ${from} and next_at > ? order by next_at limit 1`,
  }
}

/** The reads that a wake-up consists of, for schedules whose payload is stored and for those that have a function. */
export const DUE_READS: Readonly<Record<'stored' | 'byFunction', Reads>> = {
  stored: reads(0),
  byFunction: reads(1),
}

export function dueSchedules(turn: Reader, call: DueSchedulesCall, now: number): DueSchedulesReply {
  const { space, limit, known } = call
  const due: Schedule[] = []
  let nextAt: number | null = null
  const read = ({ due: sql, next }: Reads, ...given: readonly string[]): void => {
    due.push(...turn.db.all(sql, ...given, now, limit).map(toSchedule))
    const [slot] = turn.db.get(next, ...given, now) ?? []
    if (slot !== undefined) nextAt = Math.min(nextAt ?? Infinity, slot as number)
  }
  const except = JSON.stringify(call.except)
  read(DUE_READS.stored, space, except)
  if (known.length > 0) read(DUE_READS.byFunction, space, except, JSON.stringify(known))
  due.sort((a, b) => (a.nextAt as number) - (b.nextAt as number) || (a.id < b.id ? -1 : 1))
  return due.length < limit
    ? { schedules: due, nextAt, now }
    : { schedules: due.slice(0, limit), nextAt: null, now }
}

export function fireSchedules(
  turn: Turn,
  fires: readonly Fire[],
  now: number,
): { readonly results: readonly FireResult[]; readonly enqueued?: readonly Enqueued[] } {
  return { results: fires.map((fire) => fireOne(turn, fire, now)), ...firing(turn, now) }
}

function fireOne(turn: Turn, fire: Fire, now: number): FireResult {
  const schedule = findSchedule(turn, fire.space, fire.id)
  const reason = fireRefusal(schedule, fire, now)
  if (reason !== null || schedule === null) return { status: 'refused', reason: reason ?? 'gone' }

  const last = fire.overlap === 'allow' || fire.jobs.length === 0 ? null : underWay(turn, schedule)
  const isSkipped = last !== null && fire.overlap === 'skip'
  const isReplaced = last !== null && fire.overlap === 'replace'
  if (isReplaced) {
    const target = { ids: [last.id] }
    changeJobs(
      turn,
      { action: 'cancel', space: last.space, target, failure: fire.failure, keepMs: fire.keepMs },
      now,
    )
  }
  const jobs: readonly NewJob[] = isSkipped ? [] : fire.jobs
  const results = insertJobs(turn, { jobs }, now)
  // Until they are put in, results say only what is nearly always true.
  turn.intake.write(turn)
  const inserted = jobs.map(({ id }, index) => {
    const result = results[index]
    return { id, dueAt: result?.status === 'ok' ? result.dueAt : now }
  })
  const ids = jobs.map(({ id }) => id)
  write(turn, fireOver(schedule, fire, ids, isSkipped, now))
  return {
    status: 'fired',
    inserted,
    replaced: isReplaced ? { id: last.id, isRunning: last.state === 'running' } : null,
  }
}

function underWay(
  turn: Turn,
  { space, lastJobId }: Schedule,
): NonNullable<ReturnType<typeof find>>['job'] | null {
  if (lastJobId === null) return null
  // It may have come in this very transaction.
  turn.intake.write(turn)
  const job = find(turn, space, lastJobId)?.job
  return job && isUnderWay(job.state) ? job : null
}

function swapped<Said extends string>(turn: Turn, outcome: Schedule | Said): Said | 'ok' {
  if (typeof outcome === 'string') return outcome
  write(turn, outcome)
  return 'ok'
}

function write(turn: Turn, schedule: Schedule): void {
  turn.db.run(
    PUT,
    schedule.space,
    schedule.id,
    schedule.revision,
    schedule.spec,
    schedule.dynamic ? 1 : 0,
    schedule.declaredBy,
    schedule.nextAt,
    schedule.pausedAt,
    schedule.pauseReason,
    schedule.pausedBy,
    schedule.lastSlot,
    schedule.lastFiredAt,
    schedule.lastJobId,
    schedule.fired,
    schedule.skipped,
    schedule.createdAt,
    schedule.updatedAt,
  )
}

function toSchedule(row: Row): Schedule {
  return {
    space: row[0] as string,
    id: row[1] as string,
    revision: row[2] as string,
    spec: row[3] as string,
    dynamic: row[4] === 1,
    declaredBy: row[5] as string | null,
    nextAt: row[6] as number | null,
    pausedAt: row[7] as number | null,
    pauseReason: row[8] as string | null,
    pausedBy: row[9] as string | null,
    lastSlot: row[10] as number | null,
    lastFiredAt: row[11] as number | null,
    lastJobId: row[12] as string | null,
    fired: row[13] as number,
    skipped: row[14] as number,
    createdAt: row[15] as number,
    updatedAt: row[16] as number,
  }
}
