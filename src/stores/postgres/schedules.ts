import { type NewJob, rankOf } from '../../core/jobs/job.ts'
import type { Schedule } from '../../core/schedules/schedule.ts'
import type { Enqueued } from '../../store/flows.ts'
import type {
  DueSchedulesCall,
  DueSchedulesReply,
  Fire,
  FireResult,
  FireSchedulesCall,
  ListSchedulesCall,
  PauseSchedulesCall,
  PutScheduleResult,
  PutSchedulesCall,
  RemoveSchedulesCall,
  ResumeSchedulesCall,
  ScheduleStore,
} from '../../store/schedules.ts'
import type { Param, Query } from './connection/driver.ts'
import { arrayOf } from './connection/literals.ts'
import { type EnqueuedRow, hear } from './flows/flow-rows.ts'
import type { Starts } from './jobs/scan-start.ts'
import { CLOCK } from './sql/plan-settings.ts'

const at = (now: number | undefined): Param => (now === undefined ? null : String(now))

/** Sends the calls about schedules, see `migrations/schedules.ts`. `wrote` is told when jobs were made. */
export function postgresSchedules(
  query: Query,
  schema: string,
  starts: Starts,
  wrote: () => void,
): ScheduleStore {
  return {
    putSchedules: (call) => putSchedules(query, schema, call),
    removeSchedules: (call) => removeSchedules(query, schema, call),
    pauseSchedules: (call) => pauseSchedules(query, schema, call),
    resumeSchedules: (call) => resumeSchedules(query, schema, call),

    async getSchedules({ space, ids, now }) {
      // The time comes with the rows, also when there are none.
      const [row] = await query(
        `select coalesce($3::bigint, ${CLOCK}), (select json_agg(s) from ${schema}.schedules s
          where s.space = $1::text and s.id = any($2::text[]))::text`,
        [space, arrayOf(ids), at(now)],
      )
      const found = ((JSON.parse((row?.[1] as string | null) ?? '[]') as Stored[] | null) ?? []).map(
        toSchedule,
      )
      const byId = new Map(found.map((schedule) => [schedule.id, schedule]))
      return { schedules: ids.map((id) => byId.get(id) ?? null), now: Number(row?.[0]) }
    },

    listSchedules: (call) => listSchedules(query, schema, call),
    dueSchedules: (call) => dueSchedules(query, schema, call),

    async fireSchedules(call) {
      const reply = await fireSchedules(query, schema, starts, call)
      wrote()
      return reply
    },
  }
}

async function putSchedules(
  query: Query,
  schema: string,
  { schedules, now }: PutSchedulesCall,
): Promise<{ results: PutScheduleResult[] }> {
  const drafts = schedules.map(({ expect, ...draft }) => ({ ...draft, ...expected(expect) }))
  return {
    results: await lockedInOrder(drafts, (texts) => put(query, `${schema}.put_schedules`, texts, now)),
  }
}

async function resumeSchedules(
  query: Query,
  schema: string,
  { schedules, now }: ResumeSchedulesCall,
): Promise<{ results: PutScheduleResult[] }> {
  const wanted = schedules.map(({ expect, ...one }) => ({ ...one, ...expected(expect) }))
  return {
    results: await lockedInOrder(wanted, (texts) => put(query, `${schema}.resume_schedules`, texts, now)),
  }
}

async function put(
  query: Query,
  name: string,
  schedules: readonly object[],
  now: number | undefined,
): Promise<PutScheduleResult[]> {
  if (schedules.length === 0) return []
  const rows = await query(`select ${name}($1::json, $2::bigint)`, [JSON.stringify(schedules), at(now)])
  return JSON.parse(rows[0]?.[0] as string) as PutScheduleResult[]
}

/** Everybody locks schedules in the same order, so that nobody waits for somebody who waits for them. */
async function lockedInOrder<Item extends { readonly space: string; readonly id: string }>(
  items: readonly Item[],
  send: (items: readonly Item[]) => Promise<PutScheduleResult[]>,
): Promise<PutScheduleResult[]> {
  const key = (place: number): string => `${items[place]?.space} ${items[place]?.id}`
  const places = [...items.keys()].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a - b))
  const answers = await send(places.map((place) => items[place] as Item))
  const results: PutScheduleResult[] = []
  for (const [index, place] of places.entries()) results[place] = answers[index] as PutScheduleResult
  return results
}

function expected(expect: { revision: string; nextAt: number | null } | null): {
  expectRevision: string | null
  expectNextAt: number | null
} {
  return { expectRevision: expect?.revision ?? null, expectNextAt: expect?.nextAt ?? null }
}

async function removeSchedules(
  query: Query,
  schema: string,
  { space, ids, declaredBy }: RemoveSchedulesCall,
): Promise<{ removed: string[] }> {
  const rows = await query(
    `delete from ${schema}.schedules s where s.space = $1::text and s.id = any($2::text[])
      and ($3::text = 'any' or s.declared_by is not distinct from $4::text) returning s.id`,
    [space, arrayOf(ids), declaredBy === undefined ? 'any' : 'one', declaredBy ?? null],
  )
  return { removed: inOrder(ids, rows) }
}

