import { isTakenBack, type Membership, type Outcome } from '../../../core/flows/groups.ts'
import { type FinalState, isFinal, JOB_STATES, type Job, type NewJob } from '../../../core/jobs/job.ts'
import type { OpenMember, OpenMembersCall, OutcomesCall } from '../../../store/flows.ts'
import type { InsertResult } from '../../../store/store.ts'
import type { Handle } from '../connection/connection.ts'
import type { Turn } from '../connection/write-batch.ts'
import { findGroup } from './groups.ts'

/** How a job ended that is no longer there to tell. */
export type Ending = Pick<Outcome, 'state' | 'result' | 'failure'>

/** The end of a member, with the job or run that it was. */
export interface MemberEnd {
  readonly member: Membership
  readonly outcome: Omit<Outcome, 'n'>
}

/** By how much the counts of a group have changed. */
export interface CountChange {
  done: number
  failed: number
}

/** Jobs that groups or moves enqueued, with their results as soon as they are known. */
export interface EnqueuedJobs {
  readonly jobs: readonly NewJob[]
  readonly results: readonly InsertResult[]
}

const DONE = JOB_STATES.indexOf('done')

const FIND = 'select state from skep_outcomes where group_id = ? and n = ?'
const FIND_MANY = `select o.n, o.state from json_each(?) v
  cross join skep_outcomes o on o.group_id = ? and o.n = v.value`
// The first bit is that of success, see `flow-tables.ts`.
const HAS_SUCCEEDED = 'select 1 from skep_groups where id = ? and need > 0 and fired & 1'
const IS_ALONE = '(case when exists (select 1 from skep_groups where id = ?) then null else ? end)'
const COLUMNS = 'group_id, alone_since, n, id, state, result, failure'
const PUT = `insert or replace into skep_outcomes (${COLUMNS}) values (?, ${IS_ALONE}, ?, ?, ?, ?, ?)`
// Whether the group is there is asked once, before the rows.
const PUT_MANY = `insert or replace into skep_outcomes (${COLUMNS})
  select ?, a.since, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
  from (select ${IS_ALONE} as since) a cross join json_each(?)`

/**
 * The ends of members in one transaction. Outcomes are written at once. What they come to is gathered for each group and
 * written when it fires, at the end of the call: so many ends in one call cost their group one row.
 */
export class Members {
  readonly #db: Handle
  #changes = new Map<string, CountChange>()
  #enqueued: EnqueuedJobs[] = []

  constructor(db: Handle) {
    this.#db = db
  }

  get isQuiet(): boolean {
    return this.#changes.size === 0 && this.#enqueued.length === 0
  }

  /** Keeps account of a member that changed. `ending`: how it ended, if it is gone by now. */
  track(member: Membership, before: Job | null, after: Job | null, ending: Ending | null, now: number): void {
    const was = before !== null && isFinal(before.state) ? before.state : null
    if (after !== null && !isFinal(after.state)) {
      if (was) this.reopen(member)
      return
    }
    if (after === null && was) return // Its outcome stays.
    const { id } = (after ?? before) as Job
    const { state, result, failure } = ending ?? after ?? REMOVED
    this.end({ member, outcome: { id, state: state as FinalState, result, failure } }, now)
  }

  /** A member that was not inserted, because another job holds its unique key, has ended. */
  refused({ id, member }: NewJob, holder: string, now: number): void {
    if (member === null) return
    const failure = JSON.stringify({
      kind: 'duplicate',
      message: `Its unique key is held by job "${holder}".`,
    })
    this.end({ member, outcome: { id, state: 'cancelled', result: null, failure } }, now)
  }

