import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Duration } from '../../src/core/duration.ts'
import type { Counters, Failure } from '../../src/core/jobs/job.ts'
import { LIMITS } from '../../src/core/limits.ts'
import {
  archive,
  type Backoff,
  backoffMs,
  buried,
  DEFAULT_POLICY,
  discard,
  type Ending,
  exponential,
  fixed,
  judge,
  never,
  type Outcome,
  type Policy,
  retry,
} from '../../src/core/policies/policy.ts'

const DAY = 86_400_000
const NONE: Counters = { starts: 1, errors: 0, timeouts: 0, lost: 0, snoozes: 0 }
const failure: Failure = { kind: 'error', message: 'boom' }
const TEXT = JSON.stringify(failure)

const policyWith = (part: Partial<Policy>): Policy => ({ ...DEFAULT_POLICY, ...part })

describe('backoff', () => {
  it('is the same every time when it is fixed', () => {
    const waits = [1, 2, 50].map((failures) => backoffMs(fixed('5s'), failures, 0.7))

    expect(waits).toEqual([5_000, 5_000, 5_000])
  })

  it('grows by its factor up to its maximum', () => {
    const backoff = exponential('1s', { factor: 3, max: '1m', jitter: 0 })

    expect([1, 2, 3, 4, 5, 6, 1_000_000].map((failures) => backoffMs(backoff, failures, 0.5))).toEqual([
      1_000, 3_000, 9_000, 27_000, 60_000, 60_000, 60_000,
    ])
  })

  it('doubles, up to an hour, spread by a fifth, when nothing is said', () => {
    expect(exponential('1s')).toEqual({
      kind: 'exponential',
      ms: 1_000,
      factor: 2,
      maxMs: 3_600_000,
      jitter: 0.2,
    })
  })

  it('keeps a first wait of more than an hour when no maximum is given', () => {
    const backoff = exponential('2h', { jitter: 0 })

    expect([1, 2].map((failures) => backoffMs(backoff, failures, 0.5))).toEqual([7_200_000, 7_200_000])
  })

  const anyBackoff = fc.oneof(
    fc
      .record({ ms: fc.nat(1e9), jitter: fc.double({ min: 0, max: 1, noNaN: true }) })
      .map(({ ms, jitter }): Backoff => fixed(ms, { jitter })),
    fc
      .record({
        ms: fc.nat(1e9),
        factor: fc.double({ min: 1, max: 100, noNaN: true }),
        longer: fc.nat(1e12),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      })
      .map(({ ms, longer, ...options }): Backoff => exponential(ms, { ...options, max: ms + longer })),
  )
  const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })

  it('is a whole number of milliseconds within its spread, for any number of failures', () => {
    fc.assert(
      fc.property(anyBackoff, fc.integer({ min: 1, max: 2_000_000 }), chance, (backoff, failures, random) => {
        const wait = backoffMs(backoff, failures, random)

        const top = backoff.kind === 'fixed' ? backoff.ms : Math.max(backoff.maxMs, 0)
        expect(Number.isSafeInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(Math.min(LIMITS.delayMs, Math.ceil(top * (1 + backoff.jitter))))
      }),
    )
  })

  it('never shrinks from one failure to the next, but for its spread', () => {
    fc.assert(
      fc.property(anyBackoff, fc.integer({ min: 1, max: 5_000 }), (backoff, failures) => {
        expect(backoffMs(backoff, failures + 1, 0.5)).toBeGreaterThanOrEqual(
          backoffMs(backoff, failures, 0.5),
        )
      }),
    )
  })

  it('is a number even after thousands of failures without any wait', () => {
    expect(backoffMs(exponential(0), 5_000, 0.5)).toBe(0)
  })

  it('spreads to both sides alike', () => {
    const backoff = fixed('100s', { jitter: 0.25 })

    expect([0, 0.5, 1 - 1e-9].map((random) => backoffMs(backoff, 1, random))).toEqual([
      75_000, 100_000, 125_000,
    ])
  })

  it.each([
    [() => exponential('1s', { factor: 0.5 }), 'OPTION_INVALID'],
    [() => exponential('1s', { factor: Number.NaN }), 'OPTION_INVALID'],
    [() => exponential('1s', { factor: 101 }), 'OPTION_INVALID'],
    [() => exponential('1s', { jitter: 1.1 }), 'OPTION_INVALID'],
    [() => exponential('1s', { jitter: -0.1 }), 'OPTION_INVALID'],
    [() => fixed('1s', { jitter: Number.NaN }), 'OPTION_INVALID'],
    [() => fixed('soon' as Duration), 'DURATION_INVALID'],
    [() => exponential('1s', { max: 'never' as Duration }), 'DURATION_INVALID'],
    [() => retry(-1), 'OPTION_INVALID'],
    [() => retry(1.5), 'OPTION_INVALID'],
    [() => retry(Number.NaN), 'OPTION_INVALID'],
    [() => retry(1_000_001), 'OPTION_INVALID'],
    [() => retry('5' as never), 'OPTION_INVALID'],
    [() => retry(Symbol('5') as never), 'OPTION_INVALID'],
    [() => exponential('1s', { factor: '2' as never }), 'OPTION_INVALID'],
    [() => exponential('1s', { jitter: '0.5' as never }), 'OPTION_INVALID'],
    [() => exponential('1s', { jitter: null as never }), 'OPTION_INVALID'],
    [() => exponential('x' as Duration), 'DURATION_INVALID'],
    [() => exponential('2h', { max: '1m' }), 'OPTION_INVALID'],
    [() => fixed(1e300), 'OPTION_INVALID'],
    [() => exponential(1e300), 'OPTION_INVALID'],
    [() => exponential('1s', { max: 1e300 }), 'OPTION_INVALID'],
    [() => archive(1e300), 'OPTION_INVALID'],
    [() => retry(1, '5s' as never), 'OPTION_INVALID'],
    [() => retry(1, { kind: 'fixd', ms: 1, jitter: 0 } as never), 'OPTION_INVALID'],
    [() => retry(1, { kind: 'fixed', ms: '1s', jitter: 0 } as never), 'OPTION_INVALID'],
    [() => retry(1, { kind: 'fixed', ms: 1 } as never), 'OPTION_INVALID'],
    [() => retry(1, { kind: 'exponential', ms: 1, jitter: 0 } as never), 'OPTION_INVALID'],
    [() => retry(1, fixed(0), { ending: 'bury' as never }), 'OPTION_INVALID'],
    [() => retry(1, fixed(0), { ending: buried as never }), 'OPTION_INVALID'],
    [() => retry(1, fixed(0), { ending: { end: 'burry', keepMs: 1 } as never }), 'OPTION_INVALID'],
    [() => never('bury' as never), 'OPTION_INVALID'],
    [() => never(retry(1) as never), 'OPTION_INVALID'],
    [() => archive(-1), 'DURATION_INVALID'],
    [() => buried(Infinity), 'DURATION_INVALID'],
  ])('refuses what makes no sense: %s', (make, code) => {
    expect(make).toThrow(expect.objectContaining({ code }))
  })
})

