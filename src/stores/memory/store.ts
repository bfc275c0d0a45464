import type { Hold, HoldTarget } from '../../core/holds.ts'
import { isFinal, JOB_STATES, type Job, type JobState, type NewJob } from '../../core/job.ts'
import { DEFAULT_LANE, NEVER } from '../../core/lanes.ts'
import type { LaneVerdict } from '../../core/policy.ts'
import {
  byRank,
  claim,
  claimable,
  claimedPart,
  collide,
  create,
  extend,
  finish,
  holder,
  isPossible,
  prioritize,
  promote,
  redrive,
  settle,
} from '../../core/transitions.ts'
import { waitingOf } from '../../core/waiting.ts'
import type { Runtime } from '../../runtime.ts'
import { systemRuntime } from '../../runtime.ts'
import type { HoldCall, ReleaseCall } from '../../store/holds.ts'
import type { LanesCall, SetLimitsCall } from '../../store/limits.ts'
import {
  type ChangeCall,
  type ChangeReply,
  type ChangeResult,
  type ClaimCall,
  type ClaimReply,
  type CountCall,
  type CountsCall,
  type ExpiredCall,
  type ExpiredReply,
  type ExtendCall,
  type ExtendReply,
  FORGET_WORKER_MS,
  type GetCall,
  type InsertCall,
  type InsertReply,
  type InsertResult,
  type ListCall,
  type ListReply,
  PROMOTE_LIMIT,
  type QueueCounts,
  REMEMBER_DISCARDED_MS,
  type SettleCall,
  type Settlement,
  type SettleReply,
  type SettleResult,
  type Source,
  type Store,
  type WorkerInfo,
  type WorkerPresence,
} from '../../store.ts'
import { Holds } from './holds.ts'
import { earlier, Lines, orNull } from './lines.ts'
import { beyond, cursorAt, list, select } from './list.ts'
import { NoteBook } from './notes.ts'
import { memorySchedules } from './schedules.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** Where the time comes from when a call brings none. @default the system's clock */
  readonly runtime?: Pick<Runtime, 'now'>
  /** Hears of every change of a job, in the very call that makes it: an audit for tests. It must not throw. */
  readonly onChange?: (before: Job | null, after: Job | null) => void
}

/** Who has a unique key, and until when if it is for a span of time. */
interface KeyHolder {
  readonly jobId: string
  readonly until: number | null
}

/** A job that was removed: until when its id is remembered, and by whose settlement it went where. */
interface Discarded {
  readonly until: number
  /** Null when no holder did it: then no settlement can be a repetition. */
  readonly token: string | null
  readonly state: JobState
}

