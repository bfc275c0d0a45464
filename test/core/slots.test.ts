import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertCalendar, type Calendar, nextSlot, slotsBetween } from '../../src/core/schedules/slots.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000

function cron(expression: string, timeZone = 'UTC', bounds: Partial<Calendar> = {}): Calendar {
  return { timing: { kind: 'cron', cron: expression, timeZone }, startAt: null, endAt: null, ...bounds }
}

function every(ms: number, bounds: Partial<Calendar> = {}): Calendar {
  return { timing: { kind: 'every', ms, from: 'grid' }, startAt: null, endAt: null, ...bounds }
}

const at = (iso: string): number => Date.parse(iso)
const isos = (slots: readonly number[]): string[] => slots.map((slot) => new Date(slot).toISOString())

function slots(calendar: Calendar, after: string, count: number): string[] {
  return isos(slotsBetween(calendar, at(after), Number.MAX_SAFE_INTEGER, count))
}

/** Date, hour and minute that a clock on the wall shows there, found without any cron. */
function wallClock(timeZone: string): (ms: number) => { day: string; hour: number; minute: number } {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  return (ms) => {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return {
      day: `${part.year}-${part.month}-${part.day}`,
      hour: Number(part.hour),
      minute: Number(part.minute),
    }
  }
}

const walks = new Map<string, ReturnType<typeof walkAnew>>()

function walk(timeZone: string, from: number, to: number): ReturnType<typeof walkAnew> {
  const key = `${timeZone} ${from} ${to}`
  const known = walks.get(key) ?? walkAnew(timeZone, from, to)
  walks.set(key, known)
  return known
}

/** Every minute from one moment to another as the wall clock shows it. */
function walkAnew(
  timeZone: string,
  from: number,
  to: number,
): { ms: number; day: string; hour: number; minute: number }[] {
  const clock = wallClock(timeZone)
  return Array.from({ length: (to - from) / MINUTE }, (_, n) => ({
    ms: from + n * MINUTE,
    ...clock(from + n * MINUTE),
  }))
}

/** Once a day at a time: the first moment that shows it; if none does, the first that shows a later time of that day. */
function dailyReference(timeZone: string, hour: number, minute: number, from: number, to: number): string[] {
  const days = new Map<string, ReturnType<typeof walk>>()
  for (const one of walk(timeZone, from, to)) days.set(one.day, [...(days.get(one.day) ?? []), one])
  const found = [...days.values()].map((minutes) => {
    const exact = minutes.find((one) => one.hour === hour && one.minute === minute)
    return (exact ?? minutes.find((one) => one.hour * 60 + one.minute > hour * 60 + minute))?.ms
  })
  return isos(found.filter((ms) => ms !== undefined))
}

/** At these minutes of every hour that passes, however the clock calls it. */
function hourlyReference(timeZone: string, minutes: readonly number[], from: number, to: number): string[] {
  return isos(walk(timeZone, from, to).flatMap(({ ms, minute }) => (minutes.includes(minute) ? [ms] : [])))
}

// Three whole days of the zone around each change of 2027, in UTC.
const CHANGES = [
  ['New York in spring', 'America/New_York', '2027-03-13T05:00:00Z', 71],
  ['New York in autumn', 'America/New_York', '2027-11-06T04:00:00Z', 73],
  ['Berlin in spring', 'Europe/Berlin', '2027-03-26T23:00:00Z', 71],
  ['Berlin in autumn', 'Europe/Berlin', '2027-10-29T22:00:00Z', 73],
  ['Lord Howe in spring, by half an hour', 'Australia/Lord_Howe', '2027-10-01T13:30:00Z', 71.5],
  ['Lord Howe in autumn, by half an hour', 'Australia/Lord_Howe', '2027-04-02T13:00:00Z', 72.5],
] as const

describe.each(CHANGES)('a change of daylight saving time: %s', (_name, zone, start, hours) => {
  const from = at(start)
  const to = from + hours * HOUR
  const between = (calendar: Calendar): string[] => isos(slotsBetween(calendar, from - 1, to - 1, 10_000))

  it.each([
    [0, 30],
    [1, 0],
    [1, 30],
    [1, 45],
    [2, 0],
    [2, 15],
    [2, 30],
    [2, 59],
    [3, 0],
    [3, 30],
    [12, 0],
  ])('a daily slot at %i:%i comes once each day, at the end of the gap if need be', (hour, minute) => {
    expect(between(cron(`${minute} ${hour} * * *`, zone))).toEqual(
      dailyReference(zone, hour, minute, from, to),
    )
  })

  it('a slot of every hour comes in every hour that passes', () => {
    expect(between(cron('15 * * * *', zone))).toEqual(hourlyReference(zone, [15], from, to))
  })

  it('the same from whatever moment one looks', () => {
    const calendars = [cron('30 2 * * *', zone), cron('*/20 * * * *', zone), cron('45 1 * * *', zone)]
    const chains = calendars.map((calendar) => ({
      calendar,
      chain: slotsBetween(calendar, from - 1, to + 2 * DAY, 1_000),
    }))
    fc.assert(
      fc.property(
        fc.integer({ min: from, max: to - 1 }),
        fc.constantFrom(...chains),
        (after, { calendar, chain }) => {
          expect(nextSlot(calendar, after)).toBe(chain.find((slot) => slot > after))
        },
      ),
      { numRuns: 200, seed: 1 },
    )
  })
})

