/**
 * Schedules, and what is due for one at a given time.
 *
 * A schedule is a chain of slots, of which only the next one is stored. Firing inserts the job of that slot
 * and advances the chain in one transaction, on condition that the chain has not moved since it was read:
 *
 *   next slot ── due ──▶ fired (its job exists) ──▶ the slot after it
 *       │                    skipped (too late, or its last job still runs) ──▶ the slot after it
 *       └── paused: stays until resumed, then continues with the first slot in the future
 *
 * The slots follow from the calendar alone (`slots.ts`), so lateness never shifts them.
 */
import { SkepError } from '../errors.ts'
import type { JobState, NewJob, Unique } from '../jobs/job.ts'
import { show } from '../names.ts'
import { type Calendar, nextSlot, slotsBetween } from './slots.ts'

/**
 * What happens to slots that were not fired within the grace period: `skip` leaves them out, `once` creates
 * one job for all of them (for the first), `all` creates one for each.
 */
export type Missed = 'skip' | 'once' | 'all'

/**
 * What a slot does while the previous job waits or runs: `allow` creates its job anyway, `skip` creates none,
 * `replace` cancels the previous job, or asks it to stop if it is running, and creates its own.
 */
export type Overlap = 'allow' | 'skip' | 'replace'

export interface JobTemplate {
  readonly queue: string
  /** JSON text; null when a function makes it, in a process that declared the schedule. */
  readonly payload: string | null
  /** JSON text of the user's headers, or null. */
  readonly headers: string | null
  readonly priority: number
  readonly unique: Unique | null
  readonly overrides: string | null
  readonly lane: string | null
  readonly strict: boolean
  readonly cost: number
}

/** The part of a job that depends on its payload. */
export type MadeJob = Pick<NewJob, 'payload' | 'unique' | 'lane' | 'cost'>

/** The specification: everything but the current position. */
export interface ScheduleSpec extends Calendar {
  readonly missed: Missed
  /** A slot later than this counts as missed. */
  readonly graceMs: number
  readonly overlap: Overlap
  /** Jitter: a job starts up to this long after its slot. The delay depends on schedule and slot alone. */
  readonly jitterMs: number
  readonly job: JobTemplate
}

