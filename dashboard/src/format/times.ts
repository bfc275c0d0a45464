const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** 84 → "84 ms", 1530 → "1.5 s", 250000 → "4m 10s". */
export function durationText(ms: number): string {
  if (ms < 0) return `−${durationText(-ms)}`
  if (ms < 1) return '<1 ms'
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${Number((ms / SECOND).toFixed(1))} s`
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return pair(ms, MINUTE, 'm', SECOND, 's')
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'm')
  if (ms < 100 * DAY) return pair(ms, DAY, 'd', HOUR, 'h')
  return `${Math.floor(ms / DAY)}d`
}

function pair(ms: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % big) / small)
  return `${Math.floor(ms / big)}${bigUnit}${rest === 0 ? '' : ` ${rest}${smallUnit}`}`
}

/** "just now", "12 s ago", "in 4m 10s". */
export function agoText(at: number, now: number): string {
  const past = now - at
  if (Math.abs(past) < SECOND) return 'just now'
  const rounded = Math.abs(past) < MINUTE ? Math.floor(Math.abs(past) / SECOND) * SECOND : Math.abs(past)
  const text = durationText(rounded)
  return past > 0 ? `${text} ago` : `in ${text}`
}

const exact = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
})

/** The timestamp in the browser's time zone, and in UTC. */
export function exactText(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  return `${exact.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}\n${at.toISOString()}`
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** "14:03:12", with the date unless it is today. */
export function clockText(iso: string, now = Date.now()): string {
  const at = new Date(iso)
  const time = clock.format(at)
  return at.toDateString() === new Date(now).toDateString() ? time : `${day.format(at)} ${time}`
}

/** "14:03:12.345" */
export function preciseClockText(iso: string): string {
  const at = new Date(iso)
  return `${clock.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`
}
