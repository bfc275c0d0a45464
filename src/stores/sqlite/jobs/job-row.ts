import {
  type FinalState,
  isFinal,
  JOB_STATES,
  type Job,
  rankOf,
  type UniqueScope,
} from '../../../core/jobs/job.ts'
import { DEFAULT_LANE } from '../../../core/lanes/lanes.ts'
import type { Row } from '../connection/client.ts'
import { STATE_NUMBER, type Turn } from '../connection/write-batch.ts'
import type { Ending } from '../flows/members.ts'
import { DEFAULT_NUMBER } from '../lanes/lane-state.ts'
import { closeGaps, keepAges } from './ages.ts'

/** A job together with where it is kept: `n` is its number in jobs, or in the archive once it is finished. */
export interface Placed {
  readonly job: Job
  readonly q: number
  readonly n: number
}

/** What jobs and archive have in common, in the order in which it is read and written. */
const COMMON = [
  'id',
  'q',
  'due_at',
  'enqueued_at',
  'payload',
  'priority',
  'headers',
  'overrides',
  'generation',
  'starts',
  'errors',
  'timeouts',
  'lost',
  'snoozes',
  'unique_key',
  'unique_scope',
  'token',
  'worker',
  'started_at',
  'result',
  'failure',
  'lane',
  'strict',
  'cost',
  'group_id',
  'member',
  'space',
  'arrival',
] as const

const columns = (alias: string): string => COMMON.map((name) => `${alias}.${name}`).join(', ')
const marks = (count: number): string => Array(count).fill('?').join(', ')

/**
 * For a hot job `j` with its lease `l`, if it has one. Ends with what tells the state. Each column has a name of its
 * own, because some clients make objects of rows.
 */
export const HOT_COLUMNS: string = `j.n, ${columns('j')}, l.token as lease_token, l.worker as lease_worker,
  l.started_at as lease_start, l.until, l.cancel_reason, exists (select 1 from skep_waiting w
    where w.q = j.q and w.state = 0 and w.place = j.due_at and w.id = j.id) as delayed`
export const ARCHIVE_COLUMNS: string = `z.a, ${columns('z')}, z.state, z.finished_at, z.expires_at, z.cancel_reason`

const FIND_HOT = `select ${HOT_COLUMNS} from skep_jobs j left join skep_leases l on l.n = j.n where j.id = ? and j.space = ?`
const FIND_ARCHIVED = `select ${ARCHIVE_COLUMNS} from skep_archive z where z.id = ? and z.space = ?`
const PUT_HOT = `insert or replace into skep_jobs (n, ${COMMON.join(', ')}) values (${marks(COMMON.length + 1)})`
const PUT_ARCHIVED = `insert into skep_archive (${COMMON.join(', ')}, state, finished_at, expires_at, cancel_reason)
  values (${marks(COMMON.length + 4)})`

type Reader = Pick<Turn, 'db' | 'queues'>

export function find(turn: Reader, space: string, id: string): Placed | undefined {
  const hot = turn.db.get(FIND_HOT, id, space)
  if (hot) return hotJob(turn, hot)
  const archived = turn.db.get(FIND_ARCHIVED, id, space)
  return archived && archivedJob(turn, archived)
}

/** Reads a row of {@link HOT_COLUMNS}. */
export function hotJob(turn: Reader, row: Row): Placed {
  const [token, worker, startedAt, until, cancelReason, delayed] = row.slice(COMMON.length + 1)
  const read = common(turn, row)
  // The number of a strict job is its place, and that of its arrival until it is retried.
  const { strict, arrival = read.n } = read.job
  const placed = strict ? { ...read, job: { ...read.job, arrival } } : read
  if (token === null) {
    return { ...placed, job: { ...placed.job, state: delayed === 1 ? 'delayed' : 'ready' } }
  }
  return {
    ...placed,
    job: {
      ...placed.job,
      state: 'running',
      starts: placed.job.starts + 1,
      token: token as string,
      worker: worker as string,
      startedAt: startedAt as number,
      leaseUntil: until as number,
      cancelReason: cancelReason as string | null,
    },
  }
}

