import { isFinal, JOB_STATES, type Job, type JobState, type NewJob } from '../../core/job.ts'
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
  listKey,
  promote,
  redrive,
  settle,
  timeOf,
} from '../../core/transitions.ts'
import type { Runtime } from '../../runtime.ts'
import { systemRuntime } from '../../runtime.ts'
import {
  type ChangeCall,
  type ChangeReply,
  type ChangeResult,
  type ClaimCall,
  type ClaimReply,
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
  type Selection,
  type SettleCall,
  type Settlement,
  type SettleReply,
  type SettleResult,
  type Store,
  type WorkerInfo,
  type WorkerPresence,
} from '../../store.ts'
import { memorySchedules } from './schedules.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** Where the time comes from when a call brings none. @default the system's clock */
  readonly runtime?: Pick<Runtime, 'now'>
  /** Hears of every change of a job, in the very call that makes it: an audit for tests. It must not throw. */
  readonly onChange?: (before: Job | null, after: Job | null) => void
}

/** Who holds a unique key, and until when if it is held for a span of time. */
interface Hold {
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
  const uniques = new Map<string, Hold>()
  const discarded = new Map<string, Discarded>()
  const workers = new Map<string, { info: WorkerInfo; seenAt: number }>()
  const timeOfCall = (call: { readonly now?: number }): number => call.now ?? clock.now()

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
        if (changed) table.put(changed)
        const action = changed ? (job.unique.onConflict === 'replace' ? 'replaced' : 'postponed') : 'ignored'
        return { status: 'duplicate', id: hold.jobId, action }
      }
      uniques.set(key, {
        jobId: job.id,
        until: job.unique.scope === 'window' ? now + job.unique.windowMs : null,
      })
    }
    const created = create(job, now)
    table.put(created)
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
  function claimAgain(call: Omit<ClaimCall, 'now'>, now: number): Job[] {
    return call.sources.flatMap(({ space, queue }) => {
      const held = table.inState(space, queue, 'running').filter(({ token }) => token === call.token)
      const kept = held.map((job) => extend(job, call.leaseMs, now)).sort(byRank)
      for (const job of kept) table.put(job)
      return kept
    })
  }

  function claimNow(call: Omit<ClaimCall, 'now'>, now: number): ClaimReply {
    const lease = { workerId: call.workerId, token: call.token, leaseMs: call.leaseMs }
    const taken: Job[] = call.again ? claimAgain(call, now) : []
    const take = (job: Job): void => {
      const leased = claim(job, lease, now)
      release(job, 'claim')
      table.put(leased)
      taken.push(leased)
    }

    for (const { space, queue, limit } of call.again ? [] : call.sources) {
      const room = Math.min(limit, call.limit - taken.length)
      if (call.ids) {
        const named = [...new Set(call.ids)]
          .map((id) => table.get(id))
          .filter((job) => job?.space === space && job.queue === queue && claimable(job, now))
        for (const job of named.slice(0, room)) take(job as Job)
        continue
      }
      for (let n = 0; n < PROMOTE_LIMIT; n++) {
        const due = table.next(space, queue, 'delayed')
        if (!due || due.dueAt > now) break
        table.put(promote(due))
      }
      for (let n = 0; n < room; n++) {
        const job = table.next(space, queue, 'ready')
        if (!job) break
        take(job)
      }
    }

    const dues = call.sources.map(
      ({ space, queue }) => table.next(space, queue, 'delayed')?.dueAt ?? Infinity,
    )
    const nextDueAt = taken.length < call.limit ? Math.min(...dues) : Infinity
    return { jobs: taken.map(claimedPart), nextDueAt: nextDueAt === Infinity ? null : nextDueAt, now }
  }

  function settleOne(settlement: Settlement, now: number): SettleResult {
    const job = table.get(settlement.id)
    const { rescue = false } = settlement
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
    if (ended) table.put(ended)
    else {
      table.remove(running)
      forget({ id: running.id, state }, rescue ? null : settlement.token, now)
    }
    if (!ended || isFinal(ended.state)) release(running, 'end')
    const inserted = settlement.enqueue?.map((fresh) => insertOne(fresh, false, now))
    return inserted ? { status: 'ok', state, inserted } : { status: 'ok', state }
  }

  function changeOne(job: Job | undefined, id: string, call: ChangeCall, now: number): ChangeResult {
    if (!job || job.space !== call.space) return { id, status: 'refused', reason: 'unknown' }
    if (!isPossible(call.action, job.state)) return { id, status: 'refused', reason: 'state' }

    switch (call.action) {
      case 'cancel':
      case 'bury':
      case 'miss': {
        if (job.state === 'running') {
          table.put({ ...job, cancelReason: reasonIn(call.failure) })
          return { id, status: 'requested' }
        }
        const to = ({ cancel: 'cancelled', bury: 'dead', miss: 'missing' } as const)[call.action]
        table.put(finish(job, to, call.failure, call.keepMs, now))
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
        table.put(redrive(job, now))
        break
      }
      case 'promote':
        table.put({ ...promote(job), dueAt: now })
        break
      case 'remove':
        table.remove(job)
        forget(job, null, now)
        release(job, 'end')
    }
    return { id, status: 'ok' }
  }

  function select(space: string, selection: Selection): Job[] {
    const { after = -Infinity, before = Infinity, text } = selection.where ?? {}
    return table
      .inState(space, selection.queue, selection.state)
      .filter((job) => timeOf(job) >= after && timeOf(job) < before)
      .filter(
        (job) => text === undefined || job.payload.includes(text) || (job.failure?.includes(text) ?? false),
      )
      .sort(inListOrder(selection.state))
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
      const { target } = call
      if ('ids' in target) return { results: target.ids.map((id) => changeOne(table.get(id), id, call, now)) }
      const chosen = isPossible(call.action, target.state)
        ? select(call.space, target).slice(0, target.limit)
        : []
      return { results: chosen.map((job) => changeOne(job, job.id, call, now)) }
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
      const order = inListOrder(call.state)
      const chosen = select(call.space, call)
      const after =
        call.cursor === null
          ? chosen
          : chosen.filter((job) => isBeyond(job, call.cursor as string, call.state))
      const jobs = after.sort(order).slice(0, call.limit)
      const last = jobs.at(-1)
      return { jobs, cursor: last && after.length > jobs.length ? `${listKey(last)}:${last.id}` : null }
    },

    async counts(call: CountsCall) {
      const names = call.queues ?? table.queues(call.space)
      const queues = names.map(
        (queue): QueueCounts => ({
          queue,
          states: Object.fromEntries(
            JOB_STATES.map((state) => [state, table.count(call.space, queue, state)]),
          ) as Record<JobState, number>,
          oldestDueAt: table.next(call.space, queue, 'ready')?.dueAt ?? null,
        }),
      )
      return { queues }
    },

    async prune(call) {
      const now = timeOfCall(call)
      const over = [...table.all()]
        .filter((job) => job.expiresAt !== null && job.expiresAt <= now)
        .sort((a, b) => (a.expiresAt as number) - (b.expiresAt as number) || (a.id < b.id ? -1 : 1))
        .slice(0, call.limit)
      for (const job of over) {
        table.remove(job)
        if (isFresh(job, now)) forget(job, null, now)
      }
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

/** Finished jobs newest first, all others in the order in which they will be, or were, taken up. */
function inListOrder(state: JobState): (a: Job, b: Job) => number {
  const direction = isFinal(state) ? -1 : 1
  return (a, b) => direction * (listKey(a) - listKey(b) || (a.id < b.id ? -1 : 1))
}

function isBeyond(job: Job, cursor: string, state: JobState): boolean {
  const [key, id] = cursor.split(':') as [string, string]
  const distance = listKey(job) - Number(key) || (job.id < id ? -1 : job.id > id ? 1 : 0)
  return isFinal(state) ? distance < 0 : distance > 0
}
