import { isFinal, JOB_STATES, type Job, type JobState } from '../../../core/jobs/job.ts'
import { listKey } from '../../../core/jobs/transitions.ts'
import type {
  CountCall,
  CountReply,
  CountsCall,
  CountsReply,
  ExpiredCall,
  ExpiredReply,
  ExtendCall,
  ExtendReply,
  ExtendResult,
  GetCall,
  ListCall,
  ListReply,
  QueueCounts,
  Refusal,
  SpaceCounts,
  Where,
} from '../../../store/store.ts'
import { byTheClock, spacesOf } from '../../shared/counts.ts'
import type { Param, Query, Row } from '../connection/driver.ts'
import {
  arrayOf,
  columnOf,
  HIGHEST,
  HIGHEST_ID,
  idArrayOf,
  LOWEST,
  LOWEST_ID,
} from '../connection/literals.ts'
import { inQueue } from '../sql/queue-hash.ts'
import { JOB_SELECT, RANK, STATE_CODES, toExpired, toJob } from './job-row.ts'
import type { Floors } from './scan-start.ts'

export async function getJobs(
  query: Query,
  schema: string,
  { space, ids }: GetCall,
): Promise<{ jobs: (Job | null)[] }> {
  if (ids.length === 0) return { jobs: [] }
  // Written so that the space does not lead to an index: without statistics the planner would read all of the space in the one that lists
  // the archive, which ends in the id.
  const rows = await query(
    `select ${JOB_SELECT} from ${schema}.every_job where id = any($1::uuid[]) and space || '' = $2::text`,
    [idArrayOf(ids), space],
  )
  const found = new Map(rows.map((row) => [row[0] as string, toJob(row)]))
  return { jobs: ids.map((id) => found.get(id) ?? null) }
}

export async function extendLeases(query: Query, schema: string, call: ExtendCall): Promise<ExtendReply> {
  const { leases, leaseMs, now } = call
  if (leases.length === 0) return { results: [] }
  const rows = await query(
    `select * from ${schema}.extend_leases($1::uuid[], $2::text[], $3::text[], $4::bigint, $5::bigint)`,
    [
      idArrayOf(leases.map((lease) => lease.id)),
      arrayOf(leases.map((lease) => lease.token)),
      columnOf(leases.map((lease) => lease.space)),
      String(leaseMs),
      now === undefined ? null : String(now),
    ],
  )
  return {
    results: rows.map(
      ([said, cancelReason]): ExtendResult =>
        said === 'ok'
          ? { status: 'ok', cancelReason: cancelReason as string | null }
          : { status: 'refused', reason: said as Refusal },
    ),
  }
}

export async function expiredLeases(
  query: Query,
  schema: string,
  floors: Floors<number>,
  call: ExpiredCall,
): Promise<ExpiredReply> {
  const { sources, workerIds, limit, now } = call
  if (sources.length === 0 || limit < 1) return { leases: [] }
  const keys = sources.map(({ space, queue }) => `${space}\n${queue}`)
  // Whoever owns the clock gets to see everything.
  const look = now === undefined ? floors.begin(keys) : undefined
  const rows = await query(
    `select * from ${schema}.expired_leases($1::text::json, $2::text[], $3::integer, $4::bigint)`,
    [
      JSON.stringify(
        sources.map(({ space, queue }, n) => ({ space, queue, since: look?.from[n] ?? LOWEST })),
      ),
      arrayOf(workerIds),
      String(limit),
      now === undefined ? null : String(now),
    ],
  )
  const leases = rows.slice(0, -1)
  // Nothing that is over now ended before the first of these did, or before this look.
  const first = Math.min(Number(rows.at(-1)?.[20]), leases.length > 0 ? Number(leases[0]?.[18]) : Infinity)
  look?.found(keys.map(() => first))
  return { leases: leases.map(toExpired) }
}

const NOTHING = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>

export async function countJobs(
  query: Query,
  schema: string,
  floors: Floors<Places>,
  call: CountsCall,
): Promise<CountsReply> {
  const [reply, spaces] = await Promise.all([
    countsOfSpace(query, schema, floors, call),
    call.spaces ? countSpaces(query, schema) : undefined,
  ])
  return spaces ? { ...reply, spaces } : reply
}

