import { type FinalState, isFinal, type Job, type JobState, type NewJob } from '../../core/jobs/job.ts'
import { type TakenId, takenAmong } from '../../core/jobs/taken-ids.ts'
import {
  collide,
  create,
  finish,
  holder,
  isPossibleFor,
  keptToken,
  prioritize,
  promoteNow,
  reschedule,
  retry,
  settle,
} from '../../core/jobs/transitions.ts'
import type { Hold, HoldTarget } from '../../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import type { LaneVerdict, Verdict } from '../../core/policies/policy.ts'
import type { HoldCall } from '../../store/holds.ts'
import {
  type ChangeCall,
  type ChangeResult,
  type InsertResult,
  REMEMBER_DISCARDED_MS,
  type Settlement,
  type SettleResult,
} from '../../store/store.ts'
import { type Ending, Flows } from './flows.ts'
import { Holds } from './holds.ts'
import { NoteBook } from './job-log.ts'
import { Lines } from './lanes.ts'
import { keyOf, Table } from './table.ts'

/** The holder of a unique key, and the end of its window if it has one. */
interface KeyHolder {
  readonly jobId: string
  readonly until: number | null
}

/** A removed job: how long its id is remembered, which settlement removed it, and its final state. */
interface Discarded {
  readonly until: number
  /** Null: not removed by a settlement, so none can be a repetition. */
  readonly token: string | null
  readonly state: JobState
}

/** All jobs, and what changes with them: unique keys, lanes, logs, and the ids of removed jobs. */
export class Jobs {
  readonly table: Table
  readonly lines: Lines
  readonly holds: Holds = new Holds()
  readonly notes: NoteBook = new NoteBook()
  readonly flows: Flows
  readonly #uniques = new Map<string, KeyHolder>()
  /** By space and id, and then by the queue of the job. */
  readonly #discarded = new Map<string, Map<string, Discarded>>()

  constructor(onChange?: (before: Job | null, after: Job | null) => void) {
    this.table = new Table(onChange)
    this.lines = new Lines(this.table)
    this.flows = new Flows({
      insert: (job, now) => this.insert(job, false, now),
      has: (space, id) => this.table.get(space, id) !== undefined,
    })
  }

  /** Replaces the record of a job, for all transitions except a claim. */
  put(job: Job, now: number): void {
    const before = this.table.get(job.space, job.id) ?? null
    this.table.put(job)
    this.lines.track(before, job, now)
    this.flows.track(before, job, null, now)
  }

