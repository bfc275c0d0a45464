import type { NewJob, Unique } from '../../../core/jobs/job.ts'
import {
  idTakenError,
  runTakenError,
  type TakenId,
  takenAmong,
  takenRunsAmong,
} from '../../../core/jobs/taken-ids.ts'
import { collide, create } from '../../../core/jobs/transitions.ts'
import type { InsertCall, InsertReply, InsertResult } from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { firing, makeGroup } from '../flows/groups.ts'
import { getRun, makeRun } from '../flows/runs.ts'
import { find, replace } from './job-row.ts'
import { holdKey, keyHolder } from './unique-keys.ts'

/** Inserts jobs, and before them the runs and groups to which they belong. */
export function insert(turn: Turn, call: InsertCall, now: number): InsertReply {
  const { runs = NONE } = call
  if (!call.fresh) {
    const takenRuns = takenRunsAmong(runs, ({ space, id }) => getRun(turn, space, id)?.flow)
    if (takenRuns.length > 0) throw runTakenError(takenRuns)
    const taken = takenBy(turn, call.jobs)
    if (taken.length > 0) throw idTakenError(taken)
  }
  const knownRuns = runs.flatMap((run, n) => (makeRun(turn, run, now) ? [] : [n]))
  for (const group of call.groups ?? NONE) makeGroup(turn, group, now)
  const results = insertJobs(turn, call, now)
  const reply = knownRuns.length > 0 ? { results, knownRuns } : { results }
  return turn.members.isQuiet ? reply : { ...reply, ...firing(turn, now) }
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
  const known = find(turn, job.space, job.id)
  if (known) return { status: 'ok', state: known.job.state, dueAt: known.job.dueAt, known: true }
  if (again && turn.discarded.has(job.id, turn.queues.make(turn.db, job.space, job.queue))) {
    return { status: 'ok', state: 'done', dueAt: now, known: true }
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

const WANTED = 'from json_each(?) v cross join'
const IDS = '(value ->> 0, value ->> 1)'
const QUEUES = [
  `select j.id, j.q ${WANTED} skep_jobs j on (j.id, j.space) = ${IDS}`,
  `select z.id, z.q ${WANTED} skep_archive z on (z.id, z.space) = ${IDS}`,
]

/** Which of these jobs cannot be, because jobs of other queues have their ids. The job `leaving` is about to go. */
export function takenBy(
  turn: Turn,
  jobs: readonly NewJob[],
  leaving?: Pick<NewJob, 'space' | 'id'>,
): TakenId[] {
  if (jobs.length === 0) return []
  turn.intake.write(turn)
  const wanted = JSON.stringify(jobs.map(({ id, space }) => [id, space]))
  const queues = new Map<string, string>()
  for (const sql of QUEUES) {
    for (const [id, q] of turn.db.all(sql, wanted)) {
      const { space, queue } = turn.queues.name(turn.db, q as number)
      if (id !== leaving?.id || space !== leaving?.space) queues.set(`${space}\n${id as string}`, queue)
    }
  }
  return takenAmong(jobs, ({ space, id }) => queues.get(`${space}\n${id}`))
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
  const held = find(turn, job.space, holder)
  const changed = held ? collide(held.job, job, now) : null
  if (held && changed) replace(turn, held, changed, now)
  const action = changed ? (unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
  return { status: 'duplicate', id: holder, action }
}
