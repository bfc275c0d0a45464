/** Numbers, spans and moments as people read them. */

/** 1204 → 1,204; 1234567 → 1.23M. Never wider than seven columns. */
export function count(value: number): string {
  if (value < 1_000_000) return String(Math.trunc(value)).replace(/\B(?=(\d{3})+$)/g, ',')
  const [size, unit] = value < 999_500_000 ? [1_000_000, 'M'] : [1_000_000_000, 'G']
  return `${(value / size).toPrecision(3)}${unit}`
}

/** The same in at most six columns: 123456 → 123k. */
export function compact(value: number): string {
  if (value < 100_000) return count(value)
  return value < 999_500 ? `${Math.round(value / 1_000)}k` : count(Math.max(1_000_000, value))
}

/** A number with its noun: `1 job`, `3 jobs`. */
export function many(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Something per second. */
export function rate(value: number): string {
  if (value === 0) return '0'
  return value < 100 ? value.toFixed(1) : count(Math.round(value))
}

const STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** 12 → 12ms; 1500 → 1.5s; 95000 → 1m 35s; 90000000 → 1d 1h. */
export function span(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))}ms`
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)}s`
  const whole = Math.round(ms / 1_000) * 1_000
  if (whole < 60_000) return `${whole / 1_000}s`
  const at = STEPS.findIndex(([, size]) => whole >= size)
  const [unit, size] = STEPS[at] as (typeof STEPS)[number]
  const [smaller, smallerSize] = STEPS[at + 1] ?? (['s', 1_000] as const)
  const rest = Math.floor((whole % size) / smallerSize)
  return `${Math.floor(whole / size)}${unit}${rest > 0 ? ` ${rest}${smaller}` : ''}`
}

/** `3s ago`, `in 5m`, `now`. */
export function fromNow(moment: Date, now: number): string {
  const ms = moment.getTime() - now
  if (Math.abs(ms) < 500) return 'now'
  return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`
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
