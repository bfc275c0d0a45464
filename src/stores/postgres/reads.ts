import { JOB_STATES, type Job, type JobState } from '../../core/job.ts'
import type {
  CountsCall,
  CountsReply,
  ExpiredCall,
  ExpiredReply,
  ExtendCall,
  ExtendReply,
  ExtendResult,
  GetCall,
  QueueCounts,
  Refusal,
  SpaceCounts,
} from '../../store.ts'
import { byTheClock, spacesOf } from '../shared/counts.ts'
import { STATE_CODES } from './codes.ts'
import type { Query, Row } from './driver.ts'
import type { Floors } from './floors.ts'
import { arrayOf, columnOf, idArrayOf, LOWEST, LOWEST_ID } from './literals.ts'
import { JOB_SELECT, toExpired, toJob } from './rows.ts'

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
