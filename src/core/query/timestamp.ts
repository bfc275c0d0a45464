/** Timestamps in queries: absolute ones, with a time zone or in UTC, and ones relative to now. */

const ABSOLUTE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/
const RELATIVE = /^(\+?)(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

export function isMoment(text: string): boolean {
  return !Number.isNaN(momentOf(text, 0))
}

/** Parses a timestamp to milliseconds: `1h` is an hour ago, `+1h` in an hour. NaN if it is invalid. */
export function momentOf(text: string, now: number): number {
  if (text === 'now') return now
  const match = RELATIVE.exec(text)
  if (match) {
    const [, sign, count, unit] = match as unknown as [string, string, string, keyof typeof UNIT_MS]
    const ms = Math.round(Number(count) * UNIT_MS[unit])
    return sign === '+' ? now + ms : now - ms
  }
  if (!ABSOLUTE.test(text)) return Number.NaN
  // Without a zone it would be parsed in the local time zone of the machine.
  return Date.parse(/T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) || !text.includes('T') ? text : `${text}Z`)
}
