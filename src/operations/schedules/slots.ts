import { cronWords, everyWords, type ScheduleView } from '../../index.ts'
import type { SlotPreview } from '../schema/outputs.ts'

/** What a schedule says, in words. */
export function wordsOf({ cron, every }: Pick<ScheduleView, 'cron' | 'every'>): string {
  if (cron !== null) return cronWords(cron.expression, cron.timeZone)
  if (every === null) return ''
  return every.from === 'grid'
    ? everyWords(every.ms)
    : `${everyWords(every.ms)}, counted from the end of the last job`
}

const HOUR_MS = 3_600_000

/** How far the clocks of a zone are before UTC at a moment, in milliseconds. */
type Offset = (at: number) => number

/**
 * Slots as they are shown: by the clock on the wall of their zone, with a mark where the clocks change between the one before, or
 * `now`, and this one.
 */
export function previewOf(slots: readonly Date[], timeZone: string, now: number): readonly SlotPreview[] {
  const offsetAt = offsetIn(timeZone)
  let before = offsetAt(now)
  return slots.map((slot) => {
    const at = slot.getTime()
    const offset = offsetAt(at)
    const note = noteOf(offsetAt, at, offset - before)
    before = offset
    return { at: slot.toISOString(), local: localOf(at, offset), note }
  })
}

function noteOf(offsetAt: Offset, at: number, changed: number): SlotPreview['note'] {
  if (isTwice(offsetAt, at)) return 'comes-twice'
  if (changed === 0) return null
  return changed > 0 ? 'clocks-forward' : 'clocks-back'
}

/** Whether this time on the wall comes twice that day, because the clocks go back. */
function isTwice(offsetAt: Offset, at: number): boolean {
  const here = offsetAt(at)
  for (const side of [-3 * HOUR_MS, 3 * HOUR_MS]) {
    const other = offsetAt(at + side)
    // Before the change the clocks are further ahead than after it.
    if (side < 0 ? other <= here : other >= here) continue
    if (offsetAt(at + here - other) === other) return true
  }
  return false
}

/** The wall clock as `2026-11-16 09:30:00 +01:00`. */
function localOf(at: number, offset: number): string {
  const wall = new Date(at + offset).toISOString()
  const size = Math.round(Math.abs(offset) / 60_000)
  const [hours, minutes] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'))
  return `${wall.slice(0, 10)} ${wall.slice(11, 19)} ${offset < 0 ? '-' : '+'}${hours}:${minutes}`
}

function offsetIn(timeZone: string): Offset {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (at) => {
    const parts = format.formatToParts(at)
    const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value)
    const day = Date.UTC(part('year'), part('month') - 1, part('day'))
    const wall = day + ((part('hour') * 60 + part('minute')) * 60 + part('second')) * 1_000
    return wall - Math.floor(at / 1_000) * 1_000
  }
}
