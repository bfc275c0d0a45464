import { isFinal, JOB_STATES, type JobState } from '../../../core/jobs/job.ts'
import { listKey } from '../../../core/jobs/transitions.ts'
import { DEFAULT_LANE } from '../../../core/lanes/lanes.ts'
import type {
  CountCall,
  CountReply,
  CountsCall,
  CountsReply,
  ListCall,
  ListReply,
  QueueCounts,
  SpaceCounts,
  Where,
} from '../../../store/store.ts'
import { byTheClock, spacesOf } from '../../shared/counts.ts'
import { DAY_MS, SECOND_MS, SPAN_MS, startOf } from '../../shared/due-counts.ts'
import type { Row, SqlValue } from '../connection/client.ts'
import { STATE_NUMBER, type Turn } from '../connection/write-batch.ts'
import { DEFAULT_NUMBER } from '../lanes/lane-state.ts'
import { ARCHIVE_COLUMNS, archivedJob, HOT_COLUMNS, hotJob, type Placed } from './job-row.ts'

type Reader = Pick<Turn, 'db' | 'queues' | 'lanes'>

/** A search for a text looks at so many jobs at a time, and lets the event loop run between. */
const SEARCH_STEP = 2_000

/** One page of a queue's jobs in one state. */
export async function list(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  call: ListCall,
): Promise<ListReply> {
  const found: Placed[] = []
  let cursor = call.cursor
  // One more than asked for tells whether there is another page.
  for (let isMore = true; isMore && found.length <= call.limit; ) {
    isMore = await database.read((turn) => {
      const end = call.where?.text === undefined ? null : stepEnd(turn, { ...call, cursor })
      found.push(...select(turn, { ...call, cursor }, call.limit + 1 - found.length, end))
      cursor = end
      return end !== null
    })
  }
  const page = found.slice(0, call.limit)
  const last = page.at(-1)
  const hasMore = last !== undefined && found.length > page.length
  return { jobs: page.map(({ job }) => job), cursor: hasMore ? cursorAt(last) : null }
}

/** How many jobs of a queue are in one state and fit, counted step by step so that the event loop can run between. */
export async function count(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  call: CountCall,
): Promise<CountReply> {
  let found = 0
  let cursor: string | null = null
  if (call.look !== undefined) return countFirst(database, call, call.look)
  if (call.limit !== undefined && call.where?.text === undefined) return countUpTo(database, call, call.limit)
  for (let isMore = true; isMore; ) {
    isMore = await database.read((turn) => {
      const end = stepEnd(turn, { ...call, cursor })
      const query = queryOf(turn, { ...call, cursor }, end)
      if (query) found += turn.db.get(`select count(*) ${query.from}`, ...query.values)?.[0] as number
      cursor = end
      return end !== null
    })
  }
  return { count: Math.min(found, call.limit ?? Infinity) }
}

/** Nothing of the jobs themselves is read, so it is one step. */
function countUpTo(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  call: CountCall,
  limit: number,
): Promise<{ readonly count: number }> {
  return database.read((turn) => {
    const query = queryOf(turn, { ...call, cursor: null }, null)
    if (!query) return { count: 0 }
    const sql = `select count(*) from (select 1 ${query.from} limit ?)`
    return { count: turn.db.get(sql, ...query.values, limit)?.[0] as number }
  })
}

/** How many of the first so many jobs fit. Of the jobs themselves only what is asked about is read, so it is one step. */
function countFirst(
  database: { read<T>(work: (turn: Reader) => T): Promise<T> },
  { where, limit = Infinity, ...call }: CountCall,
  look: number,
): Promise<CountReply> {
  return database.read((turn) => {
    const all = queryOf(turn, { ...call, cursor: null }, null)
    if (!all) return { count: 0, looked: 0 }
    const { conditions, values } = fitting(all.view, where ?? {})
    const fits = conditions.length === 0 ? '1' : conditions.join(' and ')
    const sql = `select count(*), ifnull(sum(fits), 0)
      from (select ${fits} as fits ${all.from} order by ${all.order} limit ?)`
    const [looked, found] = turn.db.get(sql, ...values, ...all.values, look) as [number, number]
    return { count: Math.min(found, limit), looked }
  })
}

/** The last job of the next step of a search, as a cursor; null when it reaches the end. */
function stepEnd(turn: Reader, call: Omit<ListCall, 'limit'>): string | null {
  const query = queryOf(turn, { ...call, where: {} }, null)
  if (!query) return null
  const [row] = turn.db.all(
    `select ${query.view.position} ${query.from} order by ${query.order} limit 1 offset ${SEARCH_STEP - 1}`,
    ...query.values,
  )
  return row ? cursorIn(row) : null
}

