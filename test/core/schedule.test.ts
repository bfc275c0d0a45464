import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeSpec,
  encodeSpec,
  hasSameSlots,
  jitterOf,
  lookAfterRun,
  lookAt,
  type ScheduleSpec,
  slotJob,
  slotJobId,
} from '../../src/core/schedules/schedule.ts'
import { nextSlot, slotsBetween } from '../../src/core/schedules/slots.ts'

const SECOND = 1_000
const MINUTE = 60_000
const T = 1_800_000_000_000

function spec(difference: Partial<ScheduleSpec> = {}): ScheduleSpec {
  return {
    timing: { kind: 'every', ms: MINUTE, from: 'grid' },
    startAt: null,
    endAt: null,
    missed: 'once',
    graceMs: MINUTE,
    overlap: 'allow',
    jitterMs: 0,
    job: {
      queue: 'q',
      payload: '1',
      headers: null,
      priority: 0,
      unique: null,
      overrides: null,
      lane: null,
      strict: false,
      cost: 1,
    },
    ...difference,
  }
}

/** Slots as whole minutes after T. */
function look(
  difference: Partial<ScheduleSpec>,
  minutesLate: number,
  limit = 100,
): { slots: number[]; next: number | null; skipped: number } {
  const { slots, nextAt, skipped } = lookAt(spec(difference), T, T + minutesLate * MINUTE, limit)
  const minute = (ms: number): number => (ms - T) / MINUTE
  return { slots: slots.map(minute), next: nextAt === null ? null : minute(nextAt), skipped }
}

describe('a look at a schedule', () => {
  it('on time makes one job and goes on to the next slot', () => {
    expect(look({}, 0)).toEqual({ slots: [0], next: 1, skipped: 0 })
    expect(look({}, 0.9)).toEqual({ slots: [0], next: 1, skipped: 0 })
  })

  it.each(['skip', 'once', 'all'] as const)(
    'that is late within the grace makes every job, with missed %s',
    (missed) => {
      expect(look({ missed }, 1)).toEqual({ slots: [0, 1], next: 2, skipped: 0 })
      expect(look({ missed, graceMs: 3 * MINUTE }, 3)).toEqual({ slots: [0, 1, 2, 3], next: 4, skipped: 0 })
    },
  )

  // 10 minutes late, a grace of one: 0 to 8 were missed, 9 and 10 are late.
  it.each([
    ['skip', 'allow', [9, 10], 9],
    ['skip', 'skip', [10], 10],
    ['skip', 'replace', [10], 10],
    ['once', 'allow', [0, 9, 10], 8],
    ['once', 'skip', [10], 10],
    ['once', 'replace', [10], 10],
    ['all', 'allow', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0],
    ['all', 'skip', [10], 10],
    ['all', 'replace', [10], 10],
  ] as const)('that is too late, with missed %s and overlap %s', (missed, overlap, slots, skipped) => {
    expect(look({ missed, overlap }, 10)).toEqual({ slots, next: 11, skipped })
  })

  it('makes no more jobs at once than it may, and goes on from there', () => {
    expect(look({ missed: 'all' }, 43_200, 100)).toMatchObject({
      slots: Array.from({ length: 100 }, (_, n) => n),
      next: 100,
    })
    expect(look({ graceMs: 100 * MINUTE }, 50, 3)).toEqual({ slots: [0, 1, 2], next: 3, skipped: 0 })
  })

  it('after a month with missed once makes one job for it, at once', () => {
    expect(look({ missed: 'once', graceMs: 0 }, 43_200.5)).toEqual({
      slots: [0],
      next: 43_201,
      skipped: 43_200,
    })
  })

  it('after the end of the schedule still knows what it owes', () => {
    const endAt = T + 3 * MINUTE
    expect(look({ missed: 'skip', endAt }, 10)).toEqual({ slots: [], next: null, skipped: 3 })
    expect(look({ missed: 'once', endAt }, 10)).toEqual({ slots: [0], next: null, skipped: 2 })
    expect(look({ missed: 'all', endAt }, 10)).toEqual({ slots: [0, 1, 2], next: null, skipped: 0 })
  })

  it('leaves nothing out and makes nothing twice, however late and in however many portions', () => {
    const calendar = fc.constantFrom<ScheduleSpec['timing']>(
      { kind: 'every', ms: 7 * SECOND, from: 'grid' },
      { kind: 'cron', cron: '*/7 * * * * *', timeZone: 'UTC' },
      { kind: 'cron', cron: '*/5 1-3 * * *', timeZone: 'America/New_York' },
    )
    fc.assert(
      fc.property(
        calendar,
        fc.constantFrom('skip', 'once', 'all'),
        fc.array(fc.integer({ min: 0, max: 8 * MINUTE }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 5 }),
        (timing, missed, waits, limit) => {
          const wanted = spec({ timing, missed, graceMs: MINUTE })
          const first = nextSlot(wanted, T) as number
          const fired: number[] = []
          const required = new Set<number>()
          let next: number | null = first
          let now = T
          for (const wait of waits) {
            now += wait
            // What is within the grace at the first look has to get its job, whatever the policy.
            for (const slot of slotsBetween(
              wanted,
              Math.max((next as number) - 1, now - MINUTE - 1),
              now,
              1_000,
            ))
              required.add(slot)
            while (next !== null && next <= now) {
              const seen = lookAt(wanted, next, now, limit)
              fired.push(...seen.slots)
              expect(seen.nextAt).toBeGreaterThan(next)
              next = seen.nextAt
            }
          }
          const all = slotsBetween(wanted, T, now, 1_000)
          expect(fired).toEqual([...new Set(fired)].toSorted((a, b) => a - b))
          const known = new Set(all)
          const made = new Set(fired)
          expect(fired.filter((slot) => !known.has(slot))).toEqual([])
          expect([...required].filter((slot) => !made.has(slot))).toEqual([])
          if (missed === 'all') expect(fired).toEqual(all)
        },
      ),
      { seed: 1, numRuns: 60 },
    )
  })
})

