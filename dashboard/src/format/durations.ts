/** Milliseconds as a duration string that the API accepts: 900000 → "15m". */
export function durationWord(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1_000, 's'],
  ] as const
  for (const [size, unit] of units) if (ms >= size && ms % size === 0) return `${ms / size}${unit}`
  return `${ms}ms`
}
