/** The rounds of one measure in one place. */
export interface Summary {
  readonly median: number
  readonly lowest: number
  readonly highest: number
  readonly rounds: number
}

/** Of an even number of values, the mean of the two in the middle. NaN if there are none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** Null if nothing was measured: a missing value must never look like a zero. */
export function summarize(values: readonly number[]): Summary | null {
  if (values.length === 0) return null
  return {
    median: median(values),
    lowest: Math.min(...values),
    highest: Math.max(...values),
    rounds: values.length,
  }
}
