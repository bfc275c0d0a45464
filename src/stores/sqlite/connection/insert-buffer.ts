import { type NewJob, PRIORITY_STEP_MS, rankOf } from '../../../core/jobs/job.ts'
import { dueTime } from '../../../core/jobs/transitions.ts'
import { DEFAULT_LANE } from '../../../core/lanes/lanes.ts'
import type { InsertResult } from '../../../store/store.ts'
import { keepAgesBehind } from '../jobs/ages.ts'
import { find } from '../jobs/job-row.ts'
import { DEFAULT_NUMBER } from '../lanes/lane-state.ts'
import type { Turn } from './write-batch.ts'

interface Entry {
  readonly job: NewJob
  readonly q: number
  readonly dueAt: number
  /** Its id was made for this call, see `InsertCall`. */
  readonly isFresh: boolean
  /** Where its result belongs. */
  readonly results: InsertResult[]
  readonly at: number
}

/** What has gathered is put in at the latest when it is so many, so that a bulk needs little memory. */
const MOST = 1_000

/**
 * New jobs without a unique key, gathered over all calls of a transaction and put in by the hundred: calling a
 * statement costs more than a row does. Their results are written when they are: until then they say what is
 * nearly always true, that the job is new.
 */
export class Intake {
  #entries: Entry[] = []
  #now = 0
  #lastId = ''
  /** Most jobs of a call are due at one time, and share their result. */
  #result: { readonly status: 'ok'; readonly state: 'ready' | 'delayed'; readonly dueAt: number } | null =
    null

