import {
  counted,
  createGroup,
  dueEvents,
  GROUP_EVENTS,
  type Group,
  groupExpiresAt,
  isOpen,
  isTakenBack,
  joined,
  type Membership,
  memberCount,
  type NewGroup,
  type Outcome,
  sealed,
  staysDone,
  UNMADE_MS,
} from '../../core/flows/groups.ts'
import {
  createRun,
  mayMove,
  mayRejoin,
  moved,
  type NewRun,
  outcomeState,
  RUN_STATUSES,
  type Run,
  type RunMove,
  revives,
} from '../../core/flows/runs.ts'
import { type FinalState, isFinal, type Job, type NewJob, rankOf } from '../../core/jobs/job.ts'
import { type TakenRun, takenRunsAmong } from '../../core/jobs/taken-ids.ts'
import { dueTime } from '../../core/jobs/transitions.ts'
import type {
  AddMembersCall,
  AddMembersReply,
  AuditCall,
  AuditReply,
  CountRunsCall,
  CountRunsReply,
  Enqueued,
  ListRunsCall,
  MoveResult,
  OpenMember,
  OpenMembersCall,
  OutcomesCall,
  RunCount,
  TellCall,
  TellReply,
} from '../../store/flows.ts'
import type { InsertResult } from '../../store/store.ts'
import { keyOf } from './table.ts'

/** What the flows need of the jobs. */
interface FlowJobs {
  insert(job: NewJob, now: number): InsertResult
  has(space: string, id: string): boolean
}

/** How a job ended that is no longer there to tell. */
export interface Ending {
  readonly state: FinalState
  readonly result: string | null
  readonly failure: string | null
}

/** Groups, their outcomes, and runs: the rules of `core/groups.ts` and `core/runs.ts` over maps. */
export class Flows {
  readonly #jobs: FlowJobs
  readonly #groups = new Map<string, Group>()
  readonly #outcomes = new Map<string, Map<number, Outcome>>()
  /** By space and id. */
  readonly #runs = new Map<string, Run>()
  /** The jobs and runs that are members, by group and number. */
  readonly #members = new Map<string, Map<number, OpenMember>>()
  /** Groups of which something changed in this call, each with when it had ended before. */
  readonly #touched = new Map<string, number | null>()
  /** Since when there are outcomes of groups that are not there. */
  readonly #aloneSince = new Map<string, number>()
  #enqueued: Enqueued[] = []

  constructor(jobs: FlowJobs) {
    this.#jobs = jobs
  }

  // ── making ─────────────────────────────────────────────────────────────────────────────────────

