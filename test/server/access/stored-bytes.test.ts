import { JOB_STATES, type JobState } from 'skep'
import { type VirtualRuntime, virtualRuntime } from 'skep/testing'
import { describe, expect, it } from 'vitest'
import type { Weighable } from '../../../src/operations/services.ts'
import { Ledger, Pace } from '../../../src/server/quotas/storage-usage.ts'
import { desk } from './desk.ts'

const NONE = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>

/** A space whose jobs have 100 bytes each, and whose store takes its time for a page that has jobs. */
class FakeSpace implements Weighable {
  states: Record<JobState, number> = { ...NONE }
  bytesOfJob = 100
  pageMs = 0
  /** Called before each page. */
  onPage: () => void = () => {}
  pages = 0
  jobsWeighed = 0
  isBroken = false
  readonly #runtime: VirtualRuntime

  constructor(runtime: VirtualRuntime, states: Partial<Record<JobState, number>> = {}) {
    this.#runtime = runtime
    this.states = { ...NONE, ...states }
  }

  async counts(): ReturnType<Weighable['counts']> {
    return [{ ...this.states, queue: 'mail', oldestMs: null, unhandled: 0, hold: null, holds: [] }]
  }

  async weigh({
    state,
    limit = 500,
    cursor,
  }: Parameters<Weighable['weigh']>[0]): ReturnType<Weighable['weigh']> {
    this.onPage()
    this.pages += 1
    const from = Number(cursor ?? 0)
    const hasJobs = this.states[state] > from
    if (this.pageMs > 0 && hasJobs) {
      await new Promise<void>((resolve) => this.#runtime.timer(this.pageMs, resolve))
    }
    if (this.isBroken) throw new Error('away')
    const jobs = Math.min(limit, Math.max(0, this.states[state] - from))
    this.jobsWeighed += jobs
    const isLast = from + jobs >= this.states[state]
    return { jobs, bytes: jobs * this.bytesOfJob, cursor: isLast ? null : String(from + jobs) }
  }
}

function scene(states: Partial<Record<JobState, number>> = {}): {
  runtime: VirtualRuntime
  space: FakeSpace
  ledger: Ledger
  pace: Pace
} {
  const runtime = virtualRuntime({ seed: 5 })
  const pace = new Pace(runtime)
  return { runtime, pace, space: new FakeSpace(runtime, states), ledger: new Ledger(runtime, pace) }
}

describe('a ledger', () => {
  it('has what the walk found, in all states, and what came in since it began', async () => {
    const { runtime, space, ledger } = scene({ ready: 1_200, running: 3, done: 40 })
    space.onPage = () => ledger.comes(1, 0)()

    ledger.look(space, 1e9, 1_243)
    await runtime.settle()

    expect(ledger.isKnown).toBe(true)
    // Six pages: three of ready jobs, one of each other state, and one of delayed jobs: those that are due count as ready.
    expect(space.pages).toBe(6)
    expect(ledger.bytes).toBe(124_300 + 6)
    ledger.comes(50, 1)()
    expect(ledger.bytes).toBe(124_300 + 6 + 50)
  })

  it('forgets with the next walk what came in before that began, and nothing that came in since', async () => {
    const { runtime, space, ledger } = scene({ ready: 10 })
    ledger.look(space, 1e9, 10)
    await runtime.settle()
    ledger.comes(7_000, 70)()
    space.states.ready = 80
    await runtime.advance(10_000)
    space.onPage = () => {
      if (ledger.bytes < 8_500) ledger.comes(500, 5)()
    }

    ledger.look(space, 1e9, 80)
    await runtime.settle()

    expect(ledger.bytes).toBe(8_000 + 500)
  })

  it('keeps what was on its way into the store when a walk began, because that may not have met it', async () => {
    const { runtime, space, ledger } = scene({ ready: 10 })
    ledger.look(space, 1e9, 10)
    await runtime.settle()
    const arrived = ledger.comes(700, 7)
    await runtime.advance(10_000)

    ledger.look(space, 1e9, 10)
    await runtime.settle()
    expect(ledger.bytes).toBe(1_700)
    space.states.ready = 17
    arrived()
    await runtime.advance(10_000)
    ledger.look(space, 1e9, 17)
    await runtime.settle()

    expect(ledger.bytes).toBe(1_700)
  })

  it('knows something before the first walk has ended', async () => {
    const { runtime, space, ledger } = scene({ ready: 5_000 })
    space.pageMs = 10
    ledger.look(space, 1e9, 5_000)

    await runtime.advance(10 + 190 + 10)

    expect([ledger.isKnown, ledger.bytes]).toEqual([false, 100_000])
  })

  it('counts jobs that were not met, because they moved, as much as the others', async () => {
    const { runtime, space, ledger } = scene({ ready: 100, dead: 100 })
    // Somebody redrives the dead when the ready ones have been weighed.
    space.onPage = () => {
      if (space.pages === 1) space.states = { ...NONE, ready: 200 }
    }

    ledger.look(space, 1e9, 200)
    await runtime.settle()

    expect(ledger.bytes).toBe(20_000)
  })

  it('ends a walk although jobs come in faster than they are weighed', async () => {
    const { runtime, space, ledger } = scene({ ready: 2_000 })
    space.pageMs = 5
    space.onPage = () => {
      space.states.ready += 1_000
      ledger.comes(100_000, 1_000)()
    }

    ledger.look(space, 1e9, 2_000)
    await runtime.advance(10_000)

    expect(ledger.isKnown).toBe(true)
    expect(space.jobsWeighed).toBe(2_000)
    // Those that came in, 1,000 with each of five pages, are counted once.
    expect(ledger.bytes).toBe(700_000)
  })

  it('walks again after a pause, which is longer the longer a walk takes', async () => {
    const { runtime, space, ledger } = scene({ ready: 5_000 })
    const lookFor = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 500) {
        ledger.look(space, 1e9, 5_000)
        await runtime.advance(500)
      }
    }
    await lookFor(9_500)
    // Ten of ready jobs, and an empty one of delayed jobs.
    expect(space.pages).toBe(11)
    await lookFor(1_000)
    expect(space.pages).toBe(22)
    // Ten pages with a rest after each: 9 × 1 s + 50 ms, and then four times as long.
    space.pageMs = 50
    await lookFor(20_000)
    expect(space.pages).toBe(33)
    await lookFor(30_000)
    expect(space.pages).toBe(33)
    await lookFor(30_000)
    expect(space.pages).toBe(44)
  })