/** The cursor of what comes after a row of positions. Only ready jobs of limited queues have a lane in front. */
function cursorIn(row: Row): string {
  return JSON.stringify(row.length < 3 ? [DEFAULT_LANE, ...row] : row)
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
  const { view, from, order } = query
  const sql =
    view === FINISHED ? finishedSql(from, order) : `select ${view.columns} ${from} order by ${order} limit ?`
  const rows = turn.db.all(sql, ...query.values, limit)
  return rows.map((row) => view.read(turn, row))
}

/** Hundreds of jobs may have ended in one moment, and are sorted by their ids: these are sorted first, and only the page is read whole. */
function finishedSql(from: string, order: string): string {
  return `select ${FINISHED.columns} from (select z.a ${from} order by ${order} limit ?) p
    cross join skep_archive z on z.a = p.a order by ${order}`
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
  const { state, where = {} } = call
  const isLaned = turn.lanes.line(q) !== null
  // A queue of which one job has a lane is limited: in others all are in the first one.
  if (!isLaned && where.lane !== undefined && where.lane !== DEFAULT_LANE) return null
  const view = viewOf(state, isLaned, where)
  const { position } = view
  const values: SqlValue[] = [q]
  const conditions = [view.from(state)]
  const add = (condition: string, ...bound: SqlValue[]): void => {
    conditions.push(condition)
    values.push(...bound)
  }

  const isDown = isFinal(state) && !call.oldestFirst
  const compare = (how: string, cursor: string): void => {
    const all = JSON.parse(cursor) as [lane: string, place: number, id: string]
    const [lane, ...inLane] = all
    if (view === LANED) add(`a.key ${how.slice(0, 1)}= ? and (${position}) ${how} (?, ?, ?)`, lane, ...all)
    else add(`(${position}) ${how} (?, ?)`, ...inLane)
  }
  if (call.cursor !== null) compare(isDown ? '<' : '>', call.cursor)
  if (end !== null) compare(isDown ? '>=' : '<=', end)
  const order = isDown ? position.replaceAll(/,|$/g, ' desc$&') : position
  const asked = fitting(view, where)
  conditions.push(...asked.conditions)
  values.push(...asked.values)
  return { view, from: conditions.join(' and '), order, values }
}

/** What is asked of each job. */
function fitting(
  { time, payload, failure, lane, inDefaultLane }: View,
  where: Where,
): { readonly conditions: readonly string[]; readonly values: readonly SqlValue[] } {
  const asked: (readonly [condition: string, ...values: SqlValue[]])[] = []
  if (where.lane === DEFAULT_LANE) asked.push([inDefaultLane])
  else if (where.lane !== undefined) asked.push([`${lane} = ?`, where.lane])
  if (where.after !== undefined) asked.push([`${time} >= ?`, where.after])
  if (where.before !== undefined) asked.push([`${time} < ?`, where.before])
  const { text } = where
  if (text !== undefined) asked.push([`(instr(${payload}, ?) > 0 or instr(${failure}, ?) > 0)`, text, text])
  return {
    conditions: asked.map(([condition]) => condition),
    values: asked.flatMap(([, ...values]) => values),
  }
}

/** The cursor of what comes after a job. */
export function cursorAt(placed: Placed): string {
  return JSON.stringify(positionOf(placed))
}

/** Where a job stands in its list: its lane if it is ready, its place, its id. */
function positionOf({ job, n }: Placed): [lane: string, place: number, id: string] {
  const isReady = job.state === 'ready'
  const place = isReady && job.strict ? n : listKey(job)
  return [(isReady && job.lane) || DEFAULT_LANE, place, job.id]
}

/** Where the jobs of a state are found, by which number they are ordered, and which time is asked about. */
interface View {
  readonly columns: string
  readonly read: (turn: Pick<Turn, 'db' | 'queues'>, row: Row) => Placed
  readonly from: (state: JobState) => string
  /** The columns by which they are ordered. */
  readonly position: string
  readonly time: string
  readonly payload: string
  readonly failure: string
  readonly lane: string
  readonly inDefaultLane: string
}

const HOT = {
  columns: HOT_COLUMNS,
  read: hotJob,
  payload: 'j.payload',
  failure: 'j.failure',
  lane: 'j.lane',
  inDefaultLane: 'j.lane is null',
}

const IN_LINE = {
  ...HOT,
  from: (state: JobState) => `from skep_waiting v cross join skep_jobs j on j.n = v.n
    left join skep_leases l on l.n = j.n where v.q = ? and v.state = ${STATE_NUMBER[state]}`,
  position: 'v.place, v.id',
}
const READY: View = { ...IN_LINE, time: 'j.due_at' }
/** They stand by their time, which so is found by key. */
const DELAYED: View = { ...IN_LINE, time: 'v.place' }

/** Ready jobs of a limited queue. A lane of which one is ready is never idle. */
const LANED: View = {
  ...HOT,
  from: () => `from skep_lanes a cross join skep_waiting v on v.q = a.q and v.state = a.number
    cross join skep_jobs j on j.n = v.n left join skep_leases l on l.n = j.n where a.q = ? and a.standing <> 0`,
  position: 'a.key, v.place, v.id',
  time: 'j.due_at',
  lane: 'a.key',
  inDefaultLane: `a.key = '${DEFAULT_LANE}'`,
}