/** Reads a row of {@link ARCHIVE_COLUMNS}. */
export function archivedJob(turn: Reader, row: Row): Placed {
  const [state, finishedAt, expiresAt, cancelReason] = row.slice(COMMON.length + 1)
  const placed = common(turn, row)
  return {
    ...placed,
    job: {
      ...placed.job,
      state: JOB_STATES[state as number] as FinalState,
      finishedAt: finishedAt as number,
      expiresAt: expiresAt as number,
      cancelReason: cancelReason as string | null,
    },
  }
}

function common(turn: Reader, row: Row): Placed {
  const q = row[2] as number
  const { space, queue } = turn.queues.name(turn.db, q)
  const job: Job = {
    id: row[1] as string,
    space,
    queue,
    state: 'ready',
    dueAt: row[3] as number,
    enqueuedAt: row[4] as number,
    ...(row[28] !== null && { arrival: row[28] as number }),
    payload: row[5] as string,
    priority: row[6] as number,
    headers: row[7] as string | null,
    overrides: row[8] as string | null,
    generation: row[9] as number,
    starts: row[10] as number,
    errors: row[11] as number,
    timeouts: row[12] as number,
    lost: row[13] as number,
    snoozes: row[14] as number,
    uniqueKey: row[15] as string | null,
    uniqueScope: row[16] as UniqueScope | null,
    token: row[17] as string | null,
    worker: row[18] as string | null,
    startedAt: row[19] as number | null,
    result: row[20] as string | null,
    failure: row[21] as string | null,
    lane: row[22] as string | null,
    strict: row[23] === 1,
    cost: row[24] as number,
    member: row[25] === null ? null : { group: row[25] as string, n: row[26] as number },
    finishedAt: null,
    expiresAt: null,
    leaseUntil: null,
    cancelReason: null,
  }
  return { job, q, n: row[0] as number }
}

/**
 * Puts a job in the place of what it was before: nothing, or the same job in another state. Null takes it away, and
 * `ending` says how it ended, if that is why it goes.
 */
export function replace(
  turn: Turn,
  before: Placed | null,
  job: Job | null,
  now: number,
  ending: Ending | null = null,
): void {
  const member = (job ?? before?.job)?.member ?? null
  if (member !== null) turn.members.track(member, before?.job ?? null, job, ending, now)
  if (before) leave(turn, before)
  const wasHot = before !== null && !isFinal(before.job.state)
  if (job === null || isFinal(job.state)) {
    if (wasHot) turn.db.run('delete from skep_jobs where n = ?', before.n)
    if (job) enterArchive(turn, job, before ? before.q : turn.queues.make(turn.db, job.space, job.queue))
  } else {
    const q = before ? before.q : turn.queues.make(turn.db, job.space, job.queue)
    track(turn, q, before?.job ?? null, job, now)
    enterHot(turn, job, q, wasHot ? before.n : null)
    return
  }
  if (before) track(turn, before.q, before.job, job, now)
}

/** Keeps account of a job in its lane, if its queue is limited. A claim does so by itself. */
function track(turn: Turn, q: number, before: Job | null, after: Job | null, now: number): void {
  if (after?.state === 'running') return
  const { lanes } = turn
  const { id, lane } = (after ?? before) as Job
  const line = lane === null ? lanes.line(q) : lanes.limited(q, now)
  if (!line) return
  const key = lane ?? DEFAULT_LANE
  const changed = { id, isWaiting: after !== null && !isFinal(after.state) }
  if (before?.state === 'running') lanes.vacate(line, key, changed, now)
  if (after?.state === 'ready' || lanes.lane(line, key).lane.occupant === id)
    lanes.revisit(line, key, changed, now)
  if (after?.state === 'ready') lanes.writeNew()
}

function countJob(turn: Turn, q: number, { state, dueAt }: Job, by: 1 | -1): void {
  if (state === 'delayed') turn.countDelayed(q, dueAt, by)
  else turn.count(q, state, by)
}