  makeGroup(made: NewGroup, now: number): void {
    if (this.#groups.has(made.id)) return
    let group = createGroup(made, now)
    // Somebody outside may have been earlier.
    for (const { state } of this.#outcomesOf(made.id).values()) group = counted(group, null, state, now)
    if (group.size === 0) group = { ...group, endedAt: now }
    this.#groups.set(made.id, group)
    this.#aloneSince.delete(made.id)
    this.#touched.set(made.id, null)
  }

  /** Which of these runs cannot be, because runs of other flows have their ids. */
  takenRuns(made: readonly NewRun[]): TakenRun[] {
    return takenRunsAmong(made, ({ space, id }) => this.run(space, id)?.flow)
  }

  /** Whether it was made; otherwise it was there. */
  makeRun(made: NewRun, now: number): boolean {
    if (this.#runs.has(keyOf(made))) return false
    this.#runs.set(keyOf(made), createRun(made, now))
    if (made.member) this.#join(made.member, made.id, 'run')
    return true
  }

  /** A job was inserted. If another holds its unique key, it is a member that has ended. */
  inserted(job: NewJob, result: InsertResult, now: number): void {
    if (job.member === null) return
    if (result.status !== 'duplicate') {
      this.#join(job.member, job.id, 'job')
      return
    }
    const failure = JSON.stringify({
      kind: 'duplicate',
      message: `Its unique key is held by job "${result.id}".`,
    })
    this.#end(job.member, { id: job.id, state: 'cancelled', result: null, failure }, now)
  }

  // ── ending ─────────────────────────────────────────────────────────────────────────────────────

  /** Keeps account of a job that changed. `ending`: how it ended, if it is gone by now. */
  track(before: Job | null, after: Job | null, ending: Ending | null, now: number): void {
    const job = (after ?? before) as Job
    const { member } = job
    if (member === null) return
    if (after === null && ending === null && before !== null && isFinal(before.state)) return // Its outcome stays.
    if (after !== null && !isFinal(after.state)) {
      if (before !== null && isFinal(before.state)) this.#reopen(member, now)
      return
    }
    const { state, result, failure } = ending ?? after ?? REMOVED
    this.#end(member, { id: job.id, state: state as FinalState, result, failure }, now)
  }

  /** Whether a member of this group may run again. */
  mayRejoin(group: string): boolean {
    return mayRejoin(group, {
      groupOf: (id) => this.#groups.get(id),
      runOf: (space, id) => this.run(space, id) ?? undefined,
    })
  }

  move(move: RunMove, now: number): MoveResult {
    const run = this.#runs.get(keyOf(move))
    if (run === undefined) return { status: 'refused', reason: 'unknown' }
    if (!mayMove(run, move) || (revives(run, move) && !this.mayRejoin(run.member.group)))
      return { status: 'refused', reason: run.revision === move.revision ? 'over' : 'moved' }
    const after = moved(run, move, now)
    this.#runs.set(keyOf(run), after)
    for (const made of move.runs) this.makeRun(made, now)
    for (const group of move.groups) this.makeGroup(group, now)
    for (const job of move.jobs) this.#insert(job, now)
    if (run.member) {
      const [was, state] = [outcomeState(run.status), outcomeState(after.status)]
      if (state)
        this.#end(run.member, { id: run.id, state, result: after.result, failure: after.failure }, now)
      else if (was) this.#reopen(run.member, now)
    }
    return { status: 'ok' }
  }

  tell({ space, group, n, result }: TellCall, now: number): TellReply {
    const known = this.#groups.get(group)
    if ((known && known.space !== space) || this.#outcomesOf(group).has(n))
      return { status: 'told', enqueued: [] }
    this.#end({ group, n }, { id: null, state: 'done', result, failure: null }, now)
    return { status: 'ok', enqueued: this.fire(now) }
  }

  addMembers({ space, group: id, jobs, seal, again = false }: AddMembersCall, now: number): AddMembersReply {
    const group = this.group(space, id)
    if (group === null) return { status: 'unknown', size: 0, enqueued: [] }
    const isThere = again && jobs.length > 0 && this.#isMember(id, jobs[0] as NewJob)
    const fresh = isThere ? [] : jobs
    const before = memberCount(group)
    if (!isOpen(group) && fresh.length > 0) return { status: 'sealed', size: before, enqueued: [] }
    if (isOpen(group)) {
      const grown = joined(group, fresh.length)
      this.#groups.set(id, seal ? sealed(grown, now) : grown)
      this.#touched.set(id, null)
    }
    for (const [n, job] of fresh.entries())
      this.#insert({ ...job, member: { group: id, n: before + n } }, now)
    return { status: 'ok', size: before + fresh.length, enqueued: this.fire(now) }
  }

  #isMember(group: string, { space, id }: NewJob): boolean {
    return (
      this.#jobs.has(space, id) || [...this.#outcomesOf(group).values()].some((outcome) => outcome.id === id)
    )
  }

  /** Enqueues what groups have to, and tells in which queues. Every call that changes something ends with it. */
  fire(now: number): readonly Enqueued[] {
    // What is enqueued may itself end a member at once, so there may be more on the way.
    for (const [id, endedAt] of this.#touched) {
      this.#touched.delete(id)
      const group = this.#groups.get(id) as Group
      const due = dueEvents(group)
      const fired = GROUP_EVENTS.filter((event) => group.fired.includes(event) || due.includes(event))
      // One that went on and ended again in the same call has never gone on for others.
      this.#groups.set(id, { ...group, fired, endedAt: group.endedAt && (endedAt ?? group.endedAt) })
      for (const event of due) {
        const job = group.jobs[event]
        if (job) this.#insert(job, now)
      }
    }
    const enqueued = this.#enqueued
    this.#enqueued = []
    return enqueued
  }

  #end(member: Membership, { id, state, result, failure }: Omit<Outcome, 'n'>, now: number): void {
    const outcomes = this.#outcomesOf(member.group)
    const was = outcomes.get(member.n)?.state ?? null
    const group = this.#groups.get(member.group)
    if (group && staysDone(group, was, state)) return
    outcomes.set(member.n, { n: member.n, id, state, result, failure })
    this.#count(member.group, was, state, now)
  }

  #join({ group, n }: Membership, id: string, kind: OpenMember['kind']): void {
    const members = this.#members.get(group) ?? new Map<number, OpenMember>()
    this.#members.set(group, members.set(n, { n, id, kind }))
  }

  #reopen(member: Membership, now: number): void {
    const outcomes = this.#outcomesOf(member.group)
    const was = outcomes.get(member.n)?.state ?? null
    if (was !== null && !isTakenBack(was)) return
    outcomes.delete(member.n)
    this.#count(member.group, was, null, now)
  }

