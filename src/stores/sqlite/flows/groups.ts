import {
  createGroup,
  dueEvents,
  type Failing,
  GROUP_EVENTS,
  type Group,
  type GroupEvent,
  groupExpiresAt,
  isOpen,
  joined,
  memberCount,
  type NewGroup,
  sealed,
} from '../../../core/flows/groups.ts'
import { JOB_STATES, type NewJob, rankOf } from '../../../core/jobs/job.ts'
import { dueTime } from '../../../core/jobs/transitions.ts'
import {
  type AddMembersCall,
  type AddMembersReply,
  AUDIT_OUTCOMES,
  type AuditCall,
  type AuditReply,
  type Enqueued,
  type TellCall,
  type TellReply,
} from '../../../store/flows.ts'
import type { Row } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'
import { insertJobs } from '../jobs/insert.ts'
import type { CountChange } from './members.ts'

const COLUMNS = `id, space, run, size, need, failing, keep_ms, done, failed, fired, created_at, ended_at`
const FIND = `select ${COLUMNS} from skep_groups where id = ?`
const MAKE = `insert or ignore into skep_groups (${COLUMNS}, expires_at, jobs)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const WRITE = `update skep_groups set done = ?, failed = ?, fired = ?, ended_at = ?, expires_at = ? where id = ?`
const RESIZE = 'update skep_groups set size = ?, need = ?, ended_at = ? where id = ?'
const DONE = JOB_STATES.indexOf('done')
const COUNT = `select total(state = ${DONE}), count(*) from skep_outcomes where group_id = ?`

type Reader = Pick<Turn, 'db'>

/** Makes a group that is not there yet. */
export function makeGroup(turn: Turn, made: NewGroup, now: number): void {
  const { db, members } = turn
  // Somebody outside may have been earlier.
  const early = countOutcomes(turn, made.id)
  const group = counted(createGroup(made, now), early, now)
  const isNew =
    db.run(
      MAKE,
      group.id,
      group.space,
      group.run,
      group.size,
      group.need,
      group.failing,
      group.keepMs,
      group.done,
      group.failed,
      0,
      now,
      group.endedAt,
      groupExpiresAt(group),
      JSON.stringify(group.jobs),
    ) > 0
  if (!isNew) return
  if (early.done + early.failed > 0)
    db.run(
      'update skep_outcomes set alone_since = null where group_id = ? and alone_since is not null',
      group.id,
    )
  members.recounted(group.id, dueEvents(group).length > 0)
}

/**
 * Counts what ended in the groups, enqueues what they have to, and tells in which queues. Every call that may have ended a
 * member ends with it.
 */
export function fire(turn: Turn, now: number): readonly Enqueued[] {
  const { members } = turn
  if (members.isQuiet) return NONE
  // What is enqueued may itself end a member at once, so there may be more on the way.
  for (let changes = members.takeChanges(); changes.size > 0; changes = members.takeChanges()) {
    for (const [id, change] of changes) fireOne(turn, id, change, now)
  }
  // Until they are put in, results say only what is nearly always true.
  turn.intake.write(turn)
  return members.takeEnqueued().flatMap(({ jobs, results }) =>
    jobs.flatMap((job, at) => {
      const result = results[at]
      if (result?.status !== 'ok' && result?.action === 'ignored') return []
      const { space, queue, priority } = job
      const dueAt = result?.status === 'ok' ? result.dueAt : dueTime(job, now)
      return [{ space, queue, dueAt, rank: rankOf(dueAt, priority) }]
    }),
  )
}

/** The same as a part of a reply that leaves it out when there is none. */
export function firing(turn: Turn, now: number): { readonly enqueued?: readonly Enqueued[] } {
  const enqueued = fire(turn, now)
  return enqueued.length === 0 ? NOTHING : { enqueued }
}

const NONE: readonly Enqueued[] = []
const NOTHING = {}

function fireOne(turn: Turn, id: string, change: CountChange, now: number): void {
  const found = findGroup(turn, id)
  if (found === null) return
  const group = counted(found, change, now)
  const due = dueEvents(group)
  const fired = GROUP_EVENTS.filter((event) => group.fired.includes(event) || due.includes(event))
  const { done, failed, endedAt } = group
  turn.db.run(WRITE, done, failed, bitsOf(fired), endedAt, groupExpiresAt(group), id)
  if (due.length === 0) return
  const jobs = jobsOf(turn, id)
  const next = due.flatMap((event) => jobs[event] ?? [])
  turn.members.enqueued(next, insertJobs(turn, { jobs: next }, now))
}

/** Tells of a member outside. */
export function tell(turn: Turn, { space, group, n, result }: TellCall, now: number): TellReply {
  const [known] = turn.db.get('select space from skep_groups where id = ?', group) ?? []
  const isElsewhere = known !== undefined && known !== space
  if (isElsewhere || turn.db.get('select 1 from skep_outcomes where group_id = ? and n = ?', group, n))
    return { status: 'told', enqueued: NONE }
  turn.members.end({ member: { group, n }, outcome: { id: null, state: 'done', result, failure: null } }, now)
  return { status: 'ok', enqueued: fire(turn, now) }
}

/** Adds members to an open group, or seals it, or both. */
export function addMembers(
  turn: Turn,
  { space, group: id, jobs, seal, again = false }: AddMembersCall,
  now: number,
): AddMembersReply {
  const { db, members } = turn
  const group = findGroup(turn, id)
  if (group?.space !== space) return { status: 'unknown', size: 0, enqueued: NONE }
  const [first] = jobs
  const fresh = again && first && isMember(turn, id, first) ? [] : jobs
  const before = memberCount(group)
  if (!isOpen(group) && fresh.length > 0) return { status: 'sealed', size: before, enqueued: NONE }
  if (isOpen(group)) {
    const grown = joined(group, fresh.length)
    const { size, need, endedAt } = seal ? sealed(grown, now) : grown
    db.run(RESIZE, size, need, endedAt, id)
    // What it has counted may be all by now.
    if (seal) members.recounted(id, true)
  }
  const numbered = fresh.map((job, n) => ({ ...job, member: { group: id, n: before + n } }))
  members.enqueued(numbered, insertJobs(turn, { jobs: numbered }, now))
  return { status: 'ok', size: before + fresh.length, enqueued: fire(turn, now) }
}

function isMember(turn: Turn, group: string, { space, id }: NewJob): boolean {
  turn.intake.write(turn)
  return (
    turn.db.get('select 1 from skep_jobs where id = ? and space = ?', id, space) !== undefined ||
    turn.db.get('select 1 from skep_outcomes where group_id = ? and id = ?', group, id) !== undefined
  )
}

/** Mends groups whose counts are not those of their outcomes, or that should have fired. */
export function auditGroups(turn: Turn, { limit, cursor }: AuditCall, now: number): AuditReply {
  const rows = turn.db.all(
    `select ${COLUMNS} from skep_groups where ended_at is null and id > ? order by id limit ?`,
    cursor ?? '',
    limit + 1,
  )
  const mended: { space: string; group: string; what: string }[] = []
  let looked = 0
  let last: string | null = null
  for (let outcomes = 0; looked < Math.min(limit, rows.length) && outcomes < AUDIT_OUTCOMES; looked++) {
    const group = toGroup(rows[looked] as Row)
    last = group.id
    outcomes += group.done + group.failed
    const { done, failed } = countOutcomes(turn, group.id)
    const isMiscounted = group.done !== done || group.failed !== failed
    if (isMiscounted)
      turn.db.run('update skep_groups set done = ?, failed = ? where id = ?', done, failed, group.id)
    else if (dueEvents(group).length === 0) continue
    turn.members.recounted(group.id, true)
    mended.push({ space: group.space, group: group.id, what: isMiscounted ? 'counts' : 'fire' })
  }
  return { mended, enqueued: fire(turn, now), cursor: looked < rows.length ? last : null }
}

export function getGroup(turn: Reader, space: string, id: string): Group | null {
  const group = findGroup(turn, id)
  return group?.space === space ? { ...group, jobs: jobsOf(turn, id) } : null
}

/** A group without its jobs, which are read only when it fires. */
export function findGroup(turn: Reader, id: string): Group | null {
  const row = turn.db.get(FIND, id)
  return row ? toGroup(row) : null
}

function countOutcomes({ db }: Reader, id: string): CountChange {
  const [done, all] = db.get(COUNT, id) as [number, number]
  return { done, failed: all - done }
}

/** A group after so many of its members have changed. */
function counted(group: Group, change: CountChange, now: number): Group {
  const done = group.done + change.done
  const failed = group.failed + change.failed
  const hasEnded = done + failed === group.size
  return { ...group, done, failed, endedAt: hasEnded ? (group.endedAt ?? now) : null }
}

function jobsOf({ db }: Reader, id: string): Group['jobs'] {
  const [jobs] = db.get('select jobs from skep_groups where id = ?', id) as [string]
  return JSON.parse(jobs) as Group['jobs']
}

function bitsOf(events: readonly GroupEvent[]): number {
  return events.reduce((bits, event) => bits | (1 << GROUP_EVENTS.indexOf(event)), 0)
}

function toGroup(row: Row): Group {
  return {
    id: row[0] as string,
    space: row[1] as string,
    run: row[2] as string | null,
    size: row[3] as number,
    need: row[4] as number,
    failing: row[5] as Failing,
    jobs: {},
    keepMs: row[6] as number,
    done: row[7] as number,
    failed: row[8] as number,
    fired: GROUP_EVENTS.filter((_, bit) => ((row[9] as number) >> bit) & 1),
    createdAt: row[10] as number,
    endedAt: row[11] as number | null,
  }
}