/** A schedule as it is stored. Timestamps are milliseconds of the store's clock. */
export interface Schedule {
  readonly space: string
  readonly id: string
  /** Changes with the specification, so that nothing is fired for one that was replaced. */
  readonly revision: string
  /** JSON text of a {@link ScheduleSpec}. Equal specifications have equal texts. */
  readonly spec: string
  /** A function creates its payload, so only processes that declared it can fire it. */
  readonly dynamic: boolean
  /** Null: created at run time. Otherwise declared in code, by this owner; '' if the code named none. */
  readonly declaredBy: string | null
  /** The next slot; null: none left. */
  readonly nextAt: number | null
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly pausedBy: string | null
  /** The latest slot that had a job, when it was fired, and that job. */
  readonly lastSlot: number | null
  readonly lastFiredAt: number | null
  readonly lastJobId: string | null
  /** The number of jobs created, and of slots without one. */
  readonly fired: number
  readonly skipped: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The text by which a specification is stored and compared: the order of its fields is fixed. */
export function encodeSpec(spec: ScheduleSpec): string {
  const { timing, job } = spec
  return JSON.stringify({
    timing:
      timing.kind === 'cron'
        ? { kind: timing.kind, cron: timing.cron, timeZone: timing.timeZone }
        : { kind: timing.kind, ms: timing.ms, from: timing.from },
    startAt: spec.startAt,
    endAt: spec.endAt,
    missed: spec.missed,
    graceMs: spec.graceMs,
    overlap: spec.overlap,
    jitterMs: spec.jitterMs,
    job: {
      queue: job.queue,
      payload: job.payload,
      headers: job.headers,
      priority: job.priority,
      unique: job.unique,
      overrides: job.overrides,
      lane: job.lane,
      strict: job.strict,
      cost: job.cost,
    },
  } satisfies ScheduleSpec)
}

export function decodeSpec({ id, spec }: Pick<Schedule, 'id' | 'spec'>): ScheduleSpec {
  try {
    const read = JSON.parse(spec) as ScheduleSpec
    if (typeof read.timing.kind === 'string' && typeof read.job.queue === 'string') return read
  } catch {
    // Reported below, together with JSON that is no specification.
  }
  throw new SkepError(
    'SCHEDULE_INVALID',
    `The stored specification of schedule ${show(id)} cannot be read. Put it again.`,
    { facts: { id } },
  )
}

/** Whether two specifications have the same slots, so that the position of one is valid for the other. */
export function hasSameSlots(a: ScheduleSpec, b: ScheduleSpec): boolean {
  const calendarOf = ({ timing, startAt, endAt }: ScheduleSpec): string =>
    encodeSpec({ ...a, timing, startAt, endAt })
  return calendarOf(a) === calendarOf(b)
}

/** The slots that get a job, the next one after them, and the number of slots left out. */
export interface Look {
  readonly slots: readonly number[]
  readonly nextAt: number | null
  readonly skipped: number
}

/** The limit for counting skipped cron slots: counting all of them could take long. */
const MOST_COUNTED = 100

/**
 * What is due at `now` for a schedule whose next slot is `slot`, for up to `limit` slots. A slot that is late
 * by no more than the grace period gets its job as usual; `missed` decides about older ones.
 */
export function lookAt(spec: ScheduleSpec, slot: number, now: number, limit: number): Look {
  const slots: number[] = []
  const edge = now - spec.graceMs
  let next: number | null = slot
  let skipped = 0
  if (slot < edge && spec.missed !== 'all') {
    if (spec.missed === 'once') slots.push(slot)
    next = nextSlot(spec, edge - 1)
    skipped = countSlots(spec, slot, (next ?? edge) - 1) + (spec.missed === 'once' ? 0 : 1)
  }
  while (next !== null && next <= now && slots.length < limit) {
    slots.push(next)
    next = nextSlot(spec, next)
  }
  if (spec.overlap === 'allow' || slots.length < 2) return { slots, nextAt: next, skipped }
  // Of several at once only the latest would remain: under `skip` and `replace` each makes way for the next.
  return { slots: slots.slice(-1), nextAt: next, skipped: skipped + slots.length - 1 }
}

/** The number of slots after one timestamp and up to another, at least. */
function countSlots(spec: ScheduleSpec, after: number, upTo: number): number {
  const { timing } = spec
  if (timing.kind === 'every' && spec.endAt === null)
    return Math.max(0, Math.floor((upTo - after) / timing.ms))
  return slotsBetween(spec, after, upTo, MOST_COUNTED).length
}

/** The last job of a schedule that counts from its last run; null if it was removed. */
export type LastJob = { readonly state: JobState; readonly finishedAt: number | null } | null

/**
 * The same for an interval that counts from the last run. While that job waits or runs, the next slot is at
 * least the interval away; once it has ended, exactly the interval after its end.
 */
export function lookAfterRun(spec: ScheduleSpec, slot: number, now: number, last: LastJob): Look {
  const moved = (from: number): Look => ({ slots: [], nextAt: nextSlot(spec, from), skipped: 0 })
  if (last !== null && last.finishedAt === null) return moved(now)
  if (last !== null && (nextSlot(spec, last.finishedAt as number) ?? 0) > now) {
    return moved(last.finishedAt as number)
  }
  return { slots: [slot], nextAt: nextSlot(spec, now), skipped: 0 }
}

export function countsFromLastRun({ timing }: Pick<Calendar, 'timing'>): boolean {
  return timing.kind === 'every' && timing.from === 'last-run'
}

export const SCHEDULE_HEADER = 'skep-schedule'
export const SLOT_HEADER = 'skep-slot'

/** The payload-dependent part of the jobs of a schedule with a fixed payload. */
export function madeOf({ job }: ScheduleSpec): MadeJob {
  return { payload: job.payload ?? 'null', unique: job.unique, lane: job.lane, cost: job.cost }
}

/** The job of one slot. Its id follows from schedule and slot, so firing twice creates the same job. */
export function slotJob(
  schedule: Pick<Schedule, 'space' | 'id'>,
  spec: ScheduleSpec,
  slot: number,
  made: MadeJob,
): NewJob {
  const { job, jitterMs } = spec
  return {
    id: slotJobId(schedule, slot),
    space: schedule.space,
    queue: job.queue,
    payload: made.payload,
    headers: withSlot(job.headers, schedule.id, slot),
    priority: job.priority,
    delayMs: 0,
    runAt: jitterMs === 0 ? null : slot + jitterOf(schedule, slot, jitterMs),
    unique: made.unique,
    overrides: job.overrides,
    lane: made.lane,
    strict: job.strict,
    cost: made.cost,
    member: null,
  }
}

/** The user's headers, plus the schedule and slot. Without a slot the job was created by hand. */
export function withSlot(headers: string | null, id: string, slot: number | null): string {
  return JSON.stringify({
    ...(headers === null ? {} : (JSON.parse(headers) as Record<string, string>)),
    [SCHEDULE_HEADER]: id,
    ...(slot === null ? {} : { [SLOT_HEADER]: new Date(slot).toISOString() }),
  })
}

/** The delay of a job after its slot: 0 to `jitterMs`, always the same for the same slot. */
export function jitterOf(schedule: Pick<Schedule, 'space' | 'id'>, slot: number, jitterMs: number): number {
  return Math.floor((hashOf(nameOf(schedule, slot), 0x5bd1) / 2 ** 32) * (jitterMs + 1))
}

/** A UUIDv7 with the slot's timestamp, its other bits hashed from the names. */
export function slotJobId(schedule: Pick<Schedule, 'space' | 'id'>, slot: number): string {
  const name = nameOf(schedule, slot)
  const hex = (value: number, digits: number): string =>
    value.toString(16).padStart(digits, '0').slice(-digits)
  const time = hex(Math.max(0, slot), 12)
  const first = hashOf(name, 1)
  const variant = hex(0x8000 | (first & 0x3fff), 4)
  const last = hex(hashOf(name, 2), 8) + hex(hashOf(name, 3), 4)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(first >>> 20, 3)}-${variant}-${last}`
}

function nameOf({ space, id }: Pick<Schedule, 'space' | 'id'>, slot: number): string {
  return `${space}\n${id}\n${slot}`
}

/** MurmurHash3, 32 bits, over UTF-16 units. */
function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) {
    let unit = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    unit = Math.imul((unit << 15) | (unit >>> 17), 0x1b873593)
    hash ^= unit
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
  }
  hash ^= text.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
