/** Counts from here on are shown as "500k+". */
export const COUNT_CAP = 500_000

const whole = new Intl.NumberFormat('en-US')

/** 48213 → "48,213"; from the cap on → "500k+". */
export function countText(count: number, isExact = true): string {
  if (count >= COUNT_CAP) return `${short(COUNT_CAP)}+`
  return isExact ? whole.format(count) : `${short(count)}+`
}

/** An uncapped count, for progress that must keep moving above the cap: 1234567 → "1,234,567". */
export function fullCountText(count: number): string {
  return whole.format(count)
}

/** For narrow columns: 48213 → "48.2k". */
export function short(count: number): string {
  const steps: readonly (readonly [number, string])[] = [
    [1e9, 'b'],
    [1e6, 'm'],
    [1e3, 'k'],
  ]
  for (const [size, unit] of steps) {
    if (Math.abs(count) >= size) {
      const value = count / size
      return `${value >= 100 ? Math.floor(value) : Number(value.toFixed(1))}${unit}`
    }
  }
  return String(count)
}

/** 0.034 → "0.03", 12.7 → "12.7", 1230 → "1,230". */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return '0'
  if (perSecond < 1) return perSecond < 0.01 ? '<0.01' : perSecond.toFixed(2)
  return perSecond < 100 ? Number(perSecond.toFixed(1)).toString() : whole.format(Math.round(perSecond))
}

/** 1536 → "1.5 KB". */
export function bytesText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`
}

/** "1 job", "2 jobs". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}
