import { type Duration, SkepError } from '../../index.ts'

const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d|w)$/

/** A duration of an input. The path is in the error, as everywhere. */
export function durationOf(path: string, text: string): Duration {
  if (DURATION.test(text)) return text as Duration
  throw new SkepError('OPTION_INVALID', `${path} must be a number with a unit: 250ms, 30s, 5m, 2h, 7d.`, {
    facts: { path },
  })
}
