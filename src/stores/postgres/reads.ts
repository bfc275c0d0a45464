import { JOB_STATES, type Job, type JobState } from '../../core/job.ts'
import type {
  CountsCall,
  ExpiredCall,
  ExpiredReply,
  ExtendCall,
  ExtendReply,
  ExtendResult,
  GetCall,
  QueueCounts,
  Refusal,
} from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Query, Row } from './driver.ts'
import type { Floors } from './floors.ts'
import { arrayOf, idArrayOf, LOWEST } from './literals.ts'
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
    `select * from ${schema}.extend_leases($1::uuid[], $2::text[], $3::bigint, $4::bigint)`,
    [
      idArrayOf(leases.map((lease) => lease.id)),
      arrayOf(leases.map((lease) => lease.token)),
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
  floors: Floors<Place>,
  { space, queues }: CountsCall,
): Promise<{ queues: QueueCounts[] }> {
  const look = floors.begin([space])
  const known = [...(look.from[0] ?? [])]
  const rows = await query(
    `select * from ${schema}.count_jobs($1::text, $2::text[], $3::text[], $4::bigint[], $5::uuid[])`,
    [
      space,
      queues === undefined ? null : arrayOf(queues),
      arrayOf(known.map(([queue]) => queue)),
      arrayOf(known.map(([, { rank }]) => rank)),
      idArrayOf(known.map(([, { id }]) => id)),
    ],
  )
  look.found([new Map([...known, ...nextOf(rows)])])
  const found = rows.map(toCounts).sort((a, b) => (a.queue < b.queue ? -1 : 1))
  if (queues === undefined) return { queues: found }
  const byName = new Map(found.map((counts) => [counts.queue, counts]))
  return {
    queues: queues.map((queue) => byName.get(queue) ?? { queue, states: { ...NOTHING }, oldestDueAt: null }),
  }
}

/** The next ready job of each queue of a space. */
export type Place = ReadonlyMap<string, { readonly rank: number; readonly id: string }>

function nextOf(rows: readonly Row[]): Place {
  return new Map(
    rows
      .filter((row) => row[9] !== null)
      .map((row) => [row[0] as string, { rank: Number(row[9]), id: row[10] as string }]),
  )
}

function toCounts(row: Row): QueueCounts {
  const counts = JOB_STATES.map((state) => [state, Number(row[STATE_CODES[state] + 1])])
  return {
    queue: row[0] as string,
    states: Object.fromEntries(counts) as Record<JobState, number>,
    oldestDueAt: row[8] === null ? null : Number(row[8]),
  }
}
