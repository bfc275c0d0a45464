import { type ClaimedJob, type Job, PRIORITY_STEP_MS, type UniqueScope } from '../../../core/jobs/job.ts'
import type { SqlValue } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'
import { DEFAULT_NUMBER } from '../lanes/lane-state.ts'

/** A ready job as a claim reads it. */
export interface ReadyJob {
  readonly n: number
  readonly id: string
  readonly place: number
  readonly payload: string
  readonly rest: Rest
}

export type Rest = readonly [
  headers: string | null,
  priority: number,
  overrides: string | null,
  dueAt: number,
  enqueuedAt: number,
  generation: number,
  starts: number,
  errors: number,
  timeouts: number,
  lost: number,
  snoozes: number,
  uniqueKey: string | null,
  uniqueScope: UniqueScope | null,
  cost: number,
  group: string | null,
  member: number | null,
]

// Of most jobs only the payload is worth reading; the rest comes as one text, and only if there is something in it.
// A long payload is read by itself, so that the texts of a claim cannot grow beyond what a string can hold.
const ready = (where: string, from = 'skep_waiting w cross join skep_jobs j on j.n = w.n'): string => `
  select w.n as n, w.id as id, w.place as place, case when length(j.payload) <= 4096 then j.payload else '' end as payload,
    case when j.priority = 0 and j.enqueued_at = j.due_at and j.generation = 0
      and j.starts = 0 and j.errors = 0 and j.timeouts = 0 and j.lost = 0 and j.snoozes = 0
      and j.headers is null and j.overrides is null and j.unique_key is null and j.cost = 1 and j.strict = 0
      and j.group_id is null
    then '' else json_array(
      j.headers, j.priority, j.overrides, j.due_at, j.enqueued_at, j.generation, j.starts, j.errors,
      j.timeouts, j.lost, j.snoozes, j.unique_key, j.unique_scope, j.cost,
      j.group_id, j.member) end as rest
  from ${from}
  where ${where} order by w.place, w.id limit ?`

// Handing over a value costs more than reading it does, so each column comes as one text. The separator cannot occur in
// JSON, where control characters are escaped.
const SEPARATOR = '\u001f'
const together = (from: string): string => `
  select group_concat(n), group_concat(id), group_concat(place),
    group_concat(payload, char(31)), group_concat(rest, char(31)) from (${from})`

const READ_FIRST = together(ready('w.q = ? and w.state = ?'))
const READ_BEHIND = together(ready('w.q = ? and w.state = ? and (w.place, w.id) > (?, ?)'))

/** Ready jobs of a lane, by its number, in their order. */
export function readReady(turn: Turn, q: number, lane: number, limit: number): ReadyJob[] {
  return read(turn, READ_FIRST, q, lane, limit)
}

/** The same from behind a job on. */
export function readBehind(
  turn: Turn,
  q: number,
  lane: number,
  { place, id }: ReadyJob,
  limit: number,
): ReadyJob[] {
  return read(turn, READ_BEHIND, q, lane, place, id, limit)
}

const READ_NAMED = together(
  ready(
    'j.q = ?',
    `json_each(?) v cross join skep_jobs j on j.id = v.value cross join skep_waiting w on w.q = j.q and w.state = ${DEFAULT_NUMBER}
      and w.place = j.due_at - j.priority * ${PRIORITY_STEP_MS} and w.id = j.id`,
  ),
)

/** Those of the named jobs that are ready and in no lane, in their order. */
export function readNamed(turn: Turn, q: number, ids: ReadonlySet<string>, limit: number): ReadyJob[] {
  return read(turn, READ_NAMED, JSON.stringify([...ids]), q, limit)
}

function read(turn: Turn, sql: string, ...values: readonly SqlValue[]): ReadyJob[] {
  const columns = turn.db.get(sql, ...values) as (string | null)[]
  if (columns[0] === null) return []
  const [numbers, ids, places] = columns.slice(0, 3).map((text) => (text as string).split(',')) as [
    string[],
    string[],
    string[],
  ]
  const [payloads, rests] = columns.slice(3).map((text) => (text as string).split(SEPARATOR)) as [
    string[],
    string[],
  ]
  const isWhole = payloads.length === ids.length
  return ids.map((id, i) => {
    const n = Number(numbers[i])
    const place = Number(places[i])
    const text = rests[i] as string
    const payload = (isWhole && payloads[i]) || payloadOf(turn, n)
    return { n, id, place, payload, rest: text === '' ? plainRest(place) : (JSON.parse(text) as Rest) }
  })
}

const READ_EACH = `
  select group_concat((select json_group_array(json_array(n, id, place, payload, rest))
    from (${ready('w.q = ? and w.state = wanted.value')})), ',') from json_each(?) wanted`

/** The first ready jobs of each of many lanes, so many of each, in the order of the lanes. */
export function readEach(turn: Turn, q: number, lanes: readonly number[], limit: number): ReadyJob[][] {
  const row = turn.db.get(READ_EACH, q, limit, `[${lanes.join()}]`) as [string]
  const each = JSON.parse(`[${row[0]}]`) as [
    n: number,
    id: string,
    place: number,
    text: string,
    rest: string,
  ][][]
  return each.map((jobs) =>
    jobs.map(([n, id, place, text, rest]) => ({
      n,
      id,
      place,
      payload: text === '' ? payloadOf(turn, n) : text,
      rest: rest === '' ? plainRest(place) : (JSON.parse(rest) as Rest),
    })),
  )
}

function payloadOf(turn: Turn, n: number): string {
  return turn.db.get('select payload from skep_jobs where n = ?', n)?.[0] as string
}

function plainRest(dueAt: number): Rest {
  return [null, 0, null, dueAt, dueAt, 0, 0, 0, 0, 0, 0, null, null, 1, null, null]
}

/** The rest of a job that was read in another way. */
export function restOf(job: Job): Rest {
  return [
    job.headers,
    job.priority,
    job.overrides,
    job.dueAt,
    job.enqueuedAt,
    job.generation,
    job.starts,
    job.errors,
    job.timeouts,
    job.lost,
    job.snoozes,
    job.uniqueKey,
    job.uniqueScope,
    job.cost,
    job.member?.group ?? null,
    job.member?.n ?? null,
  ]
}

/** What a worker gets of a job that has just been leased. */
export function claimedOf(
  { id, payload, rest }: ReadyJob,
  from: Pick<ClaimedJob, 'space' | 'queue' | 'lane' | 'token'>,
): ClaimedJob {
  return {
    id,
    space: from.space,
    queue: from.queue,
    payload,
    headers: rest[0],
    priority: rest[1],
    overrides: rest[2],
    lane: from.lane,
    dueAt: rest[3],
    enqueuedAt: rest[4],
    generation: rest[5],
    starts: rest[6] + 1,
    errors: rest[7],
    timeouts: rest[8],
    lost: rest[9],
    snoozes: rest[10],
    token: from.token,
  }
}