  it('walks sooner when room is scarce and jobs have left, and only then', async () => {
    const { runtime, space, ledger } = scene({ ready: 100 })
    ledger.look(space, 12_000, 100)
    await runtime.advance(1_000)
    ledger.comes(900, 9)()

    ledger.look(space, 12_000, 50)
    ledger.comes(200, 2)()
    ledger.look(space, 12_000, 111)
    await runtime.settle()
    expect(space.pages).toBe(2)
    ledger.look(space, 12_000, 110)
    await runtime.settle()
    expect(space.pages).toBe(4)
  })

  it('keeps its figures when a walk fails, and tries again', async () => {
    const { runtime, space, ledger } = scene({ ready: 100 })
    space.isBroken = true
    ledger.look(space, 1e9, 100)
    await ledger.walked(1_000)
    ledger.comes(70, 1)()
    expect([ledger.isKnown, ledger.bytes]).toEqual([false, 70])

    space.isBroken = false
    ledger.look(space, 1e9, 100)
    await runtime.settle()
    expect(ledger.isKnown).toBe(false)
    await runtime.advance(1_000)
    ledger.look(space, 1e9, 100)
    await runtime.settle()

    expect([ledger.isKnown, ledger.bytes]).toEqual([true, 10_000])
  })
})

describe('the pace', () => {
  it('takes a twentieth of the time of a store, for all spaces together, and serves them in turn', async () => {
    const { runtime, pace, space, ledger } = scene({ ready: 100_000 })
    const small = new FakeSpace(runtime, { ready: 600 })
    const its = new Ledger(runtime, pace)
    space.pageMs = small.pageMs = 10

    ledger.look(space, 1e9, 100_000)
    await runtime.advance(100)
    its.look(small, 1e9, 600)
    await runtime.advance(990)

    // One page in 200 ms, and an empty one of delayed jobs for each space. The small space had every other one.
    expect([space.pages, small.pages]).toEqual([5, 3])
    expect([ledger.isKnown, its.isKnown]).toEqual([false, true])
  })
})

