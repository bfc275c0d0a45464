import { cronWords, everyWords, type ScheduleView } from '../../index.ts'
import type { SlotPreview } from '../api.ts'

/** What a schedule says, in words. */
export function wordsOf({ cron, every }: Pick<ScheduleView, 'cron' | 'every'>): string {
  if (cron !== null) return cronWords(cron.expression, cron.timeZone)
  if (every === null) return ''
  return every.from === 'grid'
    ? everyWords(every.ms)
    : `${everyWords(every.ms)}, counted from the end of the last job`
}

/** Slots as they are shown: by the clock on the wall of their zone, with a mark where the clocks change before one. */
export function previewOf(slots: readonly Date[], timeZone: string): readonly SlotPreview[] {
  const offsets = slots.map((slot) => offsetOf(slot, timeZone))
  return slots.map((slot, index) => {
    const before = offsets[index - 1]
    const offset = offsets[index] as number
    return {
      at: slot.toISOString(),
      local: localOf(slot, offset),
      note:
        before === undefined || before === offset ? null : before < offset ? 'clocks-forward' : 'clocks-back',
    }
  })
}

/** The wall clock as `2026-11-16 09:30:00 +01:00`. */
function localOf(slot: Date, offsetMinutes: number): string {
  const wall = new Date(slot.getTime() + offsetMinutes * 60_000).toISOString()
  const size = Math.abs(offsetMinutes)
  const [hours, minutes] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'))
  return `${wall.slice(0, 10)} ${wall.slice(11, 19)} ${offsetMinutes < 0 ? '-' : '+'}${hours}:${minutes}`
}

/** How many minutes the zone is before UTC at a moment. */
function offsetOf(moment: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(moment)
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value)
  const wall = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
  return Math.round((wall - Math.floor(moment.getTime() / 1_000) * 1_000) / 60_000)
}
