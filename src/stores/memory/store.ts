import { waitingOf } from '../../core/flows/wakeups.ts'
import { isFinal, JOB_STATES, type Job, type JobState } from '../../core/jobs/job.ts'
import { idTakenError, runTakenError } from '../../core/jobs/taken-ids.ts'
import { claimedPart, extend, holder, inOrder, isPossible, isSoAlready } from '../../core/jobs/transitions.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts'
import type { Enqueued } from '../../store/flows.ts'
import type { HoldCall, ReleaseCall } from '../../store/holds.ts'
import type { LanesCall, SetLimitsCall } from '../../store/limits.ts'
import {
  type ChangeCall,
  type ChangeReply,
  type ClaimCall,
  type ClaimReply,
  type CountCall,
  type CountsCall,
  type CountsReply,
  type ExpiredCall,
  type ExpiredReply,
  type ExtendCall,
  type ExtendReply,
  FORGET_WORKER_MS,
  type GetCall,
  type InsertCall,
  type InsertReply,
  type ListCall,
  type ListReply,
  type QueueCounts,
  type SettleCall,
  type SettleReply,
  type Store,
  type WorkerInfo,
  type WorkerPresence,
} from '../../store/store.ts'
import { byTheClock, spacesOf } from '../shared/counts.ts'
import { Claims } from './claim.ts'
import { Jobs } from './jobs.ts'
import { beyond, count, cursorAt, list, select } from './read.ts'
import { Records } from './records.ts'
import { memorySchedules } from './schedules.ts'

export interface MemoryStoreOptions {
  /** Where the time comes from when a call brings none. @default the system's clock */
  readonly runtime?: Pick<Runtime, 'now'>
  /** Hears of every change of a job, in the very call that makes it: an audit for tests. It must not throw. */
  readonly onChange?: (before: Job | null, after: Job | null) => void
}

const KEYS = optionKeys<MemoryStoreOptions>('memoryStore()', { runtime: true, onChange: true })