  #count(id: string, was: FinalState | null, is: FinalState | null, now: number): void {
    const group = this.#groups.get(id)
    if (!group) {
      if (!this.#aloneSince.has(id)) this.#aloneSince.set(id, now)
      return
    }
    this.#groups.set(id, counted(group, was, is, now))
    if (!this.#touched.has(id)) this.#touched.set(id, group.endedAt)
  }

  #insert(job: NewJob, now: number): void {
    const result = this.#jobs.insert(job, now)
    if (result.status === 'duplicate' && result.action === 'ignored') return
    const { space, queue, priority } = job
    const dueAt = result.status === 'ok' ? result.dueAt : dueTime(job, now)
    this.#enqueued.push({ space, queue, dueAt, rank: rankOf(dueAt, priority) })
  }

  #outcomesOf(group: string): Map<number, Outcome> {
    const known = this.#outcomes.get(group)
    if (known) return known
    const outcomes = new Map<number, Outcome>()
    this.#outcomes.set(group, outcomes)
    return outcomes
  }

  // ── looking ────────────────────────────────────────────────────────────────────────────────────

  run(space: string, id: string): Run | null {
    return this.#runs.get(keyOf({ space, id })) ?? null
  }

  group(space: string, id: string): Group | null {
    const group = this.#groups.get(id)
    return group?.space === space ? group : null
  }

  outcomes({ space, groups, from, limit }: OutcomesCall): Outcome[][] {
    return groups.map((id) => {
      const group = this.group(space, id)
      return group ? pageOf(group, this.#outcomesOf(id), from, limit, () => true) : []
    })
  }

  openMembers({ space, group: id, from, limit }: OpenMembersCall): OpenMember[] {
    const group = this.group(space, id)
    const members = this.#members.get(id)
    if (group === null || members === undefined) return []
    const outcomes = this.#outcomesOf(id)
    return pageOf(group, members, from, limit, ({ n }) => !outcomes.has(n))
  }

  listRuns(call: ListRunsCall): { runs: Run[]; cursor: string | null } {
    const { space, flow, status, attribute, root, branches = false, limit, cursor } = call
    const chosen = [...this.#runs.values()]
      .filter((run) => run.space === space && (branches || run.member === null))
      .filter((run) => flow === undefined || run.flow === flow)
      .filter((run) => status === undefined || run.status === status)
      .filter((run) => attribute === undefined || run.attributes.includes(attribute))
      .filter((run) => root === undefined || run.root === root)
      .filter(({ id }) => cursor === null || id < cursor)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
    const runs = chosen.slice(0, limit)
    return { runs, cursor: chosen.length > limit ? (runs.at(-1)?.id ?? null) : null }
  }

  countRuns({ space, flow, status, limit }: CountRunsCall): CountRunsReply {
    const filter = {
      space,
      ...(flow === undefined ? {} : { flow }),
      ...(status === undefined ? {} : { status }),
    }
    const { runs, cursor } = this.listRuns({ ...filter, limit, cursor: null })
    return { counts: tally(runs), isAll: cursor === null }
  }

  // ── keeping in order ───────────────────────────────────────────────────────────────────────────

  audit({ limit, cursor }: AuditCall, now: number): AuditReply {
    const open = [...this.#groups.values()]
      .filter(({ id, endedAt }) => endedAt === null && (cursor === null || id > cursor))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    const page = open.slice(0, limit)
    const mended: { space: string; group: string; what: string }[] = []
    for (const group of page) {
      const states = [...this.#outcomesOf(group.id).values()].map(({ state }) => state)
      const done = states.filter((state) => state === 'done').length
      const failed = states.length - done
      const isMiscounted = group.done !== done || group.failed !== failed
      const right = { ...group, done, failed }
      if (isMiscounted) this.#groups.set(group.id, right)
      if (!isMiscounted && dueEvents(right).length === 0) continue
      this.#touched.set(group.id, null)
      mended.push({ space: group.space, group: group.id, what: isMiscounted ? 'counts' : 'fire' })
    }
    const last = page.at(-1)?.id ?? null
    return { mended, enqueued: this.fire(now), cursor: open.length > limit ? last : null }
  }

  prune(now: number): void {
    const gone = new Set<string>()
    for (const [key, { space, root }] of this.#runs) {
      const expiresAt = this.run(space, root)?.expiresAt ?? null
      if (expiresAt !== null && expiresAt <= now) gone.add(key)
    }
    for (const key of gone) {
      const member = this.#runs.get(key)?.member
      if (member) this.#members.get(member.group)?.delete(member.n)
      this.#runs.delete(key)
    }
    for (const group of this.#groups.values()) {
      const expiresAt = groupExpiresAt(group)
      const isOver = expiresAt !== null && expiresAt <= now
      if (!isOver && !(group.run !== null && gone.has(keyOf({ space: group.space, id: group.run })))) continue
      this.#groups.delete(group.id)
      this.#outcomes.delete(group.id)
      this.#members.delete(group.id)
    }
    for (const [id, since] of this.#aloneSince) {
      if (since > now - UNMADE_MS) continue
      this.#aloneSince.delete(id)
      this.#outcomes.delete(id)
    }
  }
}

/** Some of a group's, by number, without looking at those before the page. */
function pageOf<Item>(
  group: Group,
  all: ReadonlyMap<number, Item>,
  from: number,
  limit: number,
  fits: (item: Item) => boolean,
): Item[] {
  const page: Item[] = []
  const size = memberCount(group)
  for (let n = from; n < size && page.length < limit; n++) {
    const item = all.get(n)
    if (item !== undefined && fits(item)) page.push(item)
  }
  return page
}

const REMOVED: Ending = {
  state: 'cancelled',
  result: null,
  failure: JSON.stringify({ kind: 'cancel', message: 'The job was removed.' }),
}

function tally(runs: readonly Run[]): RunCount[] {
  const counts = new Map<string, RunCount>()
  for (const { flow, version, status } of runs) {
    const key = JSON.stringify([flow, version, status])
    counts.set(key, { flow, version, status, runs: (counts.get(key)?.runs ?? 0) + 1 })
  }
  const place = ({ status }: RunCount): number => RUN_STATUSES.indexOf(status)
  return [...counts.values()].sort(
    (a, b) =>
      Number(a.flow > b.flow) - Number(a.flow < b.flow) || a.version - b.version || place(a) - place(b),
  )
}