  /** Takes a job and promises a result at the end of `results`. */
  add(turn: Turn, job: NewJob, isFresh: boolean, now: number, results: InsertResult[]): void {
    // Ids mostly grow, and while they do none can come twice. The first of two with one id is the one that counts.
    const mayRepeat = job.id <= this.#lastId
    if (now !== this.#now || mayRepeat || this.#entries.length === MOST) this.write(turn)
    const dueAt = dueTime(job, now)
    if (this.#result?.dueAt !== dueAt || now !== this.#now) {
      this.#result = { status: 'ok', state: dueAt > now ? 'delayed' : 'ready', dueAt }
    }
    const q = turn.queues.make(turn.db, job.space, job.queue)
    this.#entries.push({ job, q, dueAt, isFresh, results, at: results.length })
    this.#lastId = job.id
    this.#now = now
    results.push(this.#result)
  }

  /** Puts in what was gathered. Whoever looks at jobs in the same transaction has to see it. */
  write(turn: Turn): void {
    if (this.#entries.length === 0) return
    const entries = withoutArchived(turn, this.#entries)
    this.#entries = []
    this.#lastId = ''
    if (entries.length === 0) return

    const now = this.#now
    const lines = inLines(entries, now)
    let inserted = 0
    for (const line of lines) inserted += putIn(turn, line, now)
    const isLaned = inserted > 0 && enterLanes(turn, entries, inserted, now)
    if (inserted > 0) turn.db.run(isLaned ? PUT_IN_LANES : PUT_IN_LINE, now, now, now, inserted)
    if (isLaned && entries.some(({ dueAt }) => dueAt > now)) turn.db.run(PUT_IN_LATER, inserted, now)
    keepAgesOf(turn, entries, now)
    if (inserted < entries.length) correct(turn, entries, inserted, now)
    else for (const line of lines) countIn(turn, line, now)
  }
}

/** New jobs without a lane may stand in front of older ones. Strict ones stand in the order in which they were put in. */
function keepAgesOf({ db }: Turn, entries: readonly Entry[], now: number): void {
  const places = new Map<string, readonly [number, number]>()
  for (const { job, q, dueAt } of entries) {
    const isAhead = job.lane === null && dueAt <= now && (job.strict || job.priority > 0)
    if (!isAhead) continue
    const place = job.strict ? 'last' : rankOf(dueAt, job.priority)
    if (places.has(`${q} ${place}`)) continue
    const [last] = place === 'last' ? (db.get('select last_insert_rowid()') as [number]) : [place]
    places.set(`${q} ${place}`, [q, last])
  }
  for (const [q, place] of places.values()) keepAgesBehind(db, q, place)
}

/** Lets the lanes of limited queues know of new ready jobs. True if some do not stand where jobs without lanes do. */
function enterLanes(turn: Turn, entries: readonly Entry[], inserted: number, now: number): boolean {
  const { lanes } = turn
  let isLaned = false
  // One job with a lane is enough for all of its queue to be in lanes.
  for (const { job, q } of entries) {
    if (job.lane !== null) lanes.limited(q, now)
    if (job.lane !== null || job.strict) isLaned = true
  }
  if (isLaned) loadLanes(turn, entries, now)
  for (const entry of entries) {
    const { job, q, dueAt } = entry
    const line = lanes.line(q)
    if (!line || dueAt > now) continue
    if (inserted < entries.length && !isNew(turn, entry, inserted)) continue
    lanes.activate(line, job.lane ?? DEFAULT_LANE, now)
  }
  if (isLaned) lanes.writeNew()
  return isLaned
}

function loadLanes({ lanes }: Turn, entries: readonly Entry[], now: number): void {
  const keys = new Map<number, string[]>()
  for (const { job, q, dueAt } of entries) {
    if (job.lane === null || dueAt > now) continue
    const known = keys.get(q)
    if (known) known.push(job.lane)
    else keys.set(q, [job.lane])
  }
  for (const [q, own] of keys) lanes.load(lanes.limited(q, now), own)
}

// New rows get the highest numbers, one after the other.
const PUT_IN_LINE = `insert into skep_waiting (q, state, place, id, n, due)
  select q, due_at <= ?, case when due_at <= ? then due_at - priority * ${PRIORITY_STEP_MS} else due_at end, id, n,
    case when priority <> 0 and due_at <= ? then due_at end
  from skep_jobs where n > last_insert_rowid() - ?`
const PUT_IN_LANES = `insert into skep_waiting (q, state, place, id, n, due)
  select q, case when due_at > ? then 0 when lane is null then ${DEFAULT_NUMBER}
      else (select number from skep_lanes a where a.q = j.q and a.key = j.lane) end,
    case when due_at > ? then due_at when strict then n else due_at - priority * ${PRIORITY_STEP_MS} end, id, n,
    case when due_at <= ? and (lane is not null or strict or priority <> 0) then due_at end
  from skep_jobs j where n > last_insert_rowid() - ?`

const PUT_IN_LATER = `insert into skep_later (q, lane, place, id, n)
  select q, lane, due_at, id, n from skep_jobs where n > last_insert_rowid() - ? and lane is not null and due_at > ?`

/** Leaves out the jobs that are finished already, and says so in their results. */
function withoutArchived(turn: Turn, entries: Entry[]): Entry[] {
  if (!entries.some(({ job, isFresh }) => !isFresh && job.id <= turn.newestArchived)) return entries
  const rows = turn.db.all(
    'select id, space from skep_archive where (id, space) in (select value ->> 0, value ->> 1 from json_each(?))',
    JSON.stringify(entries.map(({ job }) => [job.id, job.space])),
  )
  if (rows.length === 0) return entries
  const archived = new Set(rows.map(([id, space]) => `${space as string}\n${id as string}`))
  const isArchived = ({ job }: Entry): boolean => archived.has(`${job.space}\n${job.id}`)
  for (const entry of entries) if (isArchived(entry)) tell(turn, entry)
  return entries.filter((entry) => !isArchived(entry))
}

/** Entries that go in by the same statements. */
interface Line {
  readonly q: number
  readonly space: string
  shape: Shape
  readonly entries: Entry[]
}

/** `whole` is `full` with members of groups among them. */
type Shape = 'plain' | 'laned' | 'full' | 'whole'

/** Most jobs are due now and have nothing but a payload and perhaps a lane, so of them only that and the id are sent. */
function inLines(entries: readonly Entry[], now: number): Line[] {
  const lines = new Map<number, Line>()
  for (const entry of entries) {
    const { headers, overrides, priority, lane, strict, cost, member } = entry.job
    const isBare = headers === null && overrides === null && priority === 0 && entry.dueAt === now
    const isShort = isBare && !strict && cost === 1 && member === null
    const shape = isShort ? (lane === null ? 'plain' : 'laned') : 'full'
    // Strict jobs are all in one, in the order of their arrival. The numbers of queues begin with 1.
    const key = shape === 'full' ? 0 : shape === 'plain' ? entry.q : -entry.q
    let line = lines.get(key)
    if (!line) {
      line = { q: entry.q, space: entry.job.space, shape, entries: [] }
      lines.set(key, line)
    }
    line.entries.push(entry)
    if (member !== null) line.shape = 'whole'
  }
  return [...lines.values()]
}

const CHUNKS = [100, 10, 1] as const
type Chunk = (typeof CHUNKS)[number]

/** Returns how many were new. */
function putIn(turn: Turn, { q, space, shape, entries }: Line, now: number): number {
  const isShort = shape === 'plain' || shape === 'laned'
  let inserted = 0
  for (let from = 0; from < entries.length; ) {
    const size = CHUNKS.find((rows) => rows <= entries.length - from) as Chunk
    const values: (string | number | null)[] = isShort ? [q, space, now, now] : [now]
    for (let i = from; i < from + size; i++) {
      const { job, dueAt, q: own } = entries[i] as Entry
      if (shape === 'plain') values.push(job.id, job.payload)
      else if (shape === 'laned') values.push(job.id, job.payload, job.lane)
      else {
        values.push(job.id, job.space, own, dueAt, job.payload, job.priority, job.headers, job.overrides)
        values.push(job.lane, job.strict ? 1 : 0, job.cost)
        if (shape === 'whole') values.push(job.member?.group ?? null, job.member?.n ?? null)
      }
    }
    inserted += turn.db.run(STATEMENTS[shape][size], ...values)
    from += size
  }
  return inserted
}

const STATEMENTS: Readonly<Record<Shape, Readonly<Record<Chunk, string>>>> = {
  plain: forChunks('q, space, due_at, enqueued_at, id, payload', '?, ?, ?, ?, column1, column2', '?, ?'),
  laned: forChunks(
    'q, space, due_at, enqueued_at, id, payload, lane',
    '?, ?, ?, ?, column1, column2, column3',
    '?, ?, ?',
  ),
  full: forChunks(
    'enqueued_at, id, space, q, due_at, payload, priority, headers, overrides, lane, strict, cost',
    '?, column1, column2, column3, column4, column5, column6, column7, column8, column9, column10, column11',
    '?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?',
  ),
  whole: forChunks(
    'enqueued_at, id, space, q, due_at, payload, priority, headers, overrides, lane, strict, cost, group_id, member',
    `?, column1, column2, column3, column4, column5, column6, column7, column8, column9, column10, column11, column12,
      column13`,
    '?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?',
  ),
}

// What all rows share is sent once, before them. Numbered parameters would say it more simply, but not all clients
// know them.
function forChunks(columns: string, values: string, row: string): Record<Chunk, string> {
  const statement = (count: number): string => {
    const rows = Array.from({ length: count }, () => `(${row})`).join(', ')
    return `insert or ignore into skep_jobs (${columns}) select ${values} from (values ${rows})`
  }
  return { 100: statement(100), 10: statement(10), 1: statement(1) }
}

function countIn(turn: Turn, { q, shape, entries }: Line, now: number): void {
  if (shape === 'plain' || shape === 'laned') turn.count(q, 'ready', entries.length)
  else for (const entry of entries) countEntry(turn, entry, now)
}

function countEntry(turn: Turn, { q, dueAt }: Entry, now: number): void {
  if (dueAt > now) turn.countDelayed(q, dueAt, 1)
  else turn.count(q, 'ready', 1)
}

/** Some ids were known: only what did go in is counted, and the others get the results of what is there. */
function correct(turn: Turn, entries: readonly Entry[], inserted: number, now: number): void {
  for (const entry of entries) {
    if (isNew(turn, entry, inserted)) countEntry(turn, entry, now)
    else tell(turn, entry)
  }
}

/** Whether it is among the jobs that were put in last. */
function isNew(turn: Turn, { job }: Entry, inserted: number): boolean {
  if (inserted === 0) return false
  const sql = 'select n > last_insert_rowid() - ? from skep_jobs where id = ? and space = ?'
  const row = turn.db.get(sql, inserted, job.id, job.space)
  return row?.[0] === 1
}

function tell(turn: Turn, { job, results, at }: Entry): void {
  const { state, dueAt } = (find(turn, job.space, job.id) as NonNullable<ReturnType<typeof find>>).job
  results[at] = { status: 'ok', state, dueAt, known: true }
}
