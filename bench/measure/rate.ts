/**
 * How many things a second began, from the times (ms) at which they did: the slope of the line through them. A limiter that lets
 * all of a second begin at once is then judged like one that spreads them, wherever the first and the last of them fall.
 */
export function rateThrough(times: readonly number[]): number {
  const middle = times.reduce((sum, time) => sum + time, 0) / times.length
  let above = 0
  let below = 0
  times.forEach((time, i) => {
    above += (time - middle) * i
    below += (time - middle) ** 2
  })
  return (above / below) * 1_000
}

/** The largest number of times within any span of so many milliseconds. The times are sorted. */
export function mostWithin(times: readonly number[], ms: number): number {
  let from = 0
  let most = 0
  times.forEach((time, i) => {
    while (time - (times[from] as number) >= ms) from++
    most = Math.max(most, i - from + 1)
  })
  return most
}
