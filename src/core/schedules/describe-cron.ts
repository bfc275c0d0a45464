/** Describes a cron expression: "every day at 09:30". Falls back to the expression itself. */

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const NTH = ['', 'first', 'second', 'third', 'fourth', 'fifth']

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** With more times than this the sentence would be too long. */
const MOST_TIMES = 6

type Field =
  | { readonly kind: 'any' }
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'values'; readonly values: readonly number[] }

/** Thrown internally if there is no good wording. */
class Wordless extends Error {}

/** The expression in words, and its time zone. */
export function cronWords(expression: string, timeZone: string): string {
  return `${words(expression.trim())}, ${timeZone}`
}

function words(expression: string): string {
  try {
    const fields = (MACROS[expression.toLowerCase()] ?? expression).split(/\s+/)
    if (fields.length === 5) fields.unshift('0')
    if (fields.length !== 6) return expression
    return sentence(fields as [string, string, string, string, string, string])
  } catch (error) {
    if (error instanceof Wordless) return expression
    throw error
  }
}

function sentence([second, minute, hour, date, month, weekday]: [
  string,
  string,
  string,
  string,
  string,
  string,
]): string {
  const time = timeWords(numbers(second, 0, 59), numbers(minute, 0, 59), numbers(hour, 0, 23))
  const days = dayWords(date, month, weekday)
  if (time.kind === 'often') return days === null ? time.text : `${time.text} ${days}`
  return `${days ?? 'every day'} at ${time.text}`
}

// ── the time of day ──────────────────────────────────────────────────────────────────────────────

type TimeWords = { readonly kind: 'often' | 'at'; readonly text: string }

function timeWords(second: Field, minute: Field, hour: Field): TimeWords {
  if (second.kind === 'any' || second.kind === 'step') {
    if (minute.kind !== 'any' || hour.kind !== 'any') throw new Wordless()
    return often(every(second.kind === 'any' ? 1 : evenly(second.step, 60), 'second'))
  }
  const [at, ...more] = valuesOf(second)
  if (at === undefined || more.length > 0) throw new Wordless()
  const past = at === 0 ? '' : `, ${at} seconds past the minute`
  if (minute.kind === 'any' || minute.kind === 'step') {
    const text = every(minute.kind === 'any' ? 1 : evenly(minute.step, 60), 'minute')
    return often(`${text}${hoursWords(hour)}${past}`)
  }
  const minutes = valuesOf(minute)
  if (hour.kind === 'any' || hour.kind === 'step' || hour.kind === 'range') {
    const text = every(hour.kind === 'step' ? evenly(hour.step, 24) : 1, 'hour')
    const isFull = minutes.length === 1 && minutes[0] === 0
    const minuteText = isFull
      ? ''
      : ` at minute${minutes.length > 1 ? 's' : ''} ${listed(minutes.map(String))}`
    const between =
      hour.kind === 'range'
        ? ` from ${clock(hour.from, minutes[0] ?? 0)} to ${clock(hour.to, minutes.at(-1) ?? 0)}`
        : ''
    return often(`${text}${minuteText}${between}${past}`)
  }
  const times = valuesOf(hour).flatMap((one) => minutes.map((other) => clock(one, other, at)))
  if (times.length > MOST_TIMES) throw new Wordless()
  return { kind: 'at', text: listed(times) }
}

function often(text: string): TimeWords {
  return { kind: 'often', text }
}

/** The hours in which a repeating minute applies. */
function hoursWords(hour: Field): string {
  switch (hour.kind) {
    case 'any':
      return ''
    case 'range':
      return ` from ${clock(hour.from, 0)} to ${clock(hour.to, 59)}`
    case 'values': {
      if (hour.values.length > MOST_TIMES) throw new Wordless()
      const [only] = hour.values
      return hour.values.length === 1
        ? ` from ${clock(only as number, 0)} to ${clock(only as number, 59)}`
        : ` in the hours of ${listed(hour.values.map((one) => clock(one, 0)))}`
    }
    default:
      throw new Wordless()
  }
}

function every(step: number, noun: string): string {
  return step === 1 ? `every ${noun}` : `every ${step} ${noun}s`
}

/** Steps that do not divide the whole are irregular: "every 7 minutes" would be wrong. */
function evenly(step: number, whole: number): number {
  if (whole % step !== 0) throw new Wordless()
  return step
}

function clock(hour: number, minute: number, second = 0): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}

// ── the day ──────────────────────────────────────────────────────────────────────────────────────

/** The days; null: every day. */
function dayWords(date: string, month: string, weekday: string): string | null {
  const months = monthWords(month)
  const dates = date === '*' || date === '?' ? null : dateWords(date, months)
  const weekdays = weekday === '*' || weekday === '?' ? null : weekdayWords(weekday)
  const inMonths = months === null ? '' : ` ${months.text}`
  if (dates === null && weekdays === null) return months === null ? null : `every day${inMonths}`
  if (dates === null) return `${weekdays}${inMonths}`
  // If both fields are set, either one matches.
  return weekdays === null ? dates : `${dates} or ${weekdays}`
}

interface MonthWords {
  readonly text: string
  /** For "of January". */
  readonly of: string
}