  end({ member, outcome }: MemberEnd, now: number): void {
    const { group, n } = member
    const { id, state, result, failure } = outcome
    const was = (this.#db.get(FIND, group, n)?.[0] ?? null) as number | null
    const is = JOB_STATES.indexOf(state)
    if (this.#staysDone(group, was, is)) return
    this.#db.run(PUT, group, group, now, n, id, is, result, failure)
    this.#count(group, was, is)
  }

  endMany(ends: readonly MemberEnd[], now: number): void {
    const groups = new Map<string, Map<number, MemberEnd>>()
    for (const one of ends) {
      const { group, n } = one.member
      const known = groups.get(group)
      if (known) known.set(n, one)
      else groups.set(group, new Map([[n, one]]))
    }
    for (const [group, own] of groups) {
      if (own.size > 1) this.#endTogether(group, own, now)
      else for (const one of own.values()) this.end(one, now)
    }
  }

  #endTogether(group: string, ends: ReadonlyMap<number, MemberEnd>, now: number): void {
    const known = this.#db.all(FIND_MANY, JSON.stringify([...ends.keys()]), group)
    const before = new Map(known as unknown as [number, number][])
    const rows: unknown[] = []
    for (const [n, { outcome }] of ends) {
      const was = before.get(n) ?? null
      const state = JOB_STATES.indexOf(outcome.state)
      if (this.#staysDone(group, was, state)) continue
      rows.push([n, outcome.id, state, outcome.result, outcome.failure])
      this.#count(group, was, state)
    }
    this.#db.run(PUT_MANY, group, group, now, JSON.stringify(rows))
  }

  reopen({ group, n }: Membership): void {
    const row = this.#db.get(FIND, group, n)
    if (!row || !isTakenBack(JOB_STATES[row[0] as number] as FinalState)) return
    this.#db.run('delete from skep_outcomes where group_id = ? and n = ?', group, n)
    this.#count(group, row[0] as number, null)
  }

  /** All that was counted of a group so far is in its row, which has just been made or mended. */
  recounted(group: string, isDue: boolean): void {
    this.#changes.delete(group)
    if (isDue) this.#changes.set(group, { done: 0, failed: 0 })
  }

  enqueued(jobs: readonly NewJob[], results: readonly InsertResult[]): void {
    if (jobs.length > 0) this.#enqueued.push({ jobs, results })
  }

  /** The groups of which something changed since this was last asked. */
  takeChanges(): ReadonlyMap<string, CountChange> {
    const changes = this.#changes
    if (changes.size > 0) this.#changes = new Map()
    return changes
  }

  takeEnqueued(): readonly EnqueuedJobs[] {
    const enqueued = this.#enqueued
    this.#enqueued = []
    return enqueued
  }

  /** See `staysDone` in `core/groups.ts`. Hardly ever is the group asked for. */
  #staysDone(group: string, was: number | null, is: number): boolean {
    return was === DONE && is !== DONE && this.#db.get(HAS_SUCCEEDED, group) !== undefined
  }

  /** Null: it has not ended. */
  #count(group: string, was: number | null, is: number | null): void {
    let change = this.#changes.get(group)
    if (!change) {
      change = { done: 0, failed: 0 }
      this.#changes.set(group, change)
    }
    if (was !== null) change[was === DONE ? 'done' : 'failed'] -= 1
    if (is !== null) change[is === DONE ? 'done' : 'failed'] += 1
  }
}

const REMOVED: Ending = {
  state: 'cancelled',
  result: null,
  failure: JSON.stringify({ kind: 'cancel', message: 'The job was removed.' }),
}

type Reader = Pick<Turn, 'db'>

const LIST = `select n, id, state, result, failure from skep_outcomes
  where group_id = ? and n >= ? order by n limit ?`

/** What became of the members of each group, by number. */
export function outcomes(turn: Reader, { space, groups, from, limit }: OutcomesCall): Outcome[][] {
  return groups.map((group) => {
    if (findGroup(turn, group)?.space !== space) return []
    return turn.db.all(LIST, group, from, limit).map(([n, id, state, result, failure]) => ({
      n: n as number,
      id: id as string | null,
      state: JOB_STATES[state as number] as FinalState,
      result: result as string | null,
      failure: failure as string | null,
    }))
  })
}

// Each half comes in order from its index, so that a page reads little more than it has.
const open = (table: string, kind: OpenMember['kind']): string => `
  select member as n, m.id as id, '${kind}' as kind from ${table} m where group_id = ? and member >= ?
    and not exists (select 1 from skep_outcomes o where o.group_id = m.group_id and o.n = m.member)`
export const OPEN_MEMBERS: string = `${open('skep_jobs', 'job')} union all ${open('skep_runs', 'run')} order by n limit ?`

/** Jobs and runs that have not ended, by number. */
export function openMembers(turn: Reader, { space, group, from, limit }: OpenMembersCall): OpenMember[] {
  if (findGroup(turn, group)?.space !== space) return []
  return turn.db.all(OPEN_MEMBERS, group, from, group, from, limit).map(([n, id, kind]) => ({
    n: n as number,
    id: id as string,
    kind: kind as OpenMember['kind'],
  }))
}
