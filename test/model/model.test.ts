import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ClaimedJob, Job } from '../../src/core/jobs/job.ts'
import { claimedPart } from '../../src/core/jobs/transitions.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { DEEP, FULL, WIDE } from './bounds.ts'
import { search } from './search.ts'
import * as stores from './store.ts'
import { RULES, type Rules, type Stored } from './store.ts'
import { BEGIN, type Bounds, LEASE_MS, newJob, policyOf, TICK_MS } from './world.ts'

describe('the search of the transitions', () => {
  it('finds nothing wrong with one job in depth', () => {
    const { states, isComplete, violations } = search(DEEP)

    expect(violations).toEqual([])
    expect(isComplete).toBe(true)
    expect(states).toBeGreaterThan(40_000)
  }, 120_000)

  it('finds nothing wrong with two jobs in breadth', () => {
    const { states, isComplete, violations } = search(WIDE)

    expect(violations).toEqual([])
    expect(isComplete).toBe(true)
    expect(states).toBeGreaterThan(40_000)
  }, 120_000)
})

describe('a search with a limit', () => {
  it('stops there and says so', () => {
    const found = search(DEEP, RULES, 1_000)

    expect(found).toMatchObject({ isComplete: false, violations: [] })
    expect(found.states).toBeLessThan(1_100)
  })
})

