import {
  decodeSpec,
  type Missed,
  type Overlap,
  type Schedule,
  type ScheduleSpec,
} from '../../core/schedules/schedule.ts'
import { readValue } from '../../worker/events.ts'

/** A schedule as it is shown. */
export interface ScheduleView {
  readonly id: string
  readonly space: string
  readonly queue: string
  /** The expression and its zone; null for an interval. */
  readonly cron: { readonly expression: string; readonly timeZone: string } | null
  /** The interval; null for a cron. */
  readonly every: { readonly ms: number; readonly from: 'grid' | 'last-run' } | null
  /** What each job gets; undefined when a function makes it. */
  readonly payload: unknown
  /** Its payload is made by a function, in processes that declared it. */
  readonly dynamic: boolean
  readonly missed: Missed
  readonly graceMs: number
  readonly overlap: Overlap
  readonly jitterMs: number
  readonly startAt: Date | null
  readonly endAt: Date | null
  /** Whether it is declared in code, and by which owner; null if the code named none. */
  readonly declared: boolean
  readonly owner: string | null
  /** The next slot; null when there is none any more. Of a paused one: where it stands. */
  readonly nextAt: Date | null
  readonly paused: { readonly at: Date; readonly reason: string | null; readonly by: string | null } | null
  /** The latest slot that had a job, when that was made, and its id. */
  readonly lastSlot: Date | null
  readonly lastFiredAt: Date | null
  readonly lastJob: string | null
  /** Jobs made. */
  readonly fired: number
  /** Slots without a job: missed, or because of an overlap. Of many missed at once a hundred are counted. */
  readonly skipped: number
  /** Another text after each change of what is wanted. */
  readonly revision: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export function scheduleView(schedule: Schedule): ScheduleView {
  const spec: ScheduleSpec = decodeSpec(schedule)
  const { timing, job } = spec
  const { declaredBy, pausedAt } = schedule
  return {
    id: schedule.id,
    space: schedule.space,
    queue: job.queue,
    cron: timing.kind === 'cron' ? { expression: timing.cron, timeZone: timing.timeZone } : null,
    every: timing.kind === 'every' ? { ms: timing.ms, from: timing.from } : null,
    payload: job.payload === null ? undefined : readValue(job.payload),
    dynamic: schedule.dynamic,
    missed: spec.missed,
    graceMs: spec.graceMs,
    overlap: spec.overlap,
    jitterMs: spec.jitterMs,
    startAt: dateOf(spec.startAt),
    endAt: dateOf(spec.endAt),
    declared: declaredBy !== null,
    owner: declaredBy === '' ? null : declaredBy,
    nextAt: dateOf(schedule.nextAt),
    paused:
      pausedAt === null
        ? null
        : { at: new Date(pausedAt), reason: schedule.pauseReason, by: schedule.pausedBy },
    lastSlot: dateOf(schedule.lastSlot),
    lastFiredAt: dateOf(schedule.lastFiredAt),
    lastJob: schedule.lastJobId,
    fired: schedule.fired,
    skipped: schedule.skipped,
    revision: schedule.revision,
    createdAt: new Date(schedule.createdAt),
    updatedAt: new Date(schedule.updatedAt),
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
