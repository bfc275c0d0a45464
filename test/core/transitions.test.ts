import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFinal, JOB_STATES, type Job, type NewJob, PRIORITY_STEP_MS } from '../../src/core/jobs/job.ts'
import {
  type ChangeAction,
  cancelFailure,
  claim,
  claimable,
  claimedPart,
  collide,
  create,
  extend,
  finish,
  holder,
  isPossible,
  keptToken,
  listKey,
  POSSIBLE,
  promote,
  retry,
  settle,
  timeOf,
} from '../../src/core/jobs/transitions.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { shapeFaults } from '../../src/testing/invariants.ts'

const NOW = 1_800_000_000_000

// ---- Any job that can come about: a random life of moves, each of which is allowed at that point ----

const newJob: fc.Arbitrary<NewJob> = fc.record({
  id: fc.uuid({ version: 7 }),
  space: fc.constant('acme'),
  queue: fc.constant('mail'),
  payload: fc.json(),
  headers: fc.constantFrom(null, '{"a":"b"}'),
  priority: fc.integer({ min: -100, max: 100 }),
  delayMs: fc.oneof(fc.constant(0), fc.nat(1e9)),
  runAt: fc.option(fc.integer({ min: NOW - 1e9, max: NOW + 1e9 })),
  unique: fc.option(
    fc.record({
      key: fc.constantFrom('a', 'b'),
      scope: fc.constantFrom('queued', 'active', 'window'),
      windowMs: fc.nat(1_000),
      onConflict: fc.constantFrom('ignore', 'replace', 'postpone'),
    }),
  ),
  overrides: fc.constant(null),
  lane: fc.constantFrom(null, 'a', 'b'),
  strict: fc.boolean(),
  cost: fc.integer({ min: 1, max: 9 }),
  member: fc.constant(null),
})

const verdict: fc.Arbitrary<Verdict> = fc.record({
  to: fc.constantFrom('done', 'failed', 'dead', 'cancelled', 'ready', 'delayed'),
  keepMs: fc.option(fc.nat(1e9)),
  delayMs: fc.integer({ min: 1, max: 1e9 }),
  count: fc.constantFrom('errors', 'timeouts', 'lost', 'snoozes', null),
  refund: fc.boolean(),
  keepPlace: fc.boolean(),
  keepCancelledMs: fc.nat(1e9),
  result: fc.option(fc.json()),
  failure: fc.option(fc.constant('{"kind":"error","message":"x"}')),
})

const move = fc.record({
  passMs: fc.nat(1e6),
  verdict,
  incoming: newJob,
  action: fc.constantFrom<ChangeAction>('cancel', 'bury', 'retry', 'promote'),
  pick: fc.nat(3),
})

interface Life {
  readonly jobs: readonly Job[]
  readonly now: number
}

const life: fc.Arbitrary<Life> = fc
  .tuple(newJob, fc.array(move, { maxLength: 12 }))
  .map(([first, moves]): Life => {
    let now = NOW
    let job: Job = create(first, now)
    const jobs = [job]
    for (const { passMs, verdict: said, incoming, action, pick } of moves) {
      now += passMs
      const next = step(job, now, { said, incoming, action, pick })
      if (!next) break
      job = next
      jobs.push(job)
    }
    return { jobs, now }
  })

function step(
  job: Job,
  now: number,
  { said, incoming, action, pick }: { said: Verdict; incoming: NewJob; action: ChangeAction; pick: number },
): Job | null {
  if (job.state === 'running') {
    if (pick === 0) return extend(job, 1_000, now)
    if (pick === 1) return { ...job, cancelReason: 'stop' }
    return settle(job, said, now)
  }
  if (pick === 0 && isPossible(action, job.state)) {
    if (action === 'retry') return retry(job, now)
    if (action === 'promote') return { ...promote(job), dueAt: now }
    const to = action === 'cancel' ? 'cancelled' : 'dead'
    return finish(job, to, null, 1_000, now)
  }
  if (pick === 1) return collide(job, incoming, now) ?? job
  if (claimable(job, now)) return claim(job, { workerId: 'w', token: `t${now}`, leaseMs: 1_000 }, now)
  return job
}

