/**
 * The slots of a schedule. A slot is a timestamp for which one job is created. It is all arithmetic: the same
 * calendar has the same slots in every process, at any time.
 */
import { Cron } from 'croner'
import { messageOf, SkepError } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { show } from '../names.ts'

/**
 * cron: the times that match the expression in that zone. A time in the gap of a daylight saving change is
 * moved to the end of the gap; a time that exists twice fires once, unless its hour is a wildcard.
 * every, from the grid: every `ms` since the start of the schedule, or since 1970 if it has none.
 * every, from the last run: this long after the last job has ended.
 */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timeZone: string }
  | { readonly kind: 'every'; readonly ms: number; readonly from: 'grid' | 'last-run' }

/** A timing with its bounds: no slot before `startAt`, none at or after `endAt`. */
export interface Calendar {
  readonly timing: Timing
  readonly startAt: number | null
  readonly endAt: number | null
}

/** The first slot after a timestamp; null: none left. */
export function nextSlot(calendar: Calendar, after: number): number | null {
  const { timing, startAt, endAt } = calendar
  const from = startAt === null ? after : Math.max(after, startAt - 1)
  const slot = timing.kind === 'cron' ? nextCron(timing, from) : nextEvery(timing, startAt, from)
  return slot === null || (endAt !== null && slot >= endAt) ? null : slot
}

/** Up to `limit` slots after one timestamp and up to another. */
export function slotsBetween(calendar: Calendar, after: number, upTo: number, limit: number): number[] {
  const slots: number[] = []
  for (
    let slot = nextSlot(calendar, after);
    slot !== null && slot <= upTo && slots.length < limit;
    slot = nextSlot(calendar, slot)
  ) {
    slots.push(slot)
  }
  return slots
}

/** Rejects a calendar that is invalid or has no slot at all. */
export function assertCalendar({ timing, startAt, endAt }: Calendar): void {
  if (startAt !== null && endAt !== null && endAt <= startAt) {
    throw invalid('endAt is not after startAt, so there would be no slot.')
  }
  if (timing.kind === 'every') {
    const { ms, from } = timing
    if (!Number.isInteger(ms) || ms < LIMITS.everyMs || ms > LIMITS.delayMs) {
      throw invalid(`every is ${show(ms)} ms; use at least ${LIMITS.everyMs} ms, and at most 100 years.`)
    }
    if (from !== 'grid' && from !== 'last-run') {
      throw invalid(`from is ${show(from)}; use 'grid' or 'last-run'.`)
    }
    return
  }
  const { cron, timeZone } = timing
  // croner would also accept a date alone, and a very long expression could take long to parse.
  const isExpression = typeof cron === 'string' && cron.length <= LIMITS.cronBytes && CRON.test(cron)
  if (!isExpression) {
    throw invalid(
      `cron is ${show(cron)}; use five fields ("0 3 * * *"), six with seconds first, or @hourly, @daily, @weekly, ` +
        '@monthly, @yearly.',
    )
  }
  let first: Date | null
  try {
    first = parsed(cron, timeZone).nextRun(new Date(0))
  } catch (cause) {
    throw invalid(
      `cron ${show(cron)} in time zone ${show(timeZone)} is not valid: ${messageOf(cause)}`,
      cause,
    )
  }
  if (first === null) throw invalid(`cron ${show(cron)} never has a slot: there is no such date.`)
}

function invalid(message: string, cause?: unknown): SkepError {
  return new SkepError('SCHEDULE_INVALID', message, cause === undefined ? {} : { cause })
}

const CRON = /^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|\S+(\s+\S+){4,6})$/

function nextCron({ cron, timeZone }: Extract<Timing, { kind: 'cron' }>, after: number): number | null {
  return parsed(cron, timeZone).nextRun(new Date(after))?.getTime() ?? null
}

function nextEvery(
  { ms, from }: Extract<Timing, { kind: 'every' }>,
  startAt: number | null,
  after: number,
): number {
  if (from === 'last-run') return startAt !== null && after < startAt ? startAt : after + ms
  const origin = startAt ?? 0
  return origin + (Math.floor((after - origin) / ms) + 1) * ms
}

/** Parsing an expression takes longer than using it, and thousands of schedules share a few. */
const known = new Map<string, Cron>()
const MOST_KNOWN = 1_000

function parsed(cron: string, timeZone: string): Cron {
  const key = `${timeZone}\n${cron}`
  const found = known.get(key)
  if (found) return found
  // Without a function croner sets no timer.
  const made = new Cron(cron, { timezone: timeZone, paused: true })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(key, made)
  return made
}