/** Delayed jobs of one lane that is not the default one. */
const DELAYED_IN_LANE: View = {
  ...HOT,
  from: () => `from skep_later v cross join skep_jobs j on j.n = v.n
    left join skep_leases l on l.n = j.n where v.q = ?`,
  position: 'v.place, v.id',
  time: 'v.place',
  lane: 'v.lane',
}

const RUNNING: View = {
  ...HOT,
  from: () => 'from skep_leases l cross join skep_jobs j on j.n = l.n where l.q = ?',
  position: 'l.started_at, j.id',
  time: 'l.started_at',
}

const FINISHED: View = {
  columns: ARCHIVE_COLUMNS,
  read: archivedJob,
  payload: 'z.payload',
  failure: 'z.failure',
  from: (state) => `from skep_archive z where z.q = ? and z.state = ${STATE_NUMBER[state]}`,
  position: 'z.finished_at, z.id',
  time: 'z.finished_at',
  lane: 'z.lane',
  inDefaultLane: 'z.lane is null',
}

function viewOf(state: JobState, isLaned: boolean, { lane }: Where): View {
  if (isFinal(state)) return FINISHED
  if (state === 'running') return RUNNING
  if (state === 'ready') return isLaned ? LANED : READY
  return lane === undefined || lane === DEFAULT_LANE ? DELAYED : DELAYED_IN_LANE
}

// How many delayed jobs are due is counted by the day, by five minutes and by the second; of the second that is not over, the jobs
// themselves. The others read the beginning of an index: the oldest of these, the oldest ready job that is in the index by age,
// and the first in line, see ages.ts.
const COUNTS = `
  select name, ${JOB_STATES.join(', ')},
    case when delayed = 0 then 0 else
      (select total(jobs) from skep_dues d where d.q = s.q and d.width = ${DAY_MS} and d.start < ?)
      + (select total(jobs) from skep_dues d where d.q = s.q and d.width = ${SPAN_MS} and d.start >= ? and d.start < ?)
      + (select total(jobs) from skep_dues d where d.q = s.q and d.width = ${SECOND_MS} and d.start >= ? and d.start < ?)
      + (select count(*) from skep_waiting w where w.q = s.q and w.state = 0 and w.place >= ? and w.place <= ?)
    end,
    (select w.place from skep_waiting w where w.q = s.q and w.state = 0 and w.place <= ? order by w.place limit 1),
    (select w.due from skep_waiting w where w.q = s.q and w.due is not null order by w.due limit 1),
    (select coalesce(w.due, w.place) from skep_waiting w where w.q = s.q and w.state = ${DEFAULT_NUMBER} order by w.place, w.id limit 1)
  from skep_queues s where space = ?`

/** How many jobs each queue has in each state: kept with the queue, so that nothing is counted but the overdue ones. */
export function counts(turn: Pick<Turn, 'db'>, call: CountsCall, now: number): CountsReply {
  const reply = countsOfSpace(turn, call, now)
  return call.spaces ? { ...reply, spaces: spaces(turn) } : reply
}

function spaces({ db }: Pick<Turn, 'db'>): SpaceCounts[] {
  const rows = db.all(`select space, ${JOB_STATES.join(', ')} from skep_queues`)
  return spacesOf(
    rows.map(([space, ...states]) => ({ space: space as string, states: states as readonly number[] })),
  )
}

function countsOfSpace(turn: Pick<Turn, 'db'>, { space, queues }: CountsCall, now: number): CountsReply {
  const [day, span, second] = [DAY_MS, SPAN_MS, SECOND_MS].map((width) => startOf(now, width)) as [
    number,
    number,
    number,
  ]
  const times = [day, day, span, span, second, second, now, now]
  if (!queues) {
    const rows = turn.db.all(`${COUNTS} order by name`, ...times, space)
    return { queues: rows.map(([name, ...numbers]) => countsOf(name as string, numbers)), now }
  }
  return {
    queues: queues.map((queue) => {
      const row = turn.db.get(`${COUNTS} and name = ?`, ...times, space, queue)
      return countsOf(queue, row?.slice(1) ?? [])
    }),
    now,
  }
}

function countsOf(queue: string, numbers: readonly SqlValue[]): QueueCounts {
  const stored = JOB_STATES.map((state, i) => [state, (numbers[i] ?? 0) as number])
  const [overdue, ...dues] = numbers.slice(JOB_STATES.length)
  const oldest = Math.min(...dues.map((due) => (due ?? Infinity) as number))
  return {
    queue,
    states: byTheClock(Object.fromEntries(stored) as Record<JobState, number>, (overdue ?? 0) as number),
    overdue: (overdue ?? 0) as number,
    oldestDueAt: oldest === Infinity ? null : oldest,
  }
}