function monthWords(field: string): MonthWords | null {
  const months = numbers(named(field, MONTHS, 1), 1, 12)
  if (months.kind === 'any') return null
  if (months.kind === 'range') {
    const [from, to] = [MONTHS[months.from - 1], MONTHS[months.to - 1]]
    return { text: `from ${from} to ${to}`, of: `every month from ${from} to ${to}` }
  }
  const names = valuesOf(months, 1, 12).map((one) => MONTHS[one - 1] as string)
  return { text: `in ${listed(names)}`, of: listed(names) }
}

function dateWords(field: string, months: MonthWords | null): string {
  const of = months === null ? 'of every month' : `of ${months.of}`
  const upper = field.toUpperCase()
  if (upper === 'L') return `on the last day ${of}`
  if (upper === 'LW' || upper === 'WL') return `on the last weekday ${of}`
  const nearest = /^(\d{1,2})W$/.exec(upper)?.[1]
  if (nearest !== undefined) return `on the weekday nearest the ${ordinal(Number(nearest))} ${of}`
  const dates = numbers(field, 1, 31)
  if (dates.kind === 'range') return `from the ${ordinal(dates.from)} to the ${ordinal(dates.to)} ${of}`
  if (dates.kind === 'any' || dates.kind === 'step') throw new Wordless()
  return `on the ${listed(dates.values.map(ordinal))} ${of}`
}

function weekdayWords(field: string): string {
  const text = named(field, DAYS, 0)
  const special = /^([0-7])(?:#([1-5])|L|#L)$/i.exec(text)
  if (special) {
    const which = special[2] === undefined ? 'last' : NTH[Number(special[2])]
    return `on the ${which} ${DAYS[Number(special[1]) % 7]} of every month`
  }
  const days = numbers(text, 0, 7)
  const values = [...new Set(valuesOf(days, 0, 7).map((one) => one % 7))].sort((a, b) => a - b)
  const key = values.join()
  if (key === '1,2,3,4,5') return 'on weekdays'
  if (key === '0,6') return 'on weekends'
  if (values.length === 7) return 'every day'
  if (days.kind === 'range') return `from ${DAYS[days.from % 7]} to ${DAYS[days.to % 7]}`
  // Lists of days start on Monday.
  const inOrder = values.toSorted((a, b) => ((a + 6) % 7) - ((b + 6) % 7)).map((one) => DAYS[one] as string)
  return inOrder.length === 1 ? `every ${inOrder[0]}` : `on ${listed(inOrder)}`
}

// ── fields ───────────────────────────────────────────────────────────────────────────────────────

/** A field with names replaced by numbers: `MON-FRI` as `1-5`. */
function named(field: string, names: readonly string[], first: number): string {
  return field.replace(/[a-z]{3,}/gi, (word) => {
    const index = names.findIndex((name) => name.slice(0, 3).toLowerCase() === word.slice(0, 3).toLowerCase())
    if (index < 0) throw new Wordless()
    return String(index + first)
  })
}

function numbers(field: string, least: number, most: number): Field {
  if (field === '*') return { kind: 'any' }
  const step = /^(?:\*|0)\/(\d{1,2})$/.exec(field)?.[1]
  if (step !== undefined && Number(step) > 0)
    return Number(step) === 1 ? { kind: 'any' } : { kind: 'step', step: Number(step) }
  const range = /^(\d{1,2})-(\d{1,2})$/.exec(field)
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])]
    if (from >= to || from < least || to > most) throw new Wordless()
    return { kind: 'range', from, to }
  }
  const values = field.split(',').flatMap((part) => valuesIn(part, least, most))
  return { kind: 'values', values: [...new Set(values)].sort((a, b) => a - b) }
}

/** `5`, `1-3`, `1-9/2`. */
function valuesIn(part: string, least: number, most: number): readonly number[] {
  const match = /^(\d{1,2})(?:-(\d{1,2})(?:\/(\d{1,2}))?)?$/.exec(part)
  if (!match) throw new Wordless()
  const from = Number(match[1])
  const to = match[2] === undefined ? from : Number(match[2])
  const step = match[3] === undefined ? 1 : Number(match[3])
  if (from < least || to > most || from > to || step < 1) throw new Wordless()
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
}

function valuesOf(field: Field, least = 0, most = 59): readonly number[] {
  switch (field.kind) {
    case 'values':
      return field.values
    case 'range':
      return Array.from({ length: field.to - field.from + 1 }, (_, index) => field.from + index)
    case 'any':
      return Array.from({ length: most - least + 1 }, (_, index) => least + index)
    case 'step':
      throw new Wordless()
  }
}

// ── words ────────────────────────────────────────────────────────────────────────────────────────

/** `a`, `a and b`, `a, b and c`. */
function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? ''
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`
}

function ordinal(value: number): string {
  const isTeen = value % 100 > 10 && value % 100 < 14
  const ending = isTeen ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[value % 10] ?? 'th')
  return `${value}${ending}`
}

const UNITS = [
  ['week', 604_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** An interval in words: "every 5 minutes", "every hour", "every 90 minutes". */
export function everyWords(ms: number): string {
  const unit = UNITS.find(([, size]) => ms % size === 0)
  return unit === undefined ? `every ${ms} ms` : every(ms / unit[1], unit[0])
}