  /** `ending`: its outcome, if it is removed because it ended. */
  #remove(job: Job, ending: Ending | null, now: number): void {
    this.table.remove(job)
    this.lines.track(job, null, now)
    this.flows.track(job, null, ending, now)
  }

  insert(job: NewJob, again: boolean, now: number): InsertResult {
    const result = this.#insert(job, again, now)
    this.flows.inserted(job, result, now)
    return result
  }

  #insert(job: NewJob, again: boolean, now: number): InsertResult {
    const known = this.table.get(job.space, job.id)
    if (known) return { status: 'ok', state: known.state, dueAt: known.dueAt, known: true }
    if (again && this.#discarded.get(keyOf(job))?.has(job.queue)) {
      return { status: 'ok', state: 'done', dueAt: now, known: true }
    }

    if (job.unique) {
      const key = uniqueKey(job.space, job.queue, job.unique.key)
      const hold = this.#uniques.get(key)
      if (hold && (hold.until === null || hold.until > now)) {
        const held = this.table.get(job.space, hold.jobId)
        const changed = held ? collide(held, job, now) : null
        if (changed) this.put(changed, now)
        const action = changed ? (job.unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
        return { status: 'duplicate', id: hold.jobId, action }
      }
      this.#uniques.set(key, {
        jobId: job.id,
        until: job.unique.scope === 'window' ? now + job.unique.windowMs : null,
      })
    }
    const created = job.strict ? { ...create(job, now), arrival: this.table.nextArrival() } : create(job, now)
    this.put(created, now)
    return { status: 'ok', state: created.state, dueAt: created.dueAt }
  }

  /** The jobs whose ids belong to jobs of other queues. The job `leaving` is about to be removed. */
  taken(jobs: readonly NewJob[], leaving: Job | null | undefined = null): TakenId[] {
    return takenAmong(jobs, ({ space, id }) => {
      const known = this.table.get(space, id)
      return known === leaving ? undefined : known?.queue
    })
  }

  settle(settlement: Settlement, now: number): SettleResult {
    const job = this.table.get(settlement.space, settlement.id)
    const kept = keptToken(settlement)
    const held = holder(job, settlement.token, kept)
    const isEarly = settlement.onlyIfExpired === true && (job?.leaseUntil ?? 0) > now
    if (held === 'holds' && !isEarly && settlement.enqueue) {
      const { to, keepMs } = settlement.verdict
      const leaves = isFinal(to) && keepMs === null
      const taken = this.taken(settlement.enqueue, leaves ? job : null)
      if (taken.length > 0) return { status: 'refused', reason: 'taken', taken }
    }
    if (settlement.note) this.notes.write(job, settlement.token, settlement.note, now)
    if (held === 'settled') return { status: 'ok', state: (job as Job).state }
    // The settlement that removed a job can be repeated as well, while the job's id is remembered.
    const left = job || kept === null ? [] : (this.#discarded.get(keyOf(settlement))?.values() ?? [])
    const gone = [...left].find(({ token }) => token === kept)
    if (gone) return { status: 'ok', state: gone.state }
    if (held !== 'holds') return { status: 'refused', reason: held }
    const running: Job = settlement.handsOn ? { ...(job as Job), member: null } : (job as Job)
    if (isEarly) return { status: 'refused', reason: 'not-expired' }
    const ended = settle(running, settlement.verdict, now, kept)
    const state = ended?.state ?? settlement.verdict.to
    if (ended) this.put(ended, now)
    else {
      this.#remove(running, endingOf(settlement.verdict), now)
      this.#forget({ ...running, state }, kept, now)
      if (settlement.noted) this.notes.remove(running)
    }
    if (!ended || isFinal(ended.state)) this.release(running, 'end')
    if (settlement.verdict.lane) this.#applyToLane(running, settlement.verdict.lane, now)
    if (settlement.move) this.flows.move(settlement.move, now)
    for (const group of settlement.groups ?? []) this.flows.makeGroup(group, now)
    const inserted = settlement.enqueue?.map((fresh) => this.insert(fresh, false, now))
    return inserted ? { status: 'ok', state, inserted } : { status: 'ok', state }
  }

  /** Adds the job to `moved` if its place in the queue changes. */
  change(
    job: Job | undefined,
    id: string,
    call: ChangeCall,
    now: number,
    moved: Job[],
    earlierMs = 0,
  ): ChangeResult {
    const move = (to: Job): void => {
      this.put(to, now)
      moved.push(to)
    }
    if (!job || job.space !== call.space) return { id, status: 'refused', reason: 'unknown' }
    if (!isPossibleFor(call.action, job)) return { id, status: 'refused', reason: 'state' }

    switch (call.action) {
      case 'cancel':
      case 'bury': {
        if (job.state === 'running') {
          this.put({ ...job, cancelReason: reasonIn(call.failure) }, now)
          return { id, status: 'requested' }
        }
        const to = call.action === 'cancel' ? 'cancelled' : 'dead'
        this.put(finish(job, to, call.failure, call.keepMs, now), now)
        this.release(job, 'end')
        break
      }
      case 'retry': {
        if (job.member && !this.flows.mayRejoin(job.member.group))
          return { id, status: 'refused', reason: 'run' }
        if (job.uniqueKey !== null && job.uniqueScope !== 'window') {
          const key = uniqueKey(job.space, job.queue, job.uniqueKey)
          const hold = this.#uniques.get(key)
          if (hold && (hold.until === null || hold.until > now))
            return { id, status: 'refused', reason: 'unique' }
          this.#uniques.set(key, { jobId: job.id, until: null })
        }
        move(retry(job, now, call.dueAt, (call.earlierMs ?? 0) + earlierMs))
        break
      }
      case 'promote':
        move(promoteNow(job, now))
        break
      case 'prioritize':
        move(prioritize(job, call.priority ?? 0))
        break
      case 'reschedule':
        move(reschedule(job, call.dueAt ?? now, now))
        break
      case 'remove':
        this.#remove(job, null, now)
        this.#forget(job, null, now)
        this.notes.remove(job)
        this.release(job, 'end')
    }
    return { id, status: 'ok' }
  }

  hold(hold: HoldCall['holds'][number], now: number): Hold {
    const put = this.holds.put(hold, now)
    this.showLane(hold, now)
    return put
  }

  /** Updates the end of the holds on a lane. */
  showLane({ space, queue, lane }: HoldTarget, now: number): void {
    if (space === null || queue === null || lane === null) return
    this.lines.make(space, queue, now).hold(lane, this.holds.laneEnd(space, queue, lane, now), now)
  }

  /** Releases the unique key of a job at the end of the key's scope. */
  release(job: Job, at: 'claim' | 'end'): void {
    if (job.uniqueKey === null || job.uniqueScope === 'window') return
    if (at === 'claim' && job.uniqueScope !== 'queued') return
    const key = uniqueKey(job.space, job.queue, job.uniqueKey)
    // Only the holder releases it: the key may belong to a later job by now.
    if (this.#uniques.get(key)?.jobId === job.id) this.#uniques.delete(key)
  }

  /** Removes expired finished jobs, and other expired entries. Returns the number of jobs. */
  prune(limit: number, now: number): number {
    this.holds.prune(now)
    this.lines.prune(now)
    const over = [...this.table.all()]
      .filter((job) => job.expiresAt !== null && job.expiresAt <= now)
      .sort((a, b) => (a.expiresAt as number) - (b.expiresAt as number) || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
    for (const job of over) {
      this.table.remove(job)
      this.notes.remove(job)
      if (isFresh(job, now)) this.#forget(job, null, now)
    }
    this.notes.prune(now)
    this.flows.prune(now)
    for (const [key, left] of this.#discarded) {
      for (const [queue, { until }] of left) if (until <= now) left.delete(queue)
      if (left.size === 0) this.#discarded.delete(key)
    }
    for (const [key, { until }] of this.#uniques)
      if (until !== null && until <= now) this.#uniques.delete(key)
    return over.length
  }

  /** Remembers the id of a removed job, so that a repeated insert does not restore it. */
  #forget(job: Pick<Job, 'space' | 'id' | 'queue' | 'state'>, token: string | null, now: number): void {
    const { queue, state } = job
    const left = this.#discarded.get(keyOf(job)) ?? new Map<string, Discarded>()
    this.#discarded.set(keyOf(job), left.set(queue, { until: now + REMEMBER_DISCARDED_MS, token, state }))
  }

  #applyToLane({ space, queue, lane }: Job, verdict: LaneVerdict, now: number): void {
    const key = lane ?? DEFAULT_LANE
    if ('waitMs' in verdict) this.lines.make(space, queue, now).wait(key, now + verdict.waitMs, now)
    else {
      const target = { space, queue, lane: key } as const
      this.hold({ kind: 'pause', ...target, reason: verdict.pause, by: 'skep', forMs: null }, now)
    }
  }
}

function endingOf({ to, result, failure }: Verdict): Ending {
  return { state: to as FinalState, result, failure }
}

function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

/** Whether the insert of a finished job may still be repeated. */
function isFresh(job: Job, now: number): boolean {
  return (job.finishedAt as number) > now - REMEMBER_DISCARDED_MS
}

function uniqueKey(space: string, queue: string, key: string): string {
  return JSON.stringify([space, queue, key])
}