/**
 * The reference: the pure transitions over a map. It is as strict as the others and forgets everything when
 * the process ends, which makes it right for tests and for jobs that need not survive.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const clock = options.runtime ?? systemRuntime()
  const table = new Table(options.onChange)
  const uniques = new Map<string, KeyHolder>()
  const discarded = new Map<string, Discarded>()
  const workers = new Map<string, { info: WorkerInfo; seenAt: number }>()
  const lines = new Lines(table)
  const holds = new Holds()
  const noteBook = new NoteBook()
  const timeOfCall = (call: { readonly now?: number }): number => call.now ?? clock.now()

  /** Puts a job in the place of what it was before, anything but claimed. */
  function put(job: Job, now: number): void {
    const before = table.get(job.id) ?? null
    table.put(job)
    lines.track(before, job, now)
  }

  function remove(job: Job, now: number): void {
    table.remove(job)
    lines.track(job, null, now)
  }

  function insertOne(job: NewJob, again: boolean, now: number): InsertResult {
    const known = table.get(job.id)
    if (known) return { status: 'ok', state: known.state, dueAt: known.dueAt }
    if (again && discarded.has(job.id)) return { status: 'ok', state: 'done', dueAt: now }

    if (job.unique) {
      const key = uniqueKey(job.space, job.queue, job.unique.key)
      const hold = uniques.get(key)
      if (hold && (hold.until === null || hold.until > now)) {
        const held = table.get(hold.jobId)
        const changed = held ? collide(held, job, now) : null
        if (changed) put(changed, now)
        const action = changed ? (job.unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
        return { status: 'duplicate', id: hold.jobId, action }
      }
      uniques.set(key, {
        jobId: job.id,
        until: job.unique.scope === 'window' ? now + job.unique.windowMs : null,
      })
    }
    const created = create(job, now)
    put(created, now)
    return { status: 'ok', state: created.state, dueAt: created.dueAt }
  }

  /** Remembers no more than the id of a job that is removed, so that it cannot come back. */
  function forget({ id, state }: Pick<Job, 'id' | 'state'>, token: string | null, now: number): void {
    discarded.set(id, { until: now + REMEMBER_DISCARDED_MS, token, state })
  }

  /** Gives up the unique key of a job that has reached the end of the key's scope. */
  function release(job: Job, at: 'claim' | 'end'): void {
    if (job.uniqueKey === null || job.uniqueScope === 'window') return
    if (at === 'claim' && job.uniqueScope !== 'queued') return
    const key = uniqueKey(job.space, job.queue, job.uniqueKey)
    // Only the holder lets go: the key may belong to a later job by now.
    if (uniques.get(key)?.jobId === job.id) uniques.delete(key)
  }

  /** What the token of an earlier claim holds, with leases that begin anew. */
  function claimAgain(call: Omit<ClaimCall, 'now'>, { space, queue }: Source, now: number): Job[] {
    const held = table.inState(space, queue, 'running').filter(({ token }) => token === call.token)
    const kept = held.map((job) => extend(job, call.leaseMs, now)).sort(byRank)
    for (const job of kept) table.put(job)
    return kept
  }

  /** The named jobs of a source, as far as they are due. */
  function named(ids: readonly string[], { space, queue }: Source, now: number): Job[] {
    return [...new Set(ids)]
      .map((id) => table.get(id))
      .filter((job) => job !== undefined)
      .filter((job) => job.space === space && job.queue === queue && claimable(job, now))
  }

  function promoteDue({ space, queue }: Source, now: number): void {
    for (let n = 0; n < PROMOTE_LIMIT; n++) {
      const due = table.nextDelayed(space, queue)
      if (!due || due.dueAt > now) return
      put(promote(due), now)
    }
  }

  /** Claims from one source. Returns when a rate or a hold lets the next job start, if that is why it stopped. */
  function claimFrom(
    source: Source,
    ids: readonly string[] | undefined,
    room: number,
    now: number,
    take: (job: Job) => void,
  ): number | null {
    const { space, queue } = source
    const heldUntil = holds.endOf(space, queue, now)
    if (heldUntil > 0) return orNull(heldUntil)
    if (ids === undefined) promoteDue(source, now)
    const line = lines.get(space, queue)
    if (!line) {
      if (ids) for (const job of named(ids, source, now).slice(0, room)) take(job)
      for (let n = 0; n < room && !ids; n++) {
        const job = table.nextReady(space, queue, DEFAULT_LANE)
        if (!job) break
        take(job)
      }
      return orNull(table.nextDelayed(space, queue)?.dueAt ?? NEVER)
    }

    const shared = lines.sharedOf(space, line)
    let startsAt: number | null = null
    if (ids) {
      let left = room
      for (const job of named(ids, source, now)) {
        if (left === 0 || !line.takeNamed(job, shared, now)) continue
        take(job)
        left--
      }
    } else startsAt = line.serve(room, shared, now, take)
    const next = Math.min(table.nextDelayed(space, queue)?.dueAt ?? NEVER, line.nextWake())
    return earlier(startsAt, orNull(next))
  }

  function claimNow(call: Omit<ClaimCall, 'now'>, now: number): ClaimReply {
    const lease = { workerId: call.workerId, token: call.token, leaseMs: call.leaseMs }
    const taken: Job[] = []
    let next: number | null = null
    const take = (job: Job): void => {
      const leased = claim(job, lease, now)
      release(job, 'claim')
      table.put(leased)
      taken.push(leased)
    }

    for (const source of call.sources) {
      if (call.again) {
        taken.push(...claimAgain(call, source, now))
        next = earlier(next, table.nextDelayed(source.space, source.queue)?.dueAt ?? null)
      } else {
        const room = Math.max(0, Math.min(source.limit, call.limit - taken.length))
        next = earlier(next, claimFrom(source, call.ids, room, now, take))
      }
    }
    const limited = [...call.sources.keys()].filter((index) => {
      const { space, queue } = call.sources[index] as Source
      return lines.get(space, queue) !== undefined
    })
    return {
      jobs: taken.map(claimedPart),
      nextDueAt: taken.length < call.limit ? next : null,
      ...(limited.length > 0 ? { limited } : {}),
      now,
    }
  }

  function settleOne(settlement: Settlement, now: number): SettleResult {
    const job = table.get(settlement.id)
    const { rescue = false } = settlement
    if (settlement.note) noteBook.write(job, settlement.token, settlement.note, now)
    const held = holder(job, settlement.token, rescue)
    if (held === 'settled') return { status: 'ok', state: (job as Job).state }
    // The settlement that removed a job can be repeated too, for as long as the job's id is remembered.
    const gone = job || rescue ? undefined : discarded.get(settlement.id)
    if (gone?.token === settlement.token) return { status: 'ok', state: gone.state }
    if (held !== 'holds') return { status: 'refused', reason: held }
    const running = job as Job
    if (settlement.onlyIfExpired && (running.leaseUntil as number) > now) {
      return { status: 'refused', reason: 'not-expired' }
    }

    const ended = settle(running, settlement.verdict, now, rescue)
    const state = ended?.state ?? settlement.verdict.to
    if (ended) put(ended, now)
    else {
      remove(running, now)
      forget({ id: running.id, state }, rescue ? null : settlement.token, now)
      if (settlement.noted) noteBook.remove(running.id)
    }
    if (!ended || isFinal(ended.state)) release(running, 'end')
    if (settlement.verdict.lane) applyToLane(running, settlement.verdict.lane, now)
    const inserted = settlement.enqueue?.map((fresh) => insertOne(fresh, false, now))
    return inserted ? { status: 'ok', state, inserted } : { status: 'ok', state }
  }

  /** What a verdict says about the lane of its job. */
  function applyToLane({ space, queue, lane }: Job, verdict: LaneVerdict, now: number): void {
    const key = lane ?? DEFAULT_LANE
    if ('waitMs' in verdict) lines.make(space, queue, now).wait(key, now + verdict.waitMs, now)
    else {
      const target = { space, queue, lane: key } as const
      holdOne({ kind: 'pause', ...target, reason: verdict.pause, by: 'skep', forMs: null }, now)
    }
  }

  function holdOne(hold: HoldCall['holds'][number], now: number): Hold {
    const put = holds.put(hold, now)
    showLane(hold, now)
    return put
  }

  /** Tells a lane until when it is held. */
  function showLane({ space, queue, lane }: HoldTarget, now: number): void {
    if (space === null || queue === null || lane === null) return
    lines.make(space, queue, now).hold(lane, holds.laneEnd(space, queue, lane, now), now)
  }

  /** `moved` gets the job if it came to another place in line. */
  function changeOne(
    job: Job | undefined,
    id: string,
    call: ChangeCall,
    now: number,
    moved: Job[],
  ): ChangeResult {
    const move = (to: Job): void => {
      put(to, now)
      moved.push(to)
    }
    if (!job || job.space !== call.space) return { id, status: 'refused', reason: 'unknown' }
    if (!isPossible(call.action, job.state)) return { id, status: 'refused', reason: 'state' }

    switch (call.action) {
      case 'cancel':
      case 'bury':
      case 'miss': {
        if (job.state === 'running') {
          put({ ...job, cancelReason: reasonIn(call.failure) }, now)
          return { id, status: 'requested' }
        }
        const to = ({ cancel: 'cancelled', bury: 'dead', miss: 'missing' } as const)[call.action]
        put(finish(job, to, call.failure, call.keepMs, now), now)
        release(job, 'end')
        break
      }
      case 'redrive': {
        if (job.uniqueKey !== null && job.uniqueScope !== 'window') {
          const key = uniqueKey(job.space, job.queue, job.uniqueKey)
          const hold = uniques.get(key)
          if (hold && (hold.until === null || hold.until > now))
            return { id, status: 'refused', reason: 'unique' }
          uniques.set(key, { jobId: job.id, until: null })
        }
        move(redrive(job, now))
        break
      }
      case 'promote':
        move({ ...promote(job), dueAt: now })
        break
      case 'prioritize':
        move(prioritize(job, call.priority ?? 0))
        break
      case 'remove':
        remove(job, now)
        forget(job, null, now)
        noteBook.remove(id)
        release(job, 'end')
    }
    return { id, status: 'ok' }
  }

  return {
    capabilities: { transactions: false, processes: false, liveness: false },

    async ready() {
      return { level: 'memory', detail: 'Jobs live in this process and end with it.', warnings: [] }
    },

    async migrate() {
      return { applied: [] }
    },

    async insert(call: InsertCall): Promise<InsertReply> {
      const now = timeOfCall(call)
      return { results: call.jobs.map((job) => insertOne(job, call.again ?? false, now)) }
    },

    async claim(call: ClaimCall): Promise<ClaimReply> {
      return claimNow(call, timeOfCall(call))
    },

    async extend(call: ExtendCall): Promise<ExtendReply> {
      const now = timeOfCall(call)
      return {
        results: call.leases.map(({ id, token }) => {
          const job = table.get(id)
          const held = holder(job, token)
          if (held === 'settled') {
            return { status: 'refused', reason: isFinal((job as Job).state) ? 'gone' : 'lost' }
          }
          if (held !== 'holds') return { status: 'refused', reason: held }
          table.put(extend(job as Job, call.leaseMs, now))
          return { status: 'ok', cancelReason: (job as Job).cancelReason }
        }),
      }
    },

    async settle(call: SettleCall): Promise<SettleReply> {
      const now = timeOfCall(call)
      const results = call.settlements.map((settlement) => settleOne(settlement, now))
      return { results, claimed: call.claim ? claimNow(call.claim, now) : null }
    },

    async change(call: ChangeCall): Promise<ChangeReply> {
      const now = timeOfCall(call)
      const { target, action, priority = 0 } = call
      const moved: Job[] = []
      if ('ids' in target) {
        const results = target.ids.map((id) => changeOne(table.get(id), id, call, now, moved))
        return { results, cursor: null, waiting: waitingOf(moved) }
      }
      const { state, cursor = null, limit } = target
      const chosen = isPossible(action, state) ? beyond(table, select(table, call.space, target), cursor) : []
      const page = chosen.slice(0, limit)
      // Told before anything moves.
      const end = page.length === limit ? cursorAt(table, page.at(-1)) : null
      const results = page
        .filter((job) => action !== 'prioritize' || job.priority !== priority)
        .map((job) => changeOne(job, job.id, call, now, moved))
      return { results, cursor: end, waiting: waitingOf(moved) }
    },

    async count(call: CountCall) {
      return { count: select(table, call.space, call).length }
    },

    async expired(call: ExpiredCall): Promise<ExpiredReply> {
      const now = timeOfCall(call)
      const gone = new Set(call.workerIds)
      const leases = call.sources
        .flatMap(({ space, queue }) => table.inState(space, queue, 'running'))
        .filter((job) => (job.leaseUntil as number) <= now || gone.has(job.worker as string))
        .sort((a, b) => (a.leaseUntil as number) - (b.leaseUntil as number) || (a.id < b.id ? -1 : 1))
        .slice(0, call.limit)
        .map((job) => ({
          ...claimedPart(job),
          workerId: job.worker as string,
          cancelReason: job.cancelReason,
          over: (job.leaseUntil as number) <= now,
        }))
      return { leases }
    },

    async get({ space, ids }: GetCall) {
      return {
        jobs: ids.map((id) => {
          const job = table.get(id)
          return job?.space === space ? job : null
        }),
      }
    },

    async list(call: ListCall): Promise<ListReply> {
      return list(table, call)
    },

    async counts(call: CountsCall) {
      const names = call.queues ?? table.queues(call.space)
      const queues = names.map(
        (queue): QueueCounts => ({
          queue,
          states: Object.fromEntries(
            JOB_STATES.map((state) => [state, table.count(call.space, queue, state)]),
          ) as Record<JobState, number>,
          oldestDueAt: table.oldestDueAt(call.space, queue),
        }),
      )
      return { queues }
    },

    async hold(call: HoldCall) {
      const now = timeOfCall(call)
      return { holds: call.holds.map((hold) => holdOne(hold, now)) }
    },

    async release(call: ReleaseCall) {
      const now = timeOfCall(call)
      return {
        released: call.holds.map((hold) => {
          const stood = holds.release(hold, now)
          if (stood) showLane(hold, now)
          return stood
        }),
      }
    },

    async holds(call) {
      return { holds: holds.standing(call.space, timeOfCall(call)) }
    },

    async setLimits(call: SetLimitsCall) {
      return { limits: lines.set(call, timeOfCall(call)) }
    },

    async limits({ space, queue }) {
      return { limits: lines.list(space, queue) }
    },

    async lanes(call: LanesCall) {
      return lines.lanes(call, timeOfCall(call))
    },

    async prune(call) {
      const now = timeOfCall(call)
      holds.prune(now)
      lines.prune(now)
      const over = [...table.all()]
        .filter((job) => job.expiresAt !== null && job.expiresAt <= now)
        .sort((a, b) => (a.expiresAt as number) - (b.expiresAt as number) || (a.id < b.id ? -1 : 1))
        .slice(0, call.limit)
      for (const job of over) {
        table.remove(job)
        noteBook.remove(job.id)
        if (isFresh(job, now)) forget(job, null, now)
      }
      noteBook.prune(now)
      for (const [id, { until }] of discarded) if (until <= now) discarded.delete(id)
      for (const [key, hold] of uniques) if (hold.until !== null && hold.until <= now) uniques.delete(key)
      for (const [id, worker] of workers) if (worker.seenAt <= now - FORGET_WORKER_MS) workers.delete(id)
      return { pruned: over.length }
    },

    async attend(call) {
      workers.set(call.worker.id, { info: call.worker, seenAt: timeOfCall(call) })
    },

    async depart({ workerId }) {
      workers.delete(workerId)
    },

    async workers(call) {
      const all = [...workers.values()].map(
        ({ info, seenAt }): WorkerPresence => ({ ...info, seenAt, life: 'unsure' }),
      )
      const chosen = all.filter((worker) => call.space === undefined || worker.space === call.space)
      return { workers: chosen.sort((a, b) => (a.id < b.id ? -1 : 1)) }
    },

    async note(call) {
      const now = timeOfCall(call)
      return {
        results: call.notes.map((note) => noteBook.write(table.get(note.id), note.token, note, now)),
      }
    },

    async notes(call) {
      return noteBook.read(call)
    },

    ...memorySchedules({
      timeOfCall,
      find: (id) => table.get(id),
      insert: (job, now) => insertOne(job, false, now),
      cancel: (job, failure, keepMs, now) =>
        void changeOne(
          job,
          job.id,
          { action: 'cancel', space: job.space, target: { ids: [] }, failure, keepMs },
          now,
          [],
        ),
    }),

    async close() {},
  }
}

function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

/** Whether somebody may still repeat the insert of a finished job. */
function isFresh(job: Job, now: number): boolean {
  return (job.finishedAt as number) > now - REMEMBER_DISCARDED_MS
}

function uniqueKey(space: string, queue: string, key: string): string {
  return JSON.stringify([space, queue, key])
}
