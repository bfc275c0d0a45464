/**
 * Delayed jobs are counted by due time, so that the number of due ones is read at a bounded cost: by the day,
 * by five minutes and by the second. Due at a given time are the earlier days, the earlier five minutes of
 * that day, the earlier seconds of those, and the jobs of that second itself, which an index holds.
 */
export const DAY_MS = 86_400_000
export const SPAN_MS = 300_000
export const SECOND_MS = 1_000

/** Each width is a multiple of the next. */
export const DUE_WIDTHS: readonly number[] = [DAY_MS, SPAN_MS, SECOND_MS]

/** The start of the span of this width that contains a timestamp. */
export function startOf(at: number, width: number): number {
  return Math.floor(at / width) * width
}
