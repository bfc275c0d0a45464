/** Formats numbers, durations and times for people. */
import { countText as count, fromNowText } from '../../index.ts'
import type { Paint } from '../output.ts'

export {
  countText as count,
  manyText as many,
  spanText as span,
} from '../../index.ts'

/** How far a time is from now: "in 5m", "2h ago". */
export function fromNow(when: string, now: number): string {
  return fromNowText(new Date(when), now)
}

/** A time as it is on the wire, with how far it is from now. */
export function timeText(when: string | null, now: number, paint: Paint): string | null {
  return when === null ? null : `${when} ${paint('dim', `(${fromNow(when, now)})`)}`
}

/** The same in at most six columns: 123456 → 123k. */
export function compact(value: number): string {
  if (value < 100_000) return count(value)
  return value < 999_500 ? `${Math.round(value / 1_000)}k` : count(Math.max(1_000_000, value))
}

/** Something per second. */
export function rate(value: number): string {
  if (value === 0) return '0'
  return value < 100 ? value.toFixed(1) : count(Math.round(value))
}

/** The time of day, to put before a line. */
export function clock(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8)
}

/** Heights of a line of numbers, for a small picture of how something went. */
export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1)
  return values.map((value) => '▁▂▃▄▅▆▇█'[Math.min(7, Math.floor((value / most) * 7.99))]).join('')
}