async function countSpaces(query: Query, schema: string): Promise<SpaceCounts[]> {
  const states = JOB_STATES.join(', ')
  const sums = JOB_STATES.map((state) => `sum(y.${state})::bigint`).join(', ')
  const rows = await query(
    `select y.space, y.queue, ${sums} from (
      select space, queue, ${states} from ${schema}.tallies union all
      select space, queue, ${states} from ${schema}.deltas
    ) y group by y.space, y.queue`,
    [],
  )
  return spacesOf(rows.map(([space, , ...counts]) => ({ space: String(space), states: counts.map(Number) })))
}

async function countsOfSpace(
  query: Query,
  schema: string,
  floors: Floors<Places>,
  { space, queues, now }: CountsCall,
): Promise<CountsReply> {
  // Whoever owns the clock gets to see everything.
  const look = now === undefined ? floors.begin([space]) : undefined
  const known = [...(look?.from[0] ?? [])]
  const placesOf = (of: (place: Place) => number): string => arrayOf(known.map(([, place]) => of(place)))
  const rows = await query(
    `select * from ${schema}.count_jobs($1::text, $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[],
      $8::bigint)`,
    [
      space,
      queues === undefined ? null : arrayOf(queues),
      arrayOf(known.map(([queue]) => queue)),
      placesOf(({ rank }) => rank),
      idArrayOf(known.map(([, { id }]) => id)),
      placesOf(({ age }) => age),
      placesOf(({ due }) => due),
      now === undefined ? null : String(now),
    ],
  )
  const time = Number(rows.at(-1)?.[13])
  const counted = rows.slice(0, -1)
  const before = new Map(known)
  look?.found([new Map([...known, ...counted.map((row) => placeOf(row, before, time))])])
  const found = counted.map(toCounts).sort((a, b) => (a.queue < b.queue ? -1 : 1))
  const byName = new Map(found.map((counts) => [counts.queue, counts]))
  const named = queues?.map(
    (queue) => byName.get(queue) ?? { queue, states: { ...NOTHING }, overdue: 0, oldestDueAt: null },
  )
  return { queues: named ?? found, now: time }
}

/** Where the waiting jobs of a queue begin, so that the next look need not walk over the dead entries before. */
interface Place {
  /** Of ready jobs whose place is their age. */
  readonly rank: number
  readonly id: string
  /** Of other ready jobs. */
  readonly age: number
  /** Of delayed jobs. */
  readonly due: number
}

export type Places = ReadonlyMap<string, Place>

/** What comes where nothing was found has no earlier time than this look. */
function placeOf(row: Row, before: Places, now: number): readonly [string, Place] {
  const queue = row[0] as string
  const [rank, id, age, due] = row.slice(9, 13)
  const first =
    rank === null
      ? (before.get(queue) ?? { rank: LOWEST, id: LOWEST_ID })
      : { rank: Number(rank), id: id as string }
  return [
    queue,
    {
      rank: first.rank,
      id: first.id,
      age: age === null ? now : Number(age),
      due: due === null ? now : Number(due),
    },
  ]
}

function toCounts(row: Row): QueueCounts {
  const stored = JOB_STATES.map((state) => [state, Number(row[STATE_CODES[state] + 1])])
  const overdue = Number(row[8] ?? 0)
  return {
    queue: row[0] as string,
    states: byTheClock(Object.fromEntries(stored) as Record<JobState, number>, overdue),
    overdue,
    oldestDueAt: row[13] === null ? null : Number(row[13]),
  }
}

/** Where the last job of a page stands. */
type Cursor = [key: string, id: string, lane: string]

/** The call of `list_jobs`, between `before` and `after`. */
export function listStatement(
  schema: string,
  call: Omit<ListCall, 'limit'>,
  limit: number,
  before: string,
  after: string,
): { text: string; params: Param[] } {
  const { space, queue, state, cursor, oldestFirst = false, where = {} } = call
  const [key, id, lane] =
    cursor === null
      ? isFinal(state) && !oldestFirst
        ? [String(HIGHEST), HIGHEST_ID, '']
        : [String(LOWEST), LOWEST_ID, '']
      : (JSON.parse(cursor) as Cursor)
  return {
    text: `${before} ${schema}.list_jobs($1::text, $2::text, $3::smallint, $4::integer, $5::bigint,
      $6::uuid, $7::bigint, $8::bigint, $9::text, $10::text, $11::text, $12::boolean)${after}`,
    params: [
      space,
      queue,
      String(STATE_CODES[state]),
      String(limit),
      key,
      id,
      String(where.after ?? LOWEST),
      String(where.before ?? HIGHEST),
      where.text ?? null,
      lane,
      where.lane ?? null,
      String(oldestFirst),
    ],
  }
}

