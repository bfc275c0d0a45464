import type { Job, NewJob } from '../../core/jobs/job.ts'
import { fireOver, fireRefusal, isUnderWay, pause, putOver, resume } from '../../core/schedules/changes.ts'
import type { Schedule } from '../../core/schedules/schedule.ts'
import type { Enqueued } from '../../store/flows.ts'
import type { Fire, FireResult, ScheduleStore } from '../../store/schedules.ts'
import type { InsertResult } from '../../store/store.ts'

export interface JobsBeside {
  readonly timeOfCall: (call: { readonly now?: number }) => number
  readonly find: (space: string, id: string) => Job | undefined
  readonly insert: (job: NewJob, now: number) => InsertResult
  readonly cancel: (job: Job, failure: string, keepMs: number, now: number) => void
  /** Fires the groups of this call, and returns the queues of their jobs. */
  readonly enqueued: (now: number) => { readonly enqueued?: readonly Enqueued[] }
}

/** Schedules over a map. Due ones are found by a full scan: this store is for tests and small programs. */
export function memorySchedules({ timeOfCall, find, insert, cancel, enqueued }: JobsBeside): ScheduleStore {
  const spaces = new Map<string, Map<string, Schedule>>()
  const of = (space: string): Map<string, Schedule> => spaces.get(space) ?? new Map()
  const stored = (space: string, id: string): Schedule | null => spaces.get(space)?.get(id) ?? null
  const put = (schedule: Schedule): void => {
    const schedules = spaces.get(schedule.space) ?? new Map<string, Schedule>()
    spaces.set(schedule.space, schedules.set(schedule.id, schedule))
  }
  const swapped = <Status extends string>(outcome: Schedule | Status): Status | 'ok' => {
    if (typeof outcome === 'string') return outcome
    put(outcome)
    return 'ok'
  }

  function fireOne(fire: Fire, now: number): FireResult {
    const schedule = stored(fire.space, fire.id)
    const reason = fireRefusal(schedule, fire, now)
    if (reason !== null || schedule === null) return { status: 'refused', reason: reason ?? 'gone' }

    const found = schedule.lastJobId === null ? undefined : find(schedule.space, schedule.lastJobId)
    const last = found && isUnderWay(found.state) && fire.jobs.length > 0 ? found : undefined
    const isSkipped = last !== undefined && fire.overlap === 'skip'
    const isReplaced = last !== undefined && fire.overlap === 'replace'
    if (isReplaced) cancel(last, fire.failure, fire.keepMs, now)
    const jobs = isSkipped ? [] : fire.jobs
    const inserted = jobs.map((job) => {
      const result = insert(job, now)
      return { id: job.id, dueAt: result.status === 'ok' ? result.dueAt : now }
    })
    const ids = jobs.map(({ id }) => id)
    put(fireOver(schedule, fire, ids, isSkipped, now))
    return {
      status: 'fired',
      inserted,
      replaced: isReplaced ? { id: last.id, isRunning: last.state === 'running' } : null,
    }
  }

  return {
    async putSchedules(call) {
      const now = timeOfCall(call)
      return {
        results: call.schedules.map((draft) => swapped(putOver(stored(draft.space, draft.id), draft, now))),
      }
    },

    async removeSchedules({ space, ids, declaredBy }) {
      const removed = ids.filter((id) => {
        const schedule = stored(space, id)
        if (schedule === null || (declaredBy !== undefined && schedule.declaredBy !== declaredBy))
          return false
        return of(space).delete(id)
      })
      return { removed }
    },

    async pauseSchedules(call) {
      const now = timeOfCall(call)
      const there = call.ids.map((id) => stored(call.space, id)).filter((schedule) => schedule !== null)
      for (const schedule of there) put(pause(schedule, call.reason, call.by, now))
      return { paused: there.map(({ id }) => id) }
    },

    async resumeSchedules(call) {
      const now = timeOfCall(call)
      return {
        results: call.schedules.map(({ space, id, expect, nextAt }) =>
          swapped(resume(stored(space, id), expect, nextAt, now)),
        ),
      }
    },

    async getSchedules(call) {
      return { schedules: call.ids.map((id) => stored(call.space, id)), now: timeOfCall(call) }
    },

    async listSchedules({ space, declaredBy, limit, cursor }) {
      const beyond = [...of(space).values()]
        .filter((schedule) => declaredBy === undefined || schedule.declaredBy === declaredBy)
        .filter(({ id }) => cursor === null || id > cursor)
        .sort((a, b) => (a.id < b.id ? -1 : 1))
      const schedules = beyond.slice(0, limit)
      return { schedules, cursor: beyond.length > limit ? (schedules.at(-1)?.id ?? null) : null }
    },

    async dueSchedules(call) {
      const now = timeOfCall(call)
      const known = new Set(call.known)
      const except = new Set(call.except)
      const due: Schedule[] = []
      let nextAt: number | null = null
      for (const schedule of of(call.space).values()) {
        const { id, dynamic, pausedAt, nextAt: slot } = schedule
        if (slot === null || pausedAt !== null || (dynamic && !known.has(id)) || except.has(id)) continue
        if (slot <= now) due.push(schedule)
        else nextAt = Math.min(nextAt ?? Infinity, slot)
      }
      due.sort((a, b) => (a.nextAt as number) - (b.nextAt as number) || (a.id < b.id ? -1 : 1))
      if (due.length >= call.limit) return { schedules: due.slice(0, call.limit), nextAt: null, now }
      return { schedules: due, nextAt, now }
    },

    async fireSchedules(call) {
      const now = timeOfCall(call)
      return { results: call.fires.map((fire) => fireOne(fire, now)), ...enqueued(now) }
    },
  }
}
