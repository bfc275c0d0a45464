import type { NewJob } from '../../core/job.ts'
import { collide, create } from '../../core/transitions.ts'
import type { InsertResult } from '../../store.ts'
import { find, replace } from './record.ts'
import type { Turn } from './turn.ts'
import { holdKey, keyHolder } from './uniques.ts'

/** Inserts jobs in order. Runs of plain jobs of one queue go in together; all others one by one. */
export function insert(turn: Turn, jobs: readonly NewJob[], again: boolean, now: number): InsertResult[] {
  const results: InsertResult[] = []
  for (let from = 0; from < jobs.length; ) {
    let to = from
    while (to < jobs.length && isPlain(jobs[to] as NewJob, jobs[from] as NewJob)) to++
    if (again || to - from < 2) {
      results.push(insertOne(turn, jobs[from] as NewJob, again, now))
      from += 1
    } else {
      insertPlain(turn, jobs.slice(from, to), now, results)
      from = to
    }
  }
  return results
}

/** Due now, like most jobs are, with nothing but a payload, and in the same queue as `first`. */
function isPlain(job: NewJob, first: NewJob): boolean {
  return (
    job.unique === null &&
    job.headers === null &&
    job.overrides === null &&
    job.priority === 0 &&
    job.delayMs === 0 &&
    job.runAt === null &&
    job.queue === first.queue &&
    job.space === first.space
  )
}

/** Inserts one job of any kind. */
export function insertOne(turn: Turn, job: NewJob, again: boolean, now: number): InsertResult {
  const known = find(turn, job.id)
  if (known) return { status: 'ok', state: known.job.state, dueAt: known.job.dueAt }
  if (again && turn.discarded.tokenOf(job.id) !== undefined)
    return { status: 'ok', state: 'done', dueAt: now }

  if (job.unique) {
    const q = turn.queues.make(turn.db, job.space, job.queue)
    const holder = keyHolder(turn, q, job.unique.key, now)
    if (holder !== undefined) {
      const held = find(turn, holder)
      const changed = held ? collide(held.job, job, now) : null
      if (held && changed) replace(turn, held, changed)
      const action = changed ? (job.unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
      return { status: 'duplicate', id: holder, action }
    }
    const until = job.unique.scope === 'window' ? now + job.unique.windowMs : null
    holdKey(turn, q, job.unique.key, job.id, until)
  }
  const created = create(job, now)
  replace(turn, null, created)
  return { status: 'ok', state: created.state, dueAt: created.dueAt }
}

// A statement call costs more than a row does, so rows are put in by the hundred.
const CHUNKS = [100, 10, 1] as const
const INSERT_CHUNK = new Map(CHUNKS.map((size) => [size, insertStatement(size)] as const))

function insertStatement(rows: number): string {
  const values = Array.from(
    { length: rows },
    (_, i) => `(?3 + ${i}, ?${4 + 2 * i}, ?1, ?2, ?2, ?${5 + 2 * i})`,
  )
  return `insert or ignore into skep_jobs (n, id, q, due_at, enqueued_at, payload) values ${values.join(', ')}`
}

function insertPlain(turn: Turn, jobs: readonly NewJob[], now: number, results: InsertResult[]): void {
  const { db } = turn
  const fresh = { status: 'ok', state: 'ready', dueAt: now } as const
  const archivedMayHave = jobs.some(({ id }) => id <= turn.newestArchived)
  if (archivedMayHave) {
    const ids = JSON.stringify(jobs.map(({ id }) => id))
    const found = db.get('select 1 from skep_archive where id in (select value from json_each(?))', ids)
    if (found) {
      for (const job of jobs) results.push(insertOne(turn, job, false, now))
      return
    }
  }

  const { space, queue } = jobs[0] as NewJob
  const q = turn.queues.make(db, space, queue)
  const first = turn.numbers(jobs.length)
  let inserted = 0
  for (let from = 0; from < jobs.length; ) {
    const size = CHUNKS.find((rows) => rows <= jobs.length - from) as (typeof CHUNKS)[number]
    const values: (string | number)[] = [q, now, first + from]
    for (let i = from; i < from + size; i++) {
      const job = jobs[i] as NewJob
      values.push(job.id, job.payload)
    }
    inserted += db.run(INSERT_CHUNK.get(size) as string, ...values)
    from += size
  }
  db.run(
    `insert into skep_waiting (q, state, place, id, n)
     select q, 1, due_at, id, n from skep_jobs where n >= ? and n < ?`,
    first,
    first + jobs.length,
  )
  turn.count(q, 'ready', inserted)
  if (inserted === jobs.length) for (let i = 0; i < jobs.length; i++) results.push(fresh)
  else for (const { id } of jobs) results.push(found(turn, id))
}

function found(turn: Turn, id: string): InsertResult {
  const { job } = find(turn, id) as NonNullable<ReturnType<typeof find>>
  return { status: 'ok', state: job.state, dueAt: job.dueAt }
}