async function pauseSchedules(
  query: Query,
  schema: string,
  { space, ids, reason, by, now }: PauseSchedulesCall,
): Promise<{ paused: string[] }> {
  const rows = await query(
    `with stilled as (
      update ${schema}.schedules s set paused_at = t.now, pause_reason = $3::text, paused_by = $4::text,
        updated_at = t.now
      from (select coalesce($5::bigint, ${CLOCK}) as now) t
      where s.space = $1::text and s.id = any($2::text[]) and s.paused_at is null
    )
    select s.id from ${schema}.schedules s where s.space = $1::text and s.id = any($2::text[])`,
    [space, arrayOf(ids), reason, by, at(now)],
  )
  return { paused: inOrder(ids, rows) }
}

function inOrder(ids: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const there = new Set(rows.map(([id]) => id as string))
  return ids.filter((id) => there.has(id))
}

async function listSchedules(
  query: Query,
  schema: string,
  { space, declaredBy, limit, cursor }: ListSchedulesCall,
): Promise<{ schedules: Schedule[]; cursor: string | null }> {
  const rows = await query(
    `select to_json(s)::text from ${schema}.schedules s where s.space = $1::text and s.id > $2::text
      and ($3::text is null or s.declared_by = $3::text) order by s.id limit $4::integer`,
    [space, cursor ?? '', declaredBy ?? null, String(limit + 1)],
  )
  const found = rows.map(([text]) => toSchedule(JSON.parse(text as string) as Stored))
  const schedules = found.slice(0, limit)
  return { schedules, cursor: found.length > limit ? (schedules.at(-1)?.id ?? null) : null }
}

async function dueSchedules(
  query: Query,
  schema: string,
  call: DueSchedulesCall,
): Promise<DueSchedulesReply> {
  const { space, limit, known, except, now } = call
  const rows = await query(
    `select ${schema}.due_schedules($1::text, $2::integer, $3::text[], $4::text[], $5::bigint)`,
    [space, String(limit), arrayOf(known), arrayOf(except), at(now)],
  )
  const said = JSON.parse(rows[0]?.[0] as string) as { now: number; next: number | null; rows: Stored[] }
  const due = said.rows.map(toSchedule)
  // Both kinds come in order, one after the other.
  due.sort((a, b) => (a.nextAt as number) - (b.nextAt as number) || (a.id < b.id ? -1 : 1))
  const schedules = due.slice(0, limit)
  return { schedules, nextAt: schedules.length < limit ? said.next : null, now: said.now }
}

type FireSaid =
  | readonly ['fired', made: boolean, replaced: string | null, runs: boolean | null]
  | readonly [Extract<FireResult, { status: 'refused' }>['reason']]

async function fireSchedules(
  query: Query,
  schema: string,
  starts: Starts,
  { fires, now }: FireSchedulesCall,
): Promise<{ results: FireResult[]; enqueued?: Enqueued[] }> {
  if (fires.length === 0) return { results: [] }
  const rows = await query(`select ${schema}.fire_schedules($1::json, $2::bigint)`, [
    JSON.stringify(fires.map(toSent)),
    at(now),
  ])
  const [t, said, enqueued] = JSON.parse(rows[0]?.[0] as string) as [number, FireSaid[], EnqueuedRow[] | null]
  const results = said.map((one, index): FireResult => {
    if (one[0] !== 'fired') return { status: 'refused', reason: one[0] }
    const [, isMade, replaced, runs] = one
    const jobs = isMade ? (fires[index] as Fire).jobs : []
    for (const job of jobs) {
      const dueAt = dueOf(job, t)
      starts.lower(job, dueAt > t ? 'delayed' : 'ready', rankOf(dueAt, job.priority), dueAt)
    }
    return {
      status: 'fired',
      inserted: jobs.map((job) => ({ id: job.id, dueAt: dueOf(job, t) })),
      replaced: replaced === null ? null : { id: replaced, isRunning: runs === true },
    }
  })
  return enqueued === null ? { results } : { results, enqueued: hear(enqueued, starts) }
}

function dueOf(job: NewJob, t: number): number {
  return Math.max(t + job.delayMs, job.runAt ?? 0)
}

function toSent(fire: Fire): object {
  return { ...fire, reason: (JSON.parse(fire.failure) as { message: string }).message }
}

/** A row of the table as JSON. */
interface Stored {
  readonly space: string
  readonly id: string
  readonly revision: string
  readonly spec: string
  readonly dynamic: boolean
  readonly declared_by: string | null
  readonly next_at: number | null
  readonly paused_at: number | null
  readonly pause_reason: string | null
  readonly paused_by: string | null
  readonly last_slot: number | null
  readonly last_fired_at: number | null
  readonly last_job_id: string | null
  readonly fired: number
  readonly skipped: number
  readonly created_at: number
  readonly updated_at: number
}

function toSchedule(row: Stored): Schedule {
  return {
    space: row.space,
    id: row.id,
    revision: row.revision,
    spec: row.spec,
    dynamic: row.dynamic,
    declaredBy: row.declared_by,
    nextAt: row.next_at,
    pausedAt: row.paused_at,
    pauseReason: row.pause_reason,
    pausedBy: row.paused_by,
    lastSlot: row.last_slot,
    lastFiredAt: row.last_fired_at,
    lastJobId: row.last_job_id,
    fired: row.fired,
    skipped: row.skipped,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