describe('the search finds, by the shortest way,', () => {
  interface Planted {
    readonly rules: Partial<Rules>
    readonly fault: string
    readonly trace: readonly string[]
    readonly bounds?: Bounds
  }

  const planted: Record<string, Planted> = {
    'a settle that does not look at the token': {
      rules: {
        holder: (job, token, rescue) =>
          job?.state === 'running' ? 'holds' : RULES.holder(job, token, rescue),
      },
      fault: 't2 ended what it does not hold',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: unrun',
        'w0 settles t2 again',
        'the settlement of t2 (unrun) arrives: ready',
        'w0 claims job0, hears nothing',
        'the settlement of t2 (unrun) arrives: ready',
      ],
    },
    'a claim that keeps the old token': {
      rules: {
        claim: (job, lease, now) => ({
          ...RULES.claim(job, lease, now),
          token: job.token ?? lease.token,
        }),
      },
      fault: 'w0 is sure of t2 and has lost it',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: unrun',
        'w0 settles t2 again',
        'the settlement of t2 (unrun) arrives: ready',
        'w0 claims job0 as t3',
        'the settlement of t2 (unrun) arrives: ready, the answer is lost',
      ],
    },
    'a rescue that leaves the token with its old holder': {
      rules: { settle: (job, verdict, now) => RULES.settle(job, verdict, now) },
      fault: 't2 heard ok for what it did not do',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: success',
        'w0 dies and starts again',
        'somebody rescues t2',
        'the rescue of t2 (lost) arrives: ready',
        'the settlement of t2 (success) arrives: ready',
      ],
    },
    'a rescuer that takes the settle of the holder for its own': {
      rules: { holder: (job, token) => RULES.holder(job, token) },
      fault: 't2 heard ok for what it did not do',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: success',
        'w0 dies and starts again',
        'somebody rescues t2',
        'the settlement of t2 (success) arrives: done',
        'the rescue of t2 (lost) arrives: done',
      ],
    },
    'a cancel that is forgotten at the retry': {
      rules: {
        settle: (job, verdict, now, rescue) =>
          RULES.settle({ ...job, cancelReason: null }, verdict, now, rescue),
      },
      fault: 'job0 is delayed after error and should be cancelled',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'job0 is cancelled: requested',
        'w0 settles t2: error',
        'the settlement of t2 (error) arrives: delayed',
      ],
    },
    'a start that is not counted': {
      rules: { claim: (job, lease, now) => ({ ...RULES.claim(job, lease, now), starts: job.starts }) },
      fault: 'job0 is out of shape: it counts its start',
      trace: ['time passes', 'w0 claims job0, hears nothing'],
    },
    'a retry that keeps the token': {
      rules: { retry: (job, now) => ({ ...RULES.retry(job, now), token: job.token }) },
      fault: 't2 heard ok for what it did not do',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: success',
        'w0 settles t2 again',
        'the settlement of t2 (success) arrives: done',
        'job0 is retried',
        'the settlement of t2 (success) arrives: ready',
      ],
    },
    'a retry that keeps the cancel': {
      rules: { retry: (job, now) => ({ ...RULES.retry(job, now), cancelReason: job.cancelReason }) },
      fault: 'job0 forgot its cancel',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'job0 is cancelled: requested',
        'w0 settles t2: success',
        'the settlement of t2 (success) arrives: done',
        'job0 is retried',
        'w0 claims job0, hears nothing',
      ],
    },
    'a try too many': {
      rules: {
        judge: (policy, counters, outcome, random) =>
          RULES.judge(policy, { ...counters, errors: counters.errors - 1 }, outcome, random),
      },
      fault: 'job0 is delayed after error and should be dead',
      trace: [
        'time passes',
        'w0 claims job0 as t2',
        'w0 settles t2: error',
        'the settlement of t2 (error) arrives: delayed',
        'time passes',
        'w0 claims job0 as t3',
        'w0 settles t3: error',
        'the settlement of t3 (error) arrives: delayed',
      ],
    },
    'a claim before the due time': {
      rules: { claimable: (job) => job.state === 'ready' || job.state === 'delayed' },
      fault: 'job0 started early',
      trace: ['w0 claims job0, hears nothing'],
    },
    'a claim of what runs': {
      rules: { claimable: (job, now) => job.state === 'running' || RULES.claimable(job, now) },
      fault: 'job0 has a second lease',
      trace: ['time passes', 'w0 claims job0, hears nothing', 'w0 claims job0, hears nothing'],
    },
    'delayed jobs that never become due': {
      rules: { claimable: (job, now) => job.state === 'ready' && RULES.claimable(job, now) },
      bounds: WIDE,
      fault: 'some job can never end',
      trace: [],
    },
    'a retry of a job that waits': {
      rules: { isPossible: (action, state) => action === 'retry' || RULES.isPossible(action, state) },
      fault: 'job0 was retried while delayed',
      trace: ['job0 is retried'],
    },
  }

  for (const [name, { rules, fault, trace, bounds = FULL }] of Object.entries(planted)) {
    it(name, () => {
      const { violations } = search(bounds, { ...RULES, ...rules })

      expect(violations).toEqual([{ fault, trace }])
    }, 120_000)
  }
})