describe('a cron', () => {
  it('has five fields, six with seconds, or a name', () => {
    expect(slots(cron('0 3 * * *'), '2027-01-15T03:00:00Z', 2)).toEqual([
      '2027-01-16T03:00:00.000Z',
      '2027-01-17T03:00:00.000Z',
    ])
    expect(slots(cron('*/20 * * * * *'), '2027-01-15T03:00:05.500Z', 3)).toEqual([
      '2027-01-15T03:00:20.000Z',
      '2027-01-15T03:00:40.000Z',
      '2027-01-15T03:01:00.000Z',
    ])
    expect(slots(cron('@hourly'), '2027-01-15T03:59:59.999Z', 1)).toEqual(['2027-01-15T04:00:00.000Z'])
  })

  it('knows leap days, ends of months and nearest weekdays', () => {
    expect(slots(cron('0 0 29 2 *'), '2027-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00:00.000Z',
      '2032-02-29T00:00:00.000Z',
    ])
    expect(slots(cron('0 0 31 * *'), '2027-01-31T00:00:00Z', 3)).toEqual([
      '2027-03-31T00:00:00.000Z',
      '2027-05-31T00:00:00.000Z',
      '2027-07-31T00:00:00.000Z',
    ])
    expect(slots(cron('0 0 L * *'), '2028-01-31T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00:00.000Z',
      '2028-03-31T00:00:00.000Z',
    ])
    // Saturday 2027-05-15 gives way to the Friday before it.
    expect(slots(cron('0 9 15W * *'), '2027-05-01T00:00:00Z', 1)).toEqual(['2027-05-14T09:00:00.000Z'])
  })

  it('with a day of the month and one of the week means either', () => {
    expect(slots(cron('0 0 13 * 5'), '2027-08-05T12:00:00Z', 3)).toEqual([
      '2027-08-06T00:00:00.000Z',
      '2027-08-13T00:00:00.000Z',
      '2027-08-20T00:00:00.000Z',
    ])
  })

  it('is read in its own zone, not in that of the process', () => {
    expect(slots(cron('0 3 * * *', 'Asia/Kolkata'), '2027-01-15T00:00:00Z', 1)).toEqual([
      '2027-01-15T21:30:00.000Z',
    ])
  })

  it('begins at its start and ends before its end', () => {
    const bounds = { startAt: at('2027-01-15T03:00:00Z'), endAt: at('2027-01-15T05:00:00Z') }
    expect(slots(cron('0 * * * *', 'UTC', bounds), '2026-01-01T00:00:00Z', 10)).toEqual([
      '2027-01-15T03:00:00.000Z',
      '2027-01-15T04:00:00.000Z',
    ])
  })

  it.each([
    '',
    '* * * *',
    '61 * * * *',
    '* * * * 8',
    '0 0 30 2 *',
    '1--100000000 * * * *',
    '2027-01-15T00:00:00Z',
    '@reboot',
    'x * * * *',
    `${'1,'.repeat(200)}1 * * * *`,
  ])('that has no meaning, or never comes, is refused: %s', (expression) => {
    expect(() => assertCalendar(cron(expression))).toThrow(
      expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
    )
  })

  it('in a zone that does not exist is refused', () => {
    expect(() => assertCalendar(cron('0 3 * * *', 'Mars/Olympus'))).toThrow(
      expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
    )
    expect(() => assertCalendar(cron('0 3 * * *', 'Europe/Berlin'))).not.toThrow()
  })
})

describe('an interval', () => {
  it('lies on a grid that does not depend on when one looks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: DAY }),
        fc.integer({ min: 0, max: 2_000_000_000_000 }),
        fc.option(fc.integer({ min: 0, max: 2_000_000_000_000 })),
        (ms, after, startAt) => {
          const slot = nextSlot(every(ms, { startAt }), after) as number
          const origin = startAt ?? 0
          expect(slot).toBeGreaterThan(after)
          expect(slot).toBeGreaterThanOrEqual(origin)
          expect((slot - origin) % ms).toBe(0)
          if (slot > origin) expect(slot - ms).toBeLessThanOrEqual(after)
        },
      ),
      { seed: 1 },
    )
  })

  it('ends before its end', () => {
    expect(slotsBetween(every(1_000, { startAt: 500, endAt: 3_500 }), 0, 100_000, 10)).toEqual([
      500, 1_500, 2_500,
    ])
  })

  it('from the last run comes so long after it', () => {
    const calendar: Calendar = { ...every(5_000), timing: { kind: 'every', ms: 5_000, from: 'last-run' } }
    expect(nextSlot(calendar, 1_234)).toBe(6_234)
    expect(nextSlot({ ...calendar, startAt: 10_000 }, 1_234)).toBe(10_000)
    expect(nextSlot({ ...calendar, endAt: 6_234 }, 1_234)).toBeNull()
  })

  it.each([0, 999, 1.5, -1, Number.NaN, Infinity])('of %d ms is refused', (ms) => {
    expect(() => assertCalendar(every(ms))).toThrow(expect.objectContaining({ code: 'SCHEDULE_INVALID' }))
  })

  it('that ends before it starts is refused', () => {
    expect(() => assertCalendar(every(1_000, { startAt: 5, endAt: 5 }))).toThrow(
      expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
    )
  })
})