/**
 * The reference: the pure transitions over a map. It is as strict as the others and forgets everything when
 * the process ends, which makes it right for tests and for jobs that need not survive.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  assertOptions(KEYS, options)
  const clock = options.runtime ?? systemRuntime()
  const jobs = new Jobs(options.onChange)
  const { table, lines, holds, flows } = jobs
  const claims = new Claims(jobs)
  const workers = new Map<string, { info: WorkerInfo; seenAt: number }>()
  const records = new Records()
  const timeOfCall = (call: { readonly now?: number }): number => call.now ?? clock.now()

  /** Fires what is due, as the end of every call that may have ended a member. */
  const enqueued = (now: number): { readonly enqueued?: readonly Enqueued[] } => {
    const fired = flows.fire(now)
    return fired.length === 0 ? {} : { enqueued: fired }
  }

  return {
    capabilities: { transactions: false, processes: false, liveness: false },

    async ready() {
      return { level: 'memory', detail: 'Jobs live in this process and end with it.', warnings: [] }
    },

    async migrate() {
      return { applied: [] }
    },

    /** There is no database to look at. */
    async examine() {
      return []
    },

    async insert(call: InsertCall): Promise<InsertReply> {
      const now = timeOfCall(call)
      const { runs = [] } = call
      const takenRuns = call.fresh ? [] : flows.takenRuns(runs)
      if (takenRuns.length > 0) throw runTakenError(takenRuns)
      const taken = call.fresh ? [] : jobs.taken(call.jobs)
      if (taken.length > 0) throw idTakenError(taken)
      const knownRuns = runs.flatMap((run, n) => (flows.makeRun(run, now) ? [] : [n]))
      for (const group of call.groups ?? []) flows.makeGroup(group, now)
      const results = call.jobs.map((job) => jobs.insert(job, call.again ?? false, now))
      return { results, ...enqueued(now), ...(knownRuns.length > 0 && { knownRuns }) }
    },

    async claim(call: ClaimCall): Promise<ClaimReply> {
      return claims.claim(call, timeOfCall(call))
    },

    async extend(call: ExtendCall): Promise<ExtendReply> {
      const now = timeOfCall(call)
      return {
        results: call.leases.map(({ space, id, token }) => {
          const job = table.get(space, id)
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
      const results = call.settlements.map((settlement) => jobs.settle(settlement, now))
      const fired = enqueued(now)
      return { results, claimed: call.claim ? claims.claim(call.claim, now) : null, ...fired }
    },

    async change(call: ChangeCall): Promise<ChangeReply> {
      const now = timeOfCall(call)
      const { target, action } = call
      const moved: Job[] = []
      if ('ids' in target) {
        const results = inOrder(
          action,
          target.ids,
          (id) => table.get(call.space, id),
          (id) => jobs.change(table.get(call.space, id), id, call, now, moved),
        )
        return { results, cursor: null, waiting: waitingOf(moved), ...enqueued(now) }
      }
      const { state, cursor = null, limit } = target
      const oldestFirst = action === 'retry'
      const chosen = isPossible(action, state)
        ? beyond(table, select(table, call.space, target, oldestFirst), cursor, oldestFirst)
        : []
      const page = chosen.slice(0, limit)
      // Told before anything moves.
      const end = page.length === limit ? cursorAt(table, page.at(-1)) : null
      const results = inOrder(
        action,
        page.filter((job) => !isSoAlready(job, action, call)),
        (job) => job,
        (job) => jobs.change(job, job.id, call, now, moved),
      )
      return { results, cursor: end, waiting: waitingOf(moved), ...enqueued(now) }
    },

    async count(call: CountCall) {
      return count(table, call)
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
        jobs: ids.map((id) => table.get(space, id) ?? null),
      }
    },

    async list(call: ListCall): Promise<ListReply> {
      return list(table, call)
    },

    async counts(call: CountsCall): Promise<CountsReply> {
      const now = timeOfCall(call)
      const { space } = call
      const names = call.queues ?? table.queues(space)
      const queues = names.map((queue): QueueCounts => {
        const overdue = table.overdue(space, queue, now)
        const stored = JOB_STATES.map((state) => [state, table.count(space, queue, state)])
        const states = Object.fromEntries(stored) as Record<JobState, number>
        return {
          queue,
          states: byTheClock(states, overdue),
          overdue,
          oldestDueAt: table.oldestDueAt(space, queue, now),
        }
      })
      if (!call.spaces) return { queues, now }
      const rows = table.spaces().flatMap((of) =>
        table.queues(of).map((queue) => ({
          space: of,
          states: JOB_STATES.map((state) => table.count(of, queue, state)),
        })),
      )
      return { queues, now, spaces: spacesOf(rows) }
    },

    async hold(call: HoldCall) {
      const now = timeOfCall(call)
      return { holds: call.holds.map((hold) => jobs.hold(hold, now)) }
    },

    async release(call: ReleaseCall) {
      const now = timeOfCall(call)
      return {
        released: call.holds.map((hold) => {
          const stood = holds.release(hold, now)
          if (stood) jobs.showLane(hold, now)
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
      const pruned = jobs.prune(call.limit, now)
      for (const [id, worker] of workers) if (worker.seenAt <= now - FORGET_WORKER_MS) workers.delete(id)
      records.prune(now)
      return { pruned }
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
        results: call.notes.map((note) =>
          jobs.notes.write(table.get(note.space, note.id), note.token, note, now),
        ),
      }
    },

    async notes(call) {
      return jobs.notes.read(call)
    },

    async putRecords(call) {
      return { results: records.put(call, timeOfCall(call)) }
    },

    async getRecords(call) {
      return { records: records.get(call, timeOfCall(call)) }
    },

    async listRecords(call) {
      return records.list(call, timeOfCall(call))
    },

    async removeRecords(call) {
      return { removed: records.remove(call, timeOfCall(call)) }
    },

    async moveRuns(call) {
      const now = timeOfCall(call)
      const results = call.moves.map((move) => flows.move(move, now))
      return { results, enqueued: flows.fire(now) }
    },

    async getRuns({ space, ids }) {
      return { runs: ids.map((id) => flows.run(space, id)) }
    },

    async listRuns(call) {
      return flows.listRuns(call)
    },

    async countRuns(call) {
      return flows.countRuns(call)
    },

    async getGroups({ space, ids }) {
      return { groups: ids.map((id) => flows.group(space, id)) }
    },

    async outcomes(call) {
      return { outcomes: flows.outcomes(call) }
    },

    async openMembers(call) {
      return { members: flows.openMembers(call) }
    },

    async tell(call) {
      return flows.tell(call, timeOfCall(call))
    },

    async addMembers(call) {
      return flows.addMembers(call, timeOfCall(call))
    },

    async auditGroups(call) {
      return flows.audit(call, timeOfCall(call))
    },

    ...memorySchedules({
      timeOfCall,
      enqueued,
      find: (space, id) => table.get(space, id),
      insert: (job, now) => jobs.insert(job, false, now),
      cancel: (job, failure, keepMs, now) =>
        void jobs.change(
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