/** One page; one job more than that is read, to know whether it is the last. */
export async function listJobs(query: Query, schema: string, call: ListCall): Promise<ListReply> {
  const { text, params } = listStatement(schema, call, call.limit + 1, 'select * from', '')
  const rows = await query(text, params)
  const jobs: Job[] = rows.slice(0, call.limit).map(toJob)
  const last = jobs.at(-1)
  return { jobs, cursor: last && rows.length > jobs.length ? cursorOf(last, rows[jobs.length - 1]) : null }
}

function cursorOf(job: Job, row: Row | undefined): string {
  const place: Cursor =
    job.state === 'ready' ? [String(row?.[RANK]), job.id, job.lane ?? ''] : [String(listKey(job)), job.id, '']
  return JSON.stringify(place)
}

/** How many jobs a selection has: read, not estimated. Payloads are looked at only for a text. */
export async function countSelection(query: Query, schema: string, call: CountCall): Promise<CountReply> {
  const { space, queue, state, where = {}, limit, look } = call
  const params: Param[] = []
  const put = (value: string): string => `$${params.push(value)}`
  // The state is written out, so that its index is found.
  const [inSpace, ofQueue] = [`${put(space)}::text`, `${put(queue)}::text`]
  const of = isFinal(state) ? `x.space = ${inSpace} and x.queue = ${ofQueue}` : inQueue('x', inSpace, ofQueue)
  const listed = `${of} and x.state = ${STATE_CODES[state]}`
  const fits = conditionsOf(state, where, put).join(' and ') || 'true'
  const table = `${schema}.${isFinal(state) ? 'archive' : 'jobs'} x`
  if (look !== undefined) {
    const most = `${put(String(look))}::bigint`
    const parts = partsOf(state).map(
      ({ part, order }) =>
        `(select coalesce(${fits}, false) as fits from ${table} where ${listed}${part} order by ${order} limit ${most})`,
    )
    const [row] = await query(
      `select count(*), count(*) filter (where fits)
       from (select fits from (${parts.join(' union all ')}) as every limit ${most}) as first`,
      params,
    )
    return { count: Math.min(Number(row?.[1]), limit ?? Infinity), looked: Number(row?.[0]) }
  }
  const selected = `from ${table} where ${listed} and ${fits}`
  const [row] = await query(
    limit === undefined
      ? `select count(*) ${selected}`
      : `select count(*) from (select ${selected} limit ${put(String(limit))}::bigint) as counted`,
    params,
  )
  return { count: Number(row?.[0]) }
}

/** What is asked of each job. */
function conditionsOf(state: JobState, where: Where, put: (value: string) => string): string[] {
  const { after, before, lane, text } = where
  const time = timeOf(state)
  const conditions: string[] = []
  if (after !== undefined) conditions.push(`x.${time} >= ${put(String(after))}::bigint`)
  if (before !== undefined) conditions.push(`x.${time} < ${put(String(before))}::bigint`)
  if (lane === '') conditions.push('x.lane is null')
  else if (lane !== undefined) conditions.push(`x.lane = ${put(lane)}::text`)
  if (text !== undefined) {
    const words = `${put(text)}::text`
    conditions.push(`(strpos(x.payload, ${words}) > 0 or strpos(x.failure, ${words}) > 0)`)
  }
  return conditions
}

/** The jobs of a state in the order of the list: ready ones are in two indexes. */
function partsOf(state: JobState): { readonly part: string; readonly order: string }[] {
  if (state === 'ready') {
    return [
      { part: ' and x.lane is null', order: 'x.rank, x.id' },
      { part: ' and x.lane is not null', order: 'x.lane, x.rank, x.id' },
    ]
  }
  const direction = isFinal(state) ? ' desc' : ''
  return [{ part: '', order: `x.${timeOf(state)}${direction}, x.id${direction}` }]
}

/** The moment a selection is about. */
function timeOf(state: JobState): string {
  if (state === 'running') return 'started_at'
  return isFinal(state) ? 'finished_at' : 'due_at'
}