describe('a look at an interval from the last run', () => {
  const wanted = spec({ timing: { kind: 'every', ms: MINUTE, from: 'last-run' } })

  it('makes a job when the last one has ended long enough ago, or is gone', () => {
    const now = T + 5
    const fires = { slots: [T], nextAt: now + MINUTE, skipped: 0 }
    expect(lookAfterRun(wanted, T, now, null)).toEqual(fires)
    expect(lookAfterRun(wanted, T, now, { state: 'done', finishedAt: now - MINUTE })).toEqual(fires)
    expect(lookAfterRun(wanted, T, now, { state: 'dead', finishedAt: 0 })).toEqual(fires)
  })

  it('waits for the end of a job that is under way, and counts from there', () => {
    expect(lookAfterRun(wanted, T, T + 5, { state: 'running', finishedAt: null })).toEqual({
      slots: [],
      nextAt: T + 5 + MINUTE,
      skipped: 0,
    })
    expect(lookAfterRun(wanted, T, T + 5, { state: 'done', finishedAt: T - 1 })).toEqual({
      slots: [],
      nextAt: T - 1 + MINUTE,
      skipped: 0,
    })
  })
})

describe('the job of a slot', () => {
  const nightly = { space: 'acme', id: 'nightly' }
  const made = { payload: '{"a":1}', unique: null, lane: null, cost: 1 }

  it('tells its schedule and slot in its headers, beside those of the user', () => {
    const wanted = spec({
      job: { ...spec().job, headers: '{"trace":"7"}', priority: 3, overrides: '{"keepMs":1}' },
    })
    const job = slotJob(nightly, wanted, T, made)
    expect(JSON.parse(job.headers as string)).toEqual({
      trace: '7',
      'skep-schedule': 'nightly',
      'skep-slot': new Date(T).toISOString(),
    })
    expect(job).toMatchObject({
      space: 'acme',
      queue: 'q',
      payload: '{"a":1}',
      priority: 3,
      runAt: null,
      delayMs: 0,
    })
  })

  it('has an id that follows from schedule and slot, and differs for every other', () => {
    const ids = new Set<string>()
    for (const space of ['a', 'b'])
      for (let n = 0; n < 2_000; n++)
        for (const slot of [T, T + 1]) ids.add(slotJobId({ space, id: `s${n}` }, slot))
    expect(ids.size).toBe(8_000)
    expect(slotJobId(nightly, T)).toBe(slotJobId({ ...nightly }, T))
    expect(slotJobId(nightly, T)).toMatch(/^01a3185c-5000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('is spread over the jitter, always alike for the same slot, and never before it', () => {
    const offsets = Array.from({ length: 2_000 }, (_, n) => jitterOf({ space: 's', id: `n${n}` }, T, 999))
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...offsets)).toBeLessThanOrEqual(999)
    // Each tenth of the span gets its share.
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = offsets.filter((offset) => Math.floor(offset / 100) === tenth).length
      expect(share).toBeGreaterThan(120)
      expect(share).toBeLessThan(280)
    }
    const jittered = slotJob(nightly, spec({ jitterMs: 5_000 }), T, made)
    expect(jittered.runAt).toBe(T + jitterOf(nightly, T, 5_000))
    expect(slotJob(nightly, spec({ jitterMs: 5_000 }), T, made)).toEqual(jittered)
  })
})

describe('a specification', () => {
  it('has one text, whatever the order in which it was written down', () => {
    const { job, timing, ...rest } = spec()
    const reordered = { job: { ...job, queue: job.queue }, ...rest, timing } as ScheduleSpec
    expect(encodeSpec(reordered)).toBe(encodeSpec(spec()))
    expect(decodeSpec({ id: 'x', spec: encodeSpec(spec()) })).toEqual(spec())
  })

  it.each(['', 'null', '{}', '[]', '{"timing":{}}'])('that cannot be read is told by name: %s', (text) => {
    expect(() => decodeSpec({ id: 'broken', spec: text })).toThrow(/"broken"/)
  })

  it('keeps its slots when something else is changed', () => {
    const cron = { kind: 'cron', cron: '0 3 * * *', timeZone: 'UTC' } as const
    expect(
      hasSameSlots(spec(), spec({ missed: 'all', jitterMs: 4, job: { ...spec().job, payload: '2' } })),
    ).toBe(true)
    expect(hasSameSlots(spec(), spec({ timing: cron }))).toBe(false)
    expect(hasSameSlots(spec({ timing: cron }), spec({ timing: { ...cron, timeZone: 'Europe/Rome' } }))).toBe(
      false,
    )
    expect(hasSameSlots(spec(), spec({ startAt: 5 }))).toBe(false)
    expect(hasSameSlots(spec(), spec({ endAt: 5 }))).toBe(false)
  })
})