function leave(turn: Turn, { job, q, n }: Placed): void {
  countJob(turn, q, job, -1)
  if (isFinal(job.state)) turn.db.run('delete from skep_archive where a = ?', n)
  else if (job.state === 'running') turn.db.run('delete from skep_leases where n = ?', n)
  else {
    turn.db.run(
      'delete from skep_waiting where q = ? and state = ? and place = ? and id = ?',
      q,
      lineOf(turn, q, job),
      placeOf(job, n),
      job.id,
    )
    if (job.state === 'ready' && job.lane === null)
      closeGaps(turn.db, q, [{ place: placeOf(job, n) as number, id: job.id }])
    if (job.state === 'delayed' && job.lane !== null) {
      const sql = 'delete from skep_later where q = ? and lane = ? and place = ? and id = ?'
      turn.db.run(sql, q, job.lane, job.dueAt, job.id)
    }
  }
}

/** `n` is null for a job that was not hot before: it gets the next number. */
function enterHot(turn: Turn, job: Job, q: number, n: number | null): void {
  countJob(turn, q, job, 1)
  if (job.state === 'running') {
    // The row in jobs stays as it was while the job waited: a claim does not rewrite payloads.
    turn.db.run(
      `insert into skep_leases (n, q, token, worker, started_at, until, cancel_reason) values (${marks(7)})`,
      n,
      q,
      job.token,
      job.worker,
      job.startedAt,
      job.leaseUntil,
      job.cancelReason,
    )
    return
  }
  turn.db.run(PUT_HOT, n, ...commonValues(job, q))
  turn.db.run(
    `insert into skep_waiting (q, state, place, id, n, due)
     values (?, ?, coalesce(?, last_insert_rowid()), ?, last_insert_rowid(), ?)`,
    q,
    lineOf(turn, q, job),
    placeOf(job, null),
    job.id,
    job.state === 'delayed' || isByAge(job) ? null : job.dueAt,
  )
  if (job.state === 'ready' && job.lane === null) {
    const place = placeOf(job, null) ?? (turn.db.get('select last_insert_rowid()') as [number])[0]
    keepAges(turn.db, q, [{ place, id: job.id, due: isByAge(job) ? null : job.dueAt }])
  }
  if (job.state === 'delayed' && job.lane !== null) {
    const sql = 'insert into skep_later (q, lane, place, id, n) values (?, ?, ?, ?, last_insert_rowid())'
    turn.db.run(sql, q, job.lane, job.dueAt, job.id)
  }
}

function enterArchive(turn: Turn, job: Job, q: number): void {
  countJob(turn, q, job, 1)
  turn.archived()
  turn.db.run(
    PUT_ARCHIVED,
    ...commonValues(job, q),
    STATE_NUMBER[job.state],
    job.finishedAt,
    job.expiresAt,
    job.cancelReason,
  )
}

/** The state of a waiting job in its table: for a ready one the number of its lane. */
function lineOf(turn: Turn, q: number, job: Job): number {
  if (job.state === 'delayed') return STATE_NUMBER.delayed
  if (job.lane === null) return DEFAULT_NUMBER
  const line = turn.lanes.line(q)
  return line === null ? DEFAULT_NUMBER : turn.lanes.lane(line, job.lane).number
}

/** Where a waiting job stands in line: for a strict one its number `n`. */
function placeOf(job: Job, n: number | null): number | null {
  if (job.state === 'delayed') return job.dueAt
  return job.strict ? n : rankOf(job.dueAt, job.priority)
}

/** Whether ready jobs like this one stand in line by their age alone. */
function isByAge({ lane, strict, priority }: Job): boolean {
  return lane === null && !strict && priority === 0
}

function commonValues(job: Job, q: number): (string | number | null)[] {
  return [
    job.id,
    q,
    job.dueAt,
    job.enqueuedAt,
    job.payload,
    job.priority,
    job.headers,
    job.overrides,
    job.generation,
    job.starts,
    job.errors,
    job.timeouts,
    job.lost,
    job.snoozes,
    job.uniqueKey,
    job.uniqueScope,
    job.token,
    job.worker,
    job.startedAt,
    job.result,
    job.failure,
    job.lane,
    job.strict ? 1 : 0,
    job.cost,
    job.member?.group ?? null,
    job.member?.n ?? null,
    job.space,
    job.arrival ?? null,
  ]
}