const lastOf = ({ jobs }: Life): Job => jobs.at(-1) as Job

describe('every move', () => {
  it('leaves a job in a sound shape', () => {
    fc.assert(
      fc.property(life, ({ jobs, now }) => {
        for (const job of jobs) expect(shapeFaults(job, now)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('never changes what a job is', () => {
    fc.assert(
      fc.property(life, ({ jobs }) => {
        for (const { id, space, queue, enqueuedAt, uniqueKey, uniqueScope } of jobs) {
          expect({ id, space, queue, enqueuedAt, uniqueKey, uniqueScope }).toEqual({
            id: jobs[0]?.id,
            space: jobs[0]?.space,
            queue: jobs[0]?.queue,
            enqueuedAt: jobs[0]?.enqueuedAt,
            uniqueKey: jobs[0]?.uniqueKey,
            uniqueScope: jobs[0]?.uniqueScope,
          })
        }
      }),
    )
  })

  it('counts upwards within a generation, but for a start that is given back', () => {
    fc.assert(
      fc.property(life, ({ jobs }) => {
        for (const [n, job] of jobs.slice(1).entries()) {
          const before = jobs[n] as Job
          if (job.generation !== before.generation) {
            expect([job.generation, job.starts, job.errors, job.timeouts, job.lost, job.snoozes]).toEqual([
              before.generation + 1,
              0,
              0,
              0,
              0,
              0,
            ])
            continue
          }
          expect(job.starts).toBeGreaterThanOrEqual(before.starts - (before.state === 'running' ? 1 : 0))
          // An enqueue with its key has given it another payload, and with it a new budget.
          const waited = before.state === 'ready' || before.state === 'delayed'
          if (waited && job.errors + job.timeouts + job.lost + job.snoozes === 0) continue
          for (const counter of ['errors', 'timeouts', 'lost', 'snoozes'] as const) {
            expect(job[counter] - before[counter]).toBeGreaterThanOrEqual(0)
            expect(job[counter] - before[counter]).toBeLessThanOrEqual(1)
          }
        }
      }),
    )
  })

  it('leaves the job it began with untouched', () => {
    fc.assert(
      fc.property(life, verdict, (lived, said) => {
        const job = Object.freeze({ ...lastOf(lived) })
        const lease = { workerId: 'w', token: 't', leaseMs: 1 }

        claim(job, lease, lived.now)
        settle(job, said, lived.now)
        retry(job, lived.now)
        promote(job)
        extend(job, 1, lived.now)
      }),
    )
  })
})

describe('a new job', () => {
  it('is due at the later of its delay and its moment, and never in the past', () => {
    fc.assert(
      fc.property(newJob, (job) => {
        const { dueAt, state } = create(job, NOW)

        expect(dueAt).toBe(Math.max(NOW + job.delayMs, job.runAt ?? 0, NOW))
        expect(state).toBe(dueAt > NOW ? 'delayed' : 'ready')
      }),
    )
  })
})

describe('claiming', () => {
  it('is possible for waiting jobs that are due, and for no other', () => {
    fc.assert(
      fc.property(life, fc.nat(1e9), (lived, later) => {
        const job = lastOf(lived)
        const waits = job.state === 'ready' || job.state === 'delayed'
        expect(claimable(job, lived.now + later)).toBe(waits && job.dueAt <= lived.now + later)
      }),
    )
  })

  it('gives the worker its part of the job and nothing of others’ business', () => {
    const job = claim(create(sample(), NOW), { workerId: 'w', token: 't', leaseMs: 5 }, NOW)

    const part = claimedPart(job)

    expect(part).toMatchObject({ id: job.id, token: 't', starts: 1, payload: job.payload })
    for (const [key, value] of Object.entries(part)) expect(value).toEqual(job[key as keyof Job])
    expect(Object.keys(part)).not.toContain('worker')
    expect(Object.keys(part)).not.toContain('uniqueKey')
  })
})

describe('the holder of a lease', () => {
  it('is told apart from those who were, and those who never were', () => {
    const held = claim(create(sample(), NOW), { workerId: 'w', token: 't', leaseMs: 5 }, NOW)
    const done = settle(held, say('done'), NOW) as Job
    const retried = settle(held, say('ready'), NOW) as Job

    expect([undefined, held, done, retried, retry(done, NOW)].map((job) => holder(job, 't'))).toEqual([
      'gone',
      'holds',
      'settled',
      'settled',
      'lost',
    ])
    expect([held, done, retried].map((job) => holder(job, 'other'))).toEqual(['lost', 'gone', 'lost'])
  })

  it('is not the rescuer, to whom nothing is a repetition, and after whom the token is nobody’s', () => {
    const held = claim(create(sample(), NOW), { workerId: 'w', token: 't', leaseMs: 5 }, NOW)
    const settled = [settle(held, say('done'), NOW), settle(held, say('ready'), NOW)] as Job[]
    const rescued = [settle(held, say('dead'), NOW, null), settle(held, say('ready'), NOW, null)] as Job[]

    expect(holder(held, 't', null)).toBe('holds')
    expect(settled.map((job) => holder(job, 't', null))).toEqual(['gone', 'lost'])
    expect(rescued.map((job) => holder(job, 't'))).toEqual(['gone', 'lost'])
    expect(rescued.map((job) => holder(job, 't', null))).toEqual(['gone', 'lost'])
    expect(rescued.map(({ token, worker }) => [token, worker])).toEqual(Array(2).fill([null, 'w']))
  })

  it('is a rescuer with a repeat token, whose end is known again while the old token and other ends are refused', () => {
    const held = claim(create(sample(), NOW), { workerId: 'w', token: 't', leaseMs: 5 }, NOW)
    const kept = keptToken({ token: 't', rescue: true, repeatToken: 'end' })
    const ended = [settle(held, say('done'), NOW, kept), settle(held, say('ready'), NOW, kept)] as Job[]
    const again = claim(ended[1] as Job, { workerId: 'v', token: 'u', leaseMs: 5 }, NOW)

    expect(holder(held, 't', kept)).toBe('holds')
    expect(ended.map((job) => holder(job, 't', kept))).toEqual(['settled', 'settled'])
    expect(ended.map((job) => holder(job, 't'))).toEqual(['gone', 'lost'])
    expect(ended.map((job) => holder(job, 't', 'other'))).toEqual(['gone', 'lost'])
    expect(holder(again, 't', kept)).toBe('lost')
  })

  it('holds exactly while the job runs under its token', () => {
    fc.assert(
      fc.property(life, (lived) => {
        const job = lastOf(lived)
        expect(holder(job, job.token ?? 'none') === 'holds').toBe(job.state === 'running')
      }),
    )
  })
})

describe('settling', () => {
  it('goes where the verdict says, unless the job was asked to stop and would wait', () => {
    fc.assert(
      fc.property(newJob, verdict, fc.option(fc.string()), (fresh, said, cancelReason) => {
        const held = {
          ...claim(create({ ...fresh, delayMs: 0, runAt: null }, NOW), lease, NOW),
          cancelReason,
        }

        const ended = settle(held, said, NOW + 5)

        const waits = said.to === 'ready' || said.to === 'delayed'
        const to = waits && cancelReason !== null ? 'cancelled' : said.to
        const keepMs = waits && cancelReason !== null ? said.keepCancelledMs : said.keepMs
        if (ended === null) {
          expect([isFinal(to), keepMs]).toEqual([true, null])
          return
        }
        expect(ended.state).toBe(to)
        if (isFinal(to))
          expect([ended.finishedAt, ended.expiresAt]).toEqual([NOW + 5, NOW + 5 + (keepMs ?? 0)])
        if (to === 'delayed') expect(ended.dueAt).toBe(NOW + 5 + said.delayMs)
        if (to === 'ready') expect(ended.dueAt).toBe(said.keepPlace ? held.dueAt : NOW + 5)
        expect(ended.starts).toBe(said.refund ? 0 : 1)
      }),
    )
  })

  it('writes the reason of a cancelled job as its failure', () => {
    const held = { ...claim(create(sample(), NOW), lease, NOW), cancelReason: 'a "reason"\n' }

    const ended = settle(held, { ...say('ready'), failure: '{"kind":"error","message":"x"}' }, NOW)

    expect(ended?.failure).toBe(cancelFailure('a "reason"\n'))
    expect(JSON.parse(ended?.failure ?? '')).toEqual({ kind: 'cancel', message: 'a "reason"\n' })
  })
})

describe('a conflict of unique keys', () => {
  it('changes waiting jobs only, never their identity or key, and gives them a new budget', () => {
    fc.assert(
      fc.property(life, newJob, (lived, incoming) => {
        const job = lastOf(lived)

        const changed = collide(job, incoming, lived.now)

        const how = incoming.unique?.onConflict ?? 'ignore'
        const waits = job.state === 'ready' || job.state === 'delayed'
        expect(changed !== null).toBe(waits && how !== 'ignore')
        if (!changed) return
        const { payload, headers, priority, overrides } = incoming
        const timed = how === 'replace' || incoming.delayMs > 0 || incoming.runAt !== null
        const { dueAt, state } = timed ? create(incoming, lived.now) : job
        const budget = { errors: 0, timeouts: 0, lost: 0, snoozes: 0, failure: null }
        expect(changed).toEqual({ ...job, payload, headers, priority, overrides, dueAt, state, ...budget })
      }),
    )
  })
})

describe('what people may do', () => {
  it('is exactly this', () => {
    expect(POSSIBLE).toEqual({
      cancel: ['delayed', 'ready', 'running'],
      bury: ['delayed', 'ready'],
      retry: ['done', 'failed', 'dead', 'cancelled'],
      promote: ['delayed'],
      remove: ['delayed', 'ready', 'done', 'failed', 'dead', 'cancelled'],
      prioritize: ['delayed', 'ready'],
      reschedule: ['delayed', 'ready'],
    })
  })

  it('never ends a running job: only its holder and its rescuer do', () => {
    const ending = (['bury', 'retry', 'promote', 'remove', 'prioritize'] as const).filter((action) =>
      isPossible(action, 'running'),
    )

    expect(ending).toEqual([])
  })
})

describe('lists', () => {
  it('have a key and a time for a job in every state', () => {
    fc.assert(
      fc.property(life, (lived) => {
        const job = lastOf(lived)
        expect(Number.isSafeInteger(listKey(job))).toBe(true)
        expect(Number.isSafeInteger(timeOf(job))).toBe(true)
        expect(JOB_STATES).toContain(job.state)
      }),
    )
  })

  it('tell the due time of a ready job apart from its rank', () => {
    const job = create(sample({ priority: 5 }), NOW)

    expect([timeOf(job), listKey(job)]).toEqual([NOW, NOW - 5 * PRIORITY_STEP_MS])
  })
})

const lease = { workerId: 'w', token: 't', leaseMs: 1_000 }

function sample(difference: Partial<NewJob> = {}): NewJob {
  return {
    id: '01a31c50-0000-7000-8000-000000000001',
    space: 'acme',
    queue: 'mail',
    payload: '{}',
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
    ...difference,
  }
}

function say(to: Verdict['to']): Verdict {
  return {
    to,
    keepMs: 1_000,
    delayMs: 1_000,
    count: null,
    refund: false,
    keepPlace: false,
    keepCancelledMs: 1_000,
    result: null,
    failure: null,
  }
}
