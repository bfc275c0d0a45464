/**
 * A cron expression as people say it: "every weekday at 09:30". What has no short sentence is said field by field, and what even
 * that cannot say truly stays as it is written: a wrong sentence would be worse than none.
 */
const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** The expression in words; null if it says something that these words cannot. */
export function cronWords(expression: string): string | null {
  const text = NICKNAMES[expression.trim().toLowerCase()] ?? expression.trim()
  const fields = text.split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return null
  const [second, minute, hour, date, month, day] = (fields.length === 6 ? fields : ['0', ...fields]) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const time = timeWords(second, minute, hour)
  const when = dayWords(date, month, day)
  if (time === null || when === null) return null
  return time.isMany ? (when === 'every day' ? time.text : `${time.text}, ${when}`) : `${when} ${time.text}`
}

interface Time {
  readonly text: string
  /** More than once in a day, said for itself: "every 5 minutes". */
  readonly isMany: boolean
}

function timeWords(second: string, minute: string, hour: string): Time | null {
  const many = (text: string): Time => ({ text, isMany: true })
  if (second !== '0') {
    if (minute !== '*' || hour !== '*') return null
    if (second === '*') return many('every second')
    const step = stepOf(second)
    return step === null ? null : many(`every ${step} seconds`)
  }
  const hours = listOf(hour, 0, 23)
  if (hour === '*' || stepOf(hour) !== null || rangeOf(hour, 0, 23)) {
    const among = amongWords(hour)
    if (minute === '*') return among === null ? null : many(`every minute${among}`)
    const step = stepOf(minute)
    if (step !== null && hour === '*') return many(step === 1 ? 'every minute' : `every ${step} minutes`)
    if (step !== null) return among && rangeOf(hour, 0, 23) ? many(`every ${step} minutes${among}`) : null
    const minutes = listOf(minute, 0, 59)
    if (minutes === null) return null
    const past = joined(minutes.map((one) => `:${pad(one)}`))
    const hourStep = stepOf(hour)
    if (hourStep !== null && hourStep > 1) return many(`every ${hourStep} hours at ${past}`)
    return among === null ? null : many(`every hour${among} at ${past}`)
  }
  const minutes = listOf(minute, 0, 59)
  if (hours === null || minutes === null || hours.length * minutes.length > 6) return null
  const times = hours.flatMap((h) => minutes.map((m) => `${pad(h)}:${pad(m)}`))
  return { text: `at ${joined(times)}`, isMany: false }
}

/** "from 9 to 17": the hours in which it happens; empty for all. */
function amongWords(hour: string): string | null {
  if (hour === '*') return ''
  const range = rangeOf(hour, 0, 23)
  return range === null ? null : ` from ${pad(range[0])} to ${pad(range[1])}`
}

function dayWords(date: string, month: string, day: string): string | null {
  const months = month === '*' ? '' : listed(month, 1, 12, (one) => MONTHS[one - 1] as string)
  if (months === null) return null
  const inMonths = months === '' ? '' : ` in ${months}`
  const isAnyDate = date === '*' || date === '?'
  const isAnyDay = day === '*' || day === '?'
  if (isAnyDate && isAnyDay) return `every day${inMonths}`
  if (isAnyDate) {
    const words = weekdayWords(day)
    return words === null ? null : `${words}${inMonths}`
  }
  const dates = date === 'L' ? 'the last day' : listed(date, 1, 31, ordinal)
  if (dates === null) return null
  const said = date === 'L' ? dates : `the ${dates}`
  const ofMonth = `on ${said} of ${months === '' ? 'every month' : months}`
  if (isAnyDay) return ofMonth
  const words = weekdayWords(day)
  return words === null ? null : `${ofMonth}, or ${words}${inMonths}`
}

function weekdayWords(day: string): string | null {
  const named = day
    .toUpperCase()
    .replaceAll(/SUN|MON|TUE|WED|THU|FRI|SAT/g, (name) =>
      String(['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'].indexOf(name)),
    )
  if (named === '1-5') return 'every weekday'
  if (named === '0,6' || named === '6,0' || named === '6-7' || named === '6,7')
    return 'every Saturday and Sunday'
  const [, of, which] = /^([0-7])#([1-5])$/.exec(named) ?? []
  if (of !== undefined && which !== undefined) {
    return `every ${ordinal(Number(which))} ${DAYS[Number(of) % 7]} of the month`
  }
  const days = listed(named, 0, 7, (one) => DAYS[one % 7] as string)
  return days === null ? null : `every ${days}`
}

/** A star, or a zero, and a step: every so many. */
function stepOf(field: string): number | null {
  const step = /^(?:\*|0)\/(\d+)$/.exec(field)?.[1]
  return step === undefined ? null : Number(step)
}

function rangeOf(field: string, least: number, most: number): readonly [number, number] | null {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(field) ?? []
  if (from === undefined || to === undefined) return null
  const [a, b] = [Number(from), Number(to)]
  return a >= least && b <= most && a < b ? [a, b] : null
}

/** "1,15" → [1, 15]; null if it is anything else than numbers. */
function listOf(field: string, least: number, most: number): readonly number[] | null {
  if (!/^\d+(,\d+)*$/.test(field)) return null
  const numbers = field.split(',').map(Number)
  return numbers.every((one) => one >= least && one <= most) ? numbers : null
}

function listed(field: string, least: number, most: number, word: (one: number) => string): string | null {
  const range = rangeOf(field, least, most)
  if (range) return `${word(range[0])} to ${word(range[1])}`
  const numbers = listOf(field, least, most)
  return numbers && joined(numbers.map(word))
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function ordinal(one: number): string {
  const last = one % 10
  const ending =
    Math.floor(one / 10) === 1 ? 'th' : last === 1 ? 'st' : last === 2 ? 'nd' : last === 3 ? 'rd' : 'th'
  return `${one}${ending}`
}

function pad(one: number): string {
  return String(one).padStart(2, '0')
}

/** 900000 → "15 minutes", 1000 → "second". */
export function intervalWords(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1_000, 'second'],
  ] as const
  for (const [size, unit] of units) {
    if (ms >= size && ms % size === 0) return ms === size ? unit : `${ms / size} ${unit}s`
  }
  return `${ms} ms`
}