describe('the verdict', () => {
  it('archives a success with its result', () => {
    const verdict = judge(
      policyWith({ onSuccess: archive('1h') }),
      NONE,
      { kind: 'success', result: '1' },
      0.5,
    )

    expect(verdict).toEqual({
      to: 'done',
      keepMs: 3_600_000,
      delayMs: 0,
      count: null,
      refund: false,
      keepPlace: false,
      keepCancelledMs: DEFAULT_POLICY.keepCancelledMs,
      result: '1',
      failure: null,
    })
  })

  it('removes a success at once when told to', () => {
    const verdict = judge(policyWith({ onSuccess: discard() }), NONE, { kind: 'success', result: null }, 0.5)

    expect([verdict.to, verdict.keepMs]).toEqual(['done', null])
  })

  const kinds = [
    ['error', 'onError', 'errors'],
    ['timeout', 'onTimeout', 'timeouts'],
    ['lost', 'onLost', 'lost'],
  ] as const

  describe.each(kinds)('on %s', (kind, option, counter) => {
    const outcome: Outcome = { kind, failure }

    it('tries again as often as its own budget allows, then ends', () => {
      const policy = policyWith({ [option]: retry(2, fixed('10s')) })

      const seen = [0, 1, 2, 3].map((count) => judge(policy, { ...NONE, [counter]: count }, outcome, 0.5))

      expect(seen.map(({ to, delayMs, count }) => [to, delayMs, count])).toEqual([
        ['delayed', 10_000, counter],
        ['delayed', 10_000, counter],
        ['dead', 0, counter],
        ['dead', 0, counter],
      ])
      expect(seen.map((verdict) => verdict.failure)).toEqual([TEXT, TEXT, TEXT, TEXT])
    })

    it('does not look at the other budgets', () => {
      const spent: Counters = { starts: 99, errors: 99, timeouts: 99, lost: 99, snoozes: 99, [counter]: 0 }
      const policy = policyWith({ [option]: retry(1, fixed('1s')) })

      expect(judge(policy, spent, outcome, 0.5).to).toBe('delayed')
    })

    it.each([
      [buried('2d'), 'dead', 2 * DAY],
      [archive('1h'), 'failed', 3_600_000],
      [discard(), 'failed', null],
    ] as [Ending, string, number | null][])('ends as the policy says: %o', (ending, to, keepMs) => {
      const verdict = judge(policyWith({ [option]: never(ending) }), NONE, outcome, 0.5)

      expect([verdict.to, verdict.keepMs, verdict.count]).toEqual([to, keepMs, counter])
    })

    it('runs again at once when there is no wait', () => {
      const verdict = judge(policyWith({ [option]: retry(1, fixed(0)) }), NONE, outcome, 0.5)

      expect([verdict.to, verdict.delayMs, verdict.keepPlace]).toEqual(['ready', 0, false])
    })

    it('never ends when it may try for ever', () => {
      const policy = policyWith({ [option]: retry(Infinity, exponential('1s', { max: '1m', jitter: 0 })) })

      const verdict = judge(policy, { ...NONE, [counter]: 1_000_000 }, outcome, 0.5)

      expect([verdict.to, verdict.delayMs]).toEqual(['delayed', 60_000])
      expect(JSON.parse(JSON.stringify(policy))).toEqual(policy)
    })

    it('waits longer with each failure of its own kind', () => {
      const policy = policyWith({ [option]: retry(9, exponential('1s', { jitter: 0 })) })

      const waits = [0, 1, 2, 3].map(
        (count) => judge(policy, { ...NONE, [counter]: count }, outcome, 0.5).delayMs,
      )

      expect(waits).toEqual([1_000, 2_000, 4_000, 8_000])
    })
  })

  it('delays a snooze and counts nothing else', () => {
    const verdict = judge(DEFAULT_POLICY, NONE, { kind: 'snooze', delayMs: 5_000, failure: null }, 0.5)

    expect([verdict.to, verdict.delayMs, verdict.count, verdict.failure, verdict.refund]).toEqual([
      'delayed',
      5_000,
      'snoozes',
      null,
      false,
    ])
  })

  it('snoozes as often as a handler likes', () => {
    const verdict = judge(
      policyWith({ onError: never() }),
      { ...NONE, snoozes: 1_000_000 },
      { kind: 'snooze', delayMs: 0, failure },
      0.5,
    )

    expect([verdict.to, verdict.count, verdict.failure]).toEqual(['ready', 'snoozes', TEXT])
  })

  it('cancels and keeps the job as long as cancelled ones are kept', () => {
    const policy = policyWith({ keepCancelledMs: 7 })
    const verdict = judge(policy, NONE, { kind: 'cancel', failure }, 0.5)

    expect([verdict.to, verdict.keepMs, verdict.count, verdict.failure]).toEqual(['cancelled', 7, null, TEXT])
  })

  it.each([
    [buried('2d'), 2 * DAY],
    [archive('1h'), 30 * DAY],
    [discard(), 30 * DAY],
  ] as [Ending, number][])('buries for a person to see, whatever ends an error: %o', (ending, keepMs) => {
    const verdict = judge(
      policyWith({ onError: retry(5, fixed(0), { ending }) }),
      NONE,
      { kind: 'bury', failure },
      0.5,
    )

    expect([verdict.to, verdict.keepMs, verdict.count, verdict.failure]).toEqual(['dead', keepMs, null, TEXT])
  })

  it('hands a job back to its place, and gives the start back if its handler was not called', () => {
    const unrun = judge(DEFAULT_POLICY, NONE, { kind: 'handback', ran: false }, 0.5)
    const ran = judge(DEFAULT_POLICY, NONE, { kind: 'handback', ran: true }, 0.5)

    expect([unrun.to, unrun.keepPlace, unrun.refund, unrun.count]).toEqual(['ready', true, true, null])
    expect([ran.to, ran.keepPlace, ran.refund, ran.count]).toEqual(['ready', true, false, null])
  })

  it('leaves a store nothing to judge, whatever happens', () => {
    const outcome = fc.oneof(
      fc.constantFrom<Outcome>(
        { kind: 'success', result: null },
        { kind: 'error', failure },
        { kind: 'timeout', failure },
        { kind: 'lost', failure },
        { kind: 'cancel', failure },
        { kind: 'bury', failure },
        { kind: 'handback', ran: true },
      ),
      fc.nat(1e9).map((delayMs): Outcome => ({ kind: 'snooze', delayMs, failure: null })),
    )
    const counters = fc.record({
      starts: fc.nat(9),
      errors: fc.nat(9),
      timeouts: fc.nat(9),
      lost: fc.nat(9),
      snoozes: fc.nat(9),
    })
    fc.assert(
      fc.property(
        outcome,
        counters,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (how, counts, random) => {
          const verdict = judge(DEFAULT_POLICY, counts, how, random)

          const waits = verdict.to === 'ready' || verdict.to === 'delayed'
          expect(verdict.to === 'delayed').toBe(verdict.delayMs > 0)
          expect(Number.isSafeInteger(verdict.delayMs)).toBe(true)
          if (waits) expect(verdict.keepMs).toBeNull()
          if (verdict.keepPlace) expect(verdict.to).toBe('ready')
          if (verdict.refund) expect(waits).toBe(true)
          expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict)
        },
      ),
    )
  })
})