describe('a quota of bytes', () => {
  const jobs = (count: number, bytes: number): { queue: string; payload: string }[] =>
    // A job counts 256, the quotes of its payload and its empty headers 2 each.
    Array.from({ length: count }, () => ({ queue: 'mail', payload: 'x'.repeat(bytes - 260) }))

  it('lets in what fits, exactly, and refuses without taking anything', async () => {
    const { access, runtime } = desk({ quotas: { '*': { storedBytes: 20_000 } } })
    const space = new FakeSpace(runtime, { done: 100 })
    const send = (count: number, bytes: number): Promise<unknown> =>
      access.quotas.assertEnqueue('acme', jobs(count, bytes), space).then(
        (arrived) => {
          arrived()
          return 'ok'
        },
        ({ code, facts }) => [code, facts],
      )
    const facts = { quota: 'stored bytes', limit: 20_000 }
    const refusal = ['QUOTA_EXCEEDED', { ...facts, retryAfterMs: 5_000 }]

    expect(await send(8, 1_000)).toBe('ok')
    expect(await send(2, 1_001)).toEqual(refusal)
    expect(await send(1, 2_001)).toEqual(refusal)
    expect(await send(1, 2_000)).toBe('ok')
    expect(await send(1, 300)).toEqual(refusal)
    // Waiting would not help this one.
    expect(await send(1, 20_001)).toEqual(['QUOTA_EXCEEDED', facts])
  })

  it('lets a space in again when jobs have left', async () => {
    const { access, runtime } = desk({ quotas: { '*': { storedBytes: 20_000 } } })
    const space = new FakeSpace(runtime, { done: 200 })
    const send = (): Promise<string> =>
      access.quotas.assertEnqueue('acme', jobs(1, 1_000), space).then(
        () => 'ok',
        ({ code }) => code,
      )

    expect(await send()).toBe('QUOTA_EXCEEDED')
    space.states.done = 150
    expect(await send()).toBe('QUOTA_EXCEEDED')
    // Jobs are counted once in two seconds.
    await runtime.advance(2_000)
    expect(await send()).toBe('ok')
  })

  it('waits for the first walk, but not for long; then what comes in is all that counts', async () => {
    const { access, runtime } = desk({ quotas: { '*': { storedBytes: 100_000 } } })
    const space = new FakeSpace(runtime, { ready: 50_000 })
    space.pageMs = 1_500
    let answers = 0
    const sent = [1, 2].map(() =>
      access.quotas.assertEnqueue('acme', jobs(1, 1_000), space).then(() => answers++),
    )

    await runtime.advance(1_999)
    expect(answers).toBe(0)
    await runtime.advance(1)
    await Promise.all(sent)

    expect(answers).toBe(2)
    // What the walk has found by then tells that there is no more room.
    const late = access.quotas.assertEnqueue('acme', jobs(1, 100_000 - 50_000 - 2_000 + 1), space)
    await Promise.all([
      expect(late).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' }),
      runtime.advance(2_000),
    ])
  })

  it('counts what receivers bring, and refuses none of it', async () => {
    const { access, runtime } = desk({ quotas: { acme: { storedBytes: 20_000 }, '*': {} } })
    const space = new FakeSpace(runtime, { running: 100 })
    await access.quotas.assertEnqueue('acme', jobs(1, 1_000), space)

    access.quotas.came('acme', () => 8_500)
    access.quotas.came('other', () => {
      throw new Error('has no such quota')
    })

    await access.quotas.assertEnqueue('acme', jobs(1, 500), space)
    await expect(access.quotas.assertEnqueue('acme', jobs(1, 300), space)).rejects.toThrow('stored bytes')
  })
})
