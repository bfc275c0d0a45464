import { SkepError } from './errors.ts'
import { LIMITS } from './limits.ts'
import { show } from './names.ts'

/** A duration: milliseconds, or a number with a unit: `'250ms'`, `'30s'`, `'5m'`, `'2h'`, `'7d'`, `'2w'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd' | 'w'}`

/** How long something is kept. */
export type Keep = Duration | 'forever'

/** The value of `'forever'`: a hundred years, the longest duration of any option. */
export const FOREVER_MS: number = LIMITS.delayMs

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** A {@link Keep} in milliseconds. */
export function keepToMs(what: string, keep: Keep): number {
  return keep === 'forever' ? FOREVER_MS : toMs(what, keep)
}

/** A duration in milliseconds, at most a hundred years. `what` names the option in the error. */
export function toMs(what: string, duration: Duration): number {
  const ms = typeof duration === 'number' ? duration : parse(duration)
  if (!Number.isFinite(ms) || ms < 0) {
    throw new SkepError(
      'DURATION_INVALID',
      `${what} is ${show(duration)}, which is not a duration. ` +
        "Use milliseconds, or a number with a unit: '250ms', '30s', '5m', '2h', '7d', '2w'.",
      { facts: { what, duration } },
    )
  }
  // Stores count in milliseconds, and sums of longer durations would exceed the safe integers.
  if (ms > FOREVER_MS) {
    throw new SkepError('OPTION_INVALID', `${what} is ${show(duration)}; use at most 100 years.`, {
      facts: { what, duration },
    })
  }
  return Math.round(ms)
}

function parse(text: unknown): number {
  const match = typeof text !== 'string' ? null : /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text)
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : Number.NaN
}
