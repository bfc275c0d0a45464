/** Numbers and durations for display. */

/** 1204 → 1,204; 1234567 → 1.23M. Never wider than seven columns. */
export function countText(value: number): string {
  if (value < 1_000_000) return String(Math.trunc(value)).replace(/\B(?=(\d{3})+$)/g, ',')
  const [size, unit] = value < 999_500_000 ? [1_000_000, 'M'] : [1_000_000_000, 'G']
  return `${(value / size).toPrecision(3)}${unit}`
}

/** A number with its noun: `1 job`, `3 jobs`. */
export function manyText(value: number, noun: string): string {
  return `${countText(value)} ${noun}${value === 1 ? '' : 's'}`
}

const STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** 12 → 12ms; 1500 → 1.5s; 95000 → 1m 35s; 90000000 → 1d 1h. */
export function spanText(ms: number): string {
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
export function fromNowText(moment: Date, now: number): string {
  const ms = moment.getTime() - now
  if (Math.abs(ms) < 500) return 'now'
  return ms > 0 ? `in ${spanText(ms)}` : `${spanText(-ms)} ago`
}

/** 1536 → "1.5 KB". */
export function bytesText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const
  const power = Math.min(units.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1_024)))
  const value = bytes / 1_024 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`
}
