/**
 * How delayed jobs are counted by their due time, so that the number of those that are due is read at a bounded cost: by the
 * day, by five minutes and by the second. What is due at a given time is the days before its day, the five minutes of that day
 * before its five minutes, the seconds before its second, and the jobs of that second themselves, which an index has.
 */
export const DAY_MS = 86_400_000
export const SPAN_MS = 300_000
export const SECOND_MS = 1_000

/** All widths. Each is a multiple of those after it. */
export const DUE_WIDTHS: readonly number[] = [DAY_MS, SPAN_MS, SECOND_MS]

/** When the part of time of this width begins to which a timestamp belongs. */
export function startOf(at: number, width: number): number {
  return Math.floor(at / width) * width
}
