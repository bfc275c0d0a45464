/** From values to pixels. */
export interface Scale {
  readonly at: (value: number) => number
  readonly ticks: readonly number[]
  readonly logarithmic: boolean
}

/** Values further apart than this would leave nothing to see of the small ones. */
const TOO_FAR_APART = 50

/** From zero, or logarithmic if asked for and the values are too far apart. `from` and `to` are pixels. */
export function scaleFor(
  values: readonly number[],
  from: number,
  to: number,
  mayBeLogarithmic: boolean,
): Scale {
  const highest = Math.max(...values, Number.MIN_VALUE)
  const lowest = Math.min(...values.filter((value) => value > 0), highest)
  return mayBeLogarithmic && highest / lowest > TOO_FAR_APART
    ? logarithmic(lowest, highest, from, to)
    : linear(highest, from, to)
}

function linear(highest: number, from: number, to: number): Scale {
  const step = niceStep(highest / 4)
  const top = Math.ceil(highest / step) * step
  return {
    at: (value) => from + (value / top) * (to - from),
    ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step),
    logarithmic: false,
  }
}

function logarithmic(lowest: number, highest: number, from: number, to: number): Scale {
  const low = Math.floor(Math.log10(lowest))
  const high = Math.max(Math.ceil(Math.log10(highest)), low + 1)
  return {
    // What is not above zero has no place on this scale and stands at its beginning.
    at: (value) =>
      from + (Math.max(0, Math.log10(Math.max(value, Number.MIN_VALUE)) - low) / (high - low)) * (to - from),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    logarithmic: true,
  }
}

/** The next of 1, 2, 5, 10, 20, ... */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 5].find((one) => one * power >= least * 0.9999) ?? 10
  return factor * power
}

/** `20k`, `0.1`, `500`. */
export function showTick(value: number): string {
  if (value >= 1_000_000) return `${Number((value / 1_000_000).toPrecision(3))}M`
  if (value >= 1_000) return `${Number((value / 1_000).toPrecision(3))}k`
  return String(Number(value.toPrecision(3)))
}
