import type { NewJob, Unique } from '../../core/job.ts'
import { collide, create } from '../../core/transitions.ts'
import type { InsertCall, InsertReply, InsertResult } from '../../store.ts'
import { firing, makeGroup } from './groups.ts'
import { find, replace } from './record.ts'
import { makeRun } from './runs.ts'
import type { Turn } from './turn.ts'
import { holdKey, keyHolder } from './uniques.ts'

/** Inserts jobs, and before them the runs and groups to which they belong. */
export function insert(turn: Turn, call: InsertCall, now: number): InsertReply {
  for (const run of call.runs ?? NONE) makeRun(turn, run, now)
  for (const group of call.groups ?? NONE) makeGroup(turn, group, now)
  const results = insertJobs(turn, call, now)
  return turn.members.isQuiet ? { results } : { results, ...firing(turn, now) }
}

const NONE = [] as const

/** Inserts jobs in order. The results are complete when the turn has finished. */
export function insertJobs(
  turn: Turn,
  { jobs, again = false, fresh = false }: Pick<InsertCall, 'jobs' | 'again' | 'fresh'>,
  now: number,
): InsertResult[] {
  const results: InsertResult[] = []
  for (const job of jobs) {
    if (again || job.unique) {
      turn.intake.write(turn)
      results.push(insertOne(turn, job, again, now))
    } else {
      turn.intake.add(turn, job, fresh, now, results)
    }
  }
  return results
}

function insertOne(turn: Turn, job: NewJob, again: boolean, now: number): InsertResult {
  const known = find(turn, job.id)
  if (known) return { status: 'ok', state: known.job.state, dueAt: known.job.dueAt }
  if (again && turn.discarded.find(job.id) !== undefined) {
    return { status: 'ok', state: 'done', dueAt: now }
  }
  if (job.unique) {
    const duplicate = takeKey(turn, job, job.unique, now)
    if (duplicate) {
      turn.members.refused(job, duplicate.id, now)
      return duplicate
    }
  }
  const created = create(job, now)
  replace(turn, null, created, now)
  return { status: 'ok', state: created.state, dueAt: created.dueAt }
}

type Duplicate = Extract<InsertResult, { readonly status: 'duplicate' }>

/** Gives the job its unique key, or applies the conflict rule to the job that holds it. */
function takeKey(turn: Turn, job: NewJob, unique: Unique, now: number): Duplicate | null {
  const q = turn.queues.make(turn.db, job.space, job.queue)
  const holder = keyHolder(turn, q, unique.key, now)
  if (holder === undefined) {
    holdKey(turn, q, unique.key, job.id, unique.scope === 'window' ? now + unique.windowMs : null)
    return null
  }
  const held = find(turn, holder)
  const changed = held ? collide(held.job, job, now) : null
  if (held && changed) replace(turn, held, changed, now)
  const action = changed ? (unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
  return { status: 'duplicate', id: holder, action }
}
