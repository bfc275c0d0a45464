import type { Schedule } from '../../core/schedules/schedule.ts'
import type { Fire, FireResult, PutScheduleResult, ScheduleStore } from '../../store/schedules.ts'
import { listOf, numberOf, numberOrNull, type Reply, textOf, textOrNull, toUuid } from './connection/bytes.ts'
import type { Caller } from './connection/caller.ts'
import { sentJob } from './jobs/job-codec.ts'
import { withEnqueued } from './jobs/settle-enqueues.ts'

export function scheduleCalls(caller: Caller): ScheduleStore {
  const call = (operation: string, said: unknown, now?: number): Promise<Reply> =>
    caller.call(operation, [JSON.stringify(said)], now)

  return {
    async putSchedules({ schedules, now }) {
      const results = listOf(await call('putSchedules', schedules, now))
      return { results: results.map((result) => textOf(result) as PutScheduleResult) }
    },

    async removeSchedules(said) {
      return { removed: listOf(await call('removeSchedules', said)).map(textOf) }
    },

    async pauseSchedules({ now, ...said }) {
      return { paused: listOf(await call('pauseSchedules', said, now)).map(textOf) }
    },

    async resumeSchedules({ schedules, now }) {
      const results = listOf(await call('resumeSchedules', schedules, now))
      return { results: results.map((result) => textOf(result) as PutScheduleResult) }
    },

    async getSchedules({ now: at, ...said }) {
      const [now, found] = listOf(await call('getSchedules', said, at))
      return { schedules: listOf(found).map(scheduleOf), now: numberOf(now) }
    },

    async listSchedules({ cursor: after, ...said }) {
      const [found, cursor] = listOf(
        await call('listSchedules', { ...said, ...(after !== null && { cursor: after }) }),
      )
      return {
        schedules: listOf(found).flatMap((text) => scheduleOf(text) ?? []),
        cursor: textOrNull(cursor),
      }
    },

    async dueSchedules({ now: at, ...said }) {
      const [now, found, nextAt] = listOf(await call('dueSchedules', said, at))
      return {
        schedules: listOf(found).flatMap((text) => scheduleOf(text) ?? []),
        nextAt: numberOrNull(nextAt),
        now: numberOf(now),
      }
    },

    async fireSchedules({ fires, now }) {
      const [results, fired] = listOf(await call('fireSchedules', fires.map(sentFire), now))
      return { results: listOf(results).map(readFired), ...withEnqueued(fired) }
    },
  }
}

function sentFire({ jobs, failure, ...fire }: Fire): Record<string, unknown> {
  const reason = (JSON.parse(failure) as { readonly message: string }).message
  return { ...fire, failure, reason, jobs: jobs.map(sentJob) }
}

function readFired(reply: Reply): FireResult {
  const [said, inserted, replaced] = listOf(reply)
  const status = textOf(said)
  if (status !== 'fired') {
    return { status: 'refused', reason: status as Extract<FireResult, { status: 'refused' }>['reason'] }
  }
  const [id, isRunning] = listOf(replaced)
  return {
    status,
    inserted: listOf(inserted).map((row) => {
      const [job, dueAt] = listOf(row)
      return { id: textOf(job), dueAt: numberOf(dueAt) }
    }),
    replaced: id === undefined ? null : { id: toUuid(id as Buffer), isRunning: numberOf(isRunning) === 1 },
  }
}

function scheduleOf(reply: Reply): Schedule | null {
  const text = textOrNull(reply)
  if (text === null) return null
  const { space, id, revision, spec, dynamic, fired, skipped, createdAt, updatedAt, ...rest } = JSON.parse(
    text,
  ) as Schedule
  return {
    space,
    id,
    revision,
    spec,
    dynamic,
    declaredBy: rest.declaredBy ?? null,
    nextAt: rest.nextAt ?? null,
    pausedAt: rest.pausedAt ?? null,
    pauseReason: rest.pauseReason ?? null,
    pausedBy: rest.pausedBy ?? null,
    lastSlot: rest.lastSlot ?? null,
    lastFiredAt: rest.lastFiredAt ?? null,
    lastJobId: rest.lastJobId ?? null,
    fired,
    skipped,
    createdAt,
    updatedAt,
  }
}
