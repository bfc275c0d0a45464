/** Reads a SQLite store's file past the store: what it holds, and whether it is whole. */
import { DatabaseSync } from '@photostructure/sqlite'
import { JOB_STATES, type JobState } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Holdings, StoredJob } from './verdict.ts'

type Handle = InstanceType<typeof DatabaseSync>

/** What the file holds. Nothing, while the tables have not been made. */
export function readHoldings(file: string): Holdings & { readonly violations: readonly string[] } {
  const db = new DatabaseSync(file)
  try {
    const [{ integrity_check: integrity } = { integrity_check: 'no answer' }] = rows<{
      integrity_check: string
    }>(db, 'PRAGMA integrity_check')
    const violations = integrity === 'ok' ? [] : [`integrity_check: ${integrity}`]
    const [tables] = rows(db, "select 1 from sqlite_master where name = 'skep_migrations'")
    if (!tables) return { jobs: [], wasDiscarded: () => false, violations }
    const discarded = readDiscarded(db)
    return {
      jobs: [...readHot(db), ...readArchive(db)],
      wasDiscarded: (id) => discarded.has(id.replaceAll('-', '')),
      violations: [...violations, ...misplaced(db)],
    }
  } finally {
    db.close()
  }
}

/** Compares what the store says of its numbers with the rows that are there. Opens, and so migrates, the file. */
export async function miscounts(file: string, { jobs }: Holdings): Promise<string[]> {
  const store = sqliteStore({ file })
  try {
    const { queues, now } = await store.counts({ space: 'default' })
    // By the clock: a delayed job is ready when it is due, although no claim has moved it.
    const stateOf = ({ state, dueAt }: StoredJob): JobState =>
      state === 'delayed' && (dueAt ?? Infinity) <= now ? 'ready' : state
    const found: string[] = []
    for (const { queue, states } of queues) {
      for (const state of JOB_STATES) {
        const there = jobs.filter((job) => job.queue === queue && stateOf(job) === state).length
        if (states[state] !== there)
          found.push(`miscounted: queue ${queue} has ${there} jobs ${state}, and says ${states[state]}`)
      }
    }
    const uncounted = new Set(jobs.map((job) => job.queue))
    for (const { queue } of queues) uncounted.delete(queue)
    return [...found, ...[...uncounted].map((queue) => `miscounted: queue ${queue} is not listed`)]
  } finally {
    await store.close()
  }
}

function rows<T>(db: Handle, sql: string): T[] {
  return db.prepare(sql).all() as T[]
}

const HOT = `
  select j.id, q.name as queue, j.payload, j.result, j.due_at as dueAt,
    case when l.n is not null then 'running' when w.state = 0 then 'delayed' else 'ready' end as state
  from skep_jobs j join skep_queues q on q.q = j.q
  left join skep_leases l on l.n = j.n left join skep_waiting w on w.n = j.n`

function readHot(db: Handle): StoredJob[] {
  return rows<StoredJob>(db, HOT)
}

function readArchive(db: Handle): StoredJob[] {
  const found = rows<Omit<StoredJob, 'state'> & { readonly state: number }>(
    db,
    `select z.id, q.name as queue, z.payload, z.result, z.due_at as dueAt, z.state from skep_archive z join skep_queues q on q.q = z.q`,
  )
  return found.map((row) => ({ ...row, state: JOB_STATES[row.state] as JobState }))
}

/** The ids of discarded jobs, without dashes. */
function readDiscarded(db: Handle): Set<string> {
  const found = new Set<string>()
  for (const { ids } of rows<{ readonly ids: Uint8Array }>(db, 'select ids from skep_discarded')) {
    const text = Buffer.from(ids).toString('hex')
    for (let at = 0; at < text.length; at += 32) found.add(text.slice(at, at + 32))
  }
  return found
}

/** Each hot job is in line or leased, and never both; nothing is in line or leased that is not there. */
function misplaced(db: Handle): string[] {
  const [count] = rows<{
    readonly homeless: number
    readonly twice: number
    readonly ghosts: number
    readonly both: number
  }>(
    db,
    `select
      (select count(*) from skep_jobs where n not in (select n from skep_waiting union all select n from skep_leases)) as homeless,
      (select count(*) from (select n from skep_waiting union all select n from skep_leases) group by n having count(*) > 1) as twice,
      (select count(*) from (select n from skep_waiting union all select n from skep_leases)
        where n not in (select n from skep_jobs)) as ghosts,
      (select count(*) from skep_jobs where id in (select id from skep_archive)) as both`,
  )
  return Object.entries(count ?? {}).flatMap(([what, number]) =>
    number ? [`misplaced: ${number} rows (${what})`] : [],
  )
}