describe('the policy of a queue that says nothing', () => {
  it('keeps what is done for three days and the dead for thirty', () => {
    expect(DEFAULT_POLICY.onSuccess).toEqual({ end: 'archive', keepMs: 3 * DAY })
    expect(DEFAULT_POLICY.onError.ending).toEqual({ end: 'bury', keepMs: 30 * DAY })
    expect(DEFAULT_POLICY.keepCancelledMs).toBe(3 * DAY)
  })

  it.each([0, 0.5, 0.999])('outlasts an outage of an hour, whatever chance makes of its waits', (random) => {
    for (const kind of ['error', 'timeout'] as const) {
      let [waitedMs, failures] = [0, 0]
      for (;;) {
        const counts = { ...NONE, [kind === 'error' ? 'errors' : 'timeouts']: failures }
        const { to, delayMs } = judge(DEFAULT_POLICY, counts, { kind, failure }, random)
        if (to === 'dead') break
        // Most failures are over in a moment, so the first retries come soon.
        if (failures === 0) expect(delayMs).toBeLessThanOrEqual(6_000)
        waitedMs += delayMs
        failures++
      }
      expect(waitedMs).toBeGreaterThan((kind === 'error' ? 6 : 2) * 3_600_000)
      expect(waitedMs).toBeLessThan(DAY)
    }
  })

  it('gives a job five more attempts at once when its worker dies', () => {
    expect(DEFAULT_POLICY.onLost.retries).toBe(5)
    expect(judge(DEFAULT_POLICY, NONE, { kind: 'lost', failure }, 0.5).to).toBe('ready')
  })

  it('cannot be changed by accident', () => {
    expect(Object.isFrozen(DEFAULT_POLICY)).toBe(true)
    for (const part of [DEFAULT_POLICY.onSuccess, DEFAULT_POLICY.onError, DEFAULT_POLICY.onError.backoff]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })
})