describe('the store of the search', () => {
  const number = fc.nat(1)
  const token = fc.constantFrom('t0', 't1', 't2', 't3')
  const call = fc.oneof(
    fc.record({ call: fc.constant('insert' as const), number }),
    fc.record({ call: fc.constantFrom('claim' as const, 'reclaim' as const), number, token }),
    fc.record({ call: fc.constant('extend' as const), number, token }),
    fc.record({
      call: fc.constant('settle' as const),
      number,
      token,
      ending: fc.constantFrom('success', 'error', 'lost', 'snooze', 'handback', 'cancel'),
      onlyIfExpired: fc.boolean(),
      rescue: fc.boolean(),
      ran: fc.boolean(),
    }),
    fc.record({ call: fc.constantFrom('cancel' as const, 'retry' as const), number }),
    fc.record({ call: fc.constant('wait' as const), ticks: fc.integer({ min: 1, max: 2 }) }),
  )

  it('does what the memory store does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 40 }), async (calls) => {
        const pair = new Lockstep()
        for (const each of calls) await pair.call(each)
      }),
      { numRuns: 500 },
    )
  }, 60_000)

  /** Both stores, given the same calls. */
  class Lockstep {
    readonly #memory = memoryStore()
    #model: Stored = { jobs: [null, null], discarded: [null, null] }
    #now = BEGIN

    async call(each: typeof call extends fc.Arbitrary<infer Call> ? Call : never): Promise<void> {
      if (each.call === 'wait') {
        this.#now += each.ticks * TICK_MS
        return
      }
      const [expected, answer] = await this.#both(each)
      expect(answer, each.call).toEqual(expected)
      const ids = ['job0', 'job1']
      const { jobs } = await this.#memory.get({ space: 'default', ids })
      expect(this.#model.jobs, each.call).toEqual(jobs)
    }

    async #both(
      each: Exclude<Parameters<Lockstep['call']>[0], { call: 'wait' }>,
    ): Promise<[expected: unknown, answer: unknown]> {
      const now = this.#now
      const { number } = each
      const id = `job${number}`
      switch (each.call) {
        case 'insert': {
          await this.#memory.insert({ jobs: [newJob(number)], again: true, now })
          this.#model = stores.insert(RULES, this.#model, number, newJob(number), now)
          return [null, null]
        }
        case 'claim': {
          const lease = { workerId: 'w', token: each.token, leaseMs: LEASE_MS }
          const sources = [{ space: 'default', queue: 'model', limit: 1 }]
          const { jobs } = await this.#memory.claim({ sources, limit: 1, ids: [id], now, ...lease })
          const before = this.#model
          this.#model = stores.claim(RULES, before, number, lease, now)
          return [jobs.length > 0, this.#model !== before]
        }
        case 'reclaim': {
          const lease = { workerId: 'w', token: each.token, leaseMs: LEASE_MS }
          const sources = [{ space: 'default', queue: 'model', limit: 2 }]
          const { jobs } = await this.#memory.claim({ sources, limit: 2, again: true, now, ...lease })
          const before = this.#model
          for (const each of [0, 1]) this.#model = stores.claimAgain(RULES, this.#model, each, lease, now)
          return [jobs.length > 0, this.#model !== before]
        }
        case 'extend': {
          const leases = [{ space: 'default', id, token: each.token }]
          const { results } = await this.#memory.extend({ leases, leaseMs: LEASE_MS, now })
          const extended = stores.extend(RULES, this.#model, number, each.token, LEASE_MS, now)
          this.#model = extended.store
          return [results[0]?.status === 'ok', extended.holds]
        }
        case 'settle': {
          const { token, onlyIfExpired, rescue } = each
          const verdict = RULES.judge(policyOf(number, DEEP), this.#claimed(number), outcomeOf(each), 0)
          const settlements = [{ space: 'default', id, token, verdict, onlyIfExpired, rescue }]
          const { results } = await this.#memory.settle({ settlements, now })
          const settling = { job: number, token, verdict, onlyIfExpired, rescue }
          const settled = stores.settle(RULES, this.#model, settling, now)
          this.#model = settled.store
          return [results[0], settled.answer]
        }
        default: {
          const { results } = await this.#memory.change({
            action: each.call,
            space: 'default',
            target: { ids: [id] },
            failure: stores.CANCEL,
            keepMs: 5,
            now,
          })
          const changed = stores.change(RULES, this.#model, number, each.call, 5, now)
          this.#model = changed.store
          return [results[0]?.status, changed.status]
        }
      }
    }

    #claimed(number: number): ClaimedJob {
      const job = this.#model.jobs[number] ?? RULES.create(newJob(number), this.#now)
      return claimedPart(job as Job)
    }
  }

  function outcomeOf({ ending, ran }: { ending: string; ran: boolean }): Parameters<Rules['judge']>[2] {
    switch (ending) {
      case 'success':
        return { kind: 'success', result: '1' }
      case 'snooze':
        return { kind: 'snooze', delayMs: TICK_MS, failure: null }
      case 'handback':
        return { kind: 'handback', ran }
      default: {
        const kind = ending as 'error' | 'lost' | 'cancel'
        return { kind, failure: { kind, message: '' } }
      }
    }
  }
})
