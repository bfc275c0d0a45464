import { isFinal, type Job, type JobState } from '../../core/job.ts'
import { listKey } from '../../core/transitions.ts'
import type { CountCall, ListCall, ListReply } from '../../store.ts'
import type { Row, SqlValue } from './client.ts'
import { ARCHIVE_COLUMNS, archivedJob, HOT_COLUMNS, hotJob, type Placed } from './record.ts'
import { STATE_NUMBER, type Turn } from './turn.ts'

type Reader = Pick<Turn, 'db' | 'queues'>

/** A search for a text looks at so many jobs at a time, and lets the event loop run between. */
const SEARCH_STEP = 2_000

/** One page of a queue's jobs in one state. */
export async function list(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  call: ListCall,
): Promise<ListReply> {
  const found: Job[] = []
  let cursor = call.cursor
  // One more than asked for tells whether there is another page.
  for (let isMore = true; isMore && found.length <= call.limit; ) {
    isMore = await database.read((turn) => {
      const end = call.where?.text === undefined ? null : stepEnd(turn, { ...call, cursor })
      for (const { job } of select(turn, { ...call, cursor }, call.limit + 1 - found.length, end))
        found.push(job)
      cursor = end
      return end !== null
    })
  }
  const jobs = found.slice(0, call.limit)
  const last = jobs.at(-1)
  return { jobs, cursor: last && found.length > jobs.length ? `${listKey(last)}:${last.id}` : null }
}

/** How many jobs of a queue are in one state and fit, counted step by step so that the event loop can run between. */
export async function count(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  call: CountCall,
): Promise<{ readonly count: number }> {
  let found = 0
  let cursor: string | null = null
  for (let isMore = true; isMore; ) {
    isMore = await database.read((turn) => {
      const end = stepEnd(turn, { ...call, cursor })
      const query = queryOf(turn, { ...call, cursor }, end)
      if (query) found += turn.db.get(`select count(*) ${query.from}`, ...query.values)?.[0] as number
      cursor = end
      return end !== null
    })
  }
  return { count: found }
}

/** The last job of the next step of a search, as a cursor; null when it reaches the end. */
function stepEnd(turn: Reader, call: Omit<ListCall, 'limit'>): string | null {
  const query = queryOf(turn, { ...call, where: {} }, null)
  if (!query) return null
  const { key, id } = query.view
  const [row] = turn.db.all(
    `select ${key} as place, ${id} as id ${query.from} order by ${query.order} limit 1 offset ${SEARCH_STEP - 1}`,
    ...query.values,
  )
  return row ? `${row[0] as number}:${row[1] as string}` : null
}

/** Up to `limit` jobs of a selection, in the order in which they are listed, and not beyond `end`. */
export function select(
  turn: Reader,
  call: Omit<ListCall, 'limit'>,
  limit: number,
  end: string | null = null,
): Placed[] {
  const query = queryOf(turn, call, end)
  if (!query) return []
  const sql = `select ${query.view.columns} ${query.from} order by ${query.order} limit ?`
  const rows = turn.db.all(sql, ...query.values, limit)
  return rows.map((row) => query.view.read(turn, row))
}

interface Query {
  readonly view: View
  /** From `from` to the end of the conditions. */
  readonly from: string
  readonly order: string
  readonly values: readonly SqlValue[]
}

function queryOf(turn: Reader, call: Omit<ListCall, 'limit'>, end: string | null): Query | null {
  const q = turn.queues.find(turn.db, call.space, call.queue)
  if (q === undefined) return null
  const view = VIEWS[viewOf(call.state)]
  const { key, id, time, payload, failure } = view
  const values: SqlValue[] = [q]
  const conditions = [view.from(call.state)]
  const add = (condition: string, ...bound: SqlValue[]): void => {
    conditions.push(condition)
    values.push(...bound)
  }

  const isDown = isFinal(call.state)
  if (call.cursor !== null) add(`(${key}, ${id}) ${isDown ? '<' : '>'} (?, ?)`, ...positionOf(call.cursor))
  if (end !== null) add(`(${key}, ${id}) ${isDown ? '>=' : '<='} (?, ?)`, ...positionOf(end))
  const { after, before, text } = call.where ?? {}
  if (after !== undefined) add(`${time} >= ?`, after)
  if (before !== undefined) add(`${time} < ?`, before)
  if (text !== undefined) add(`(instr(${payload}, ?) > 0 or instr(${failure}, ?) > 0)`, text, text)
  const order = isDown ? `${key} desc, ${id} desc` : `${key}, ${id}`
  return { view, from: conditions.join(' and '), order, values }
}

function positionOf(cursor: string): [place: number, id: string] {
  const [place, id] = cursor.split(':') as [string, string]
  return [Number(place), id]
}

/** Where the jobs of a state are found, by which number they are ordered, and which time is asked about. */
interface View {
  readonly columns: string
  readonly read: (turn: Reader, row: Row) => Placed
  readonly from: (state: JobState) => string
  readonly key: string
  readonly time: string
  readonly payload: string
  readonly failure: string
  readonly id: string
}

const HOT = { columns: HOT_COLUMNS, read: hotJob, payload: 'j.payload', failure: 'j.failure' }
const VIEWS: Readonly<Record<'waiting' | 'running' | 'finished', View>> = {
  waiting: {
    ...HOT,
    from: (state) => `from skep_waiting v cross join skep_jobs j on j.n = v.n
      left join skep_leases l on l.n = j.n where v.q = ? and v.state = ${STATE_NUMBER[state]}`,
    key: 'v.place',
    time: 'j.due_at',
    id: 'v.id',
  },
  running: {
    ...HOT,
    from: () => 'from skep_leases l cross join skep_jobs j on j.n = l.n where l.q = ?',
    key: 'l.started_at',
    time: 'l.started_at',
    id: 'j.id',
  },
  finished: {
    columns: ARCHIVE_COLUMNS,
    read: archivedJob,
    payload: 'z.payload',
    failure: 'z.failure',
    from: (state) => `from skep_archive z where z.q = ? and z.state = ${STATE_NUMBER[state]}`,
    key: 'z.finished_at',
    time: 'z.finished_at',
    id: 'z.id',
  },
}

function viewOf(state: JobState): keyof typeof VIEWS {
  if (isFinal(state)) return 'finished'
  return state === 'running' ? 'running' : 'waiting'
}
