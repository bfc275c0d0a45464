import { describe, expect, it } from 'vitest'
import type { ClaimedJob, NewJob } from '../../src/core/jobs/job.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Settlement, Store } from '../../src/store/store.ts'
import { type Random, seededRandom, virtualRuntime } from '../../src/testing.ts'
import { claimCall, done, newJobs, openStore } from './support.ts'

const QUEUES = ['mail', 'report']
const SPACE = 'acme'

/** Makes commands about many jobs at once, as workers under load send them. */
class Commands {
  readonly #random: Random
  readonly #uuid: () => string
  #jobs: NewJob[] = []
  #claimed: ClaimedJob[] = []
  #now = 1_800_000_000_000

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#uuid = virtualRuntime({ seed }).uuid
  }

  /** A call to be made on both stores, and what to do with its reply. */
  next(): { call: (store: Store) => Promise<unknown>; learn: (reply: unknown) => void } {
    const random = this.#random
    this.#now += random.int(0, 2_000)
    const now = this.#now
    const none = (): void => {}
    switch (
      random.pick(['insert', 'insert', 'claim', 'claim', 'settle', 'settle', 'settle', 'extend', 'cancel'])
    ) {
      case 'insert': {
        const jobs = Array.from({ length: random.int(1, 130) }, () => this.#job())
        this.#jobs.push(...jobs)
        const again = random.chance(0.1)
        return { call: (store) => store.insert({ jobs, now, ...(again ? { again } : {}) }), learn: none }
      }
      case 'claim': {
        const call = { ...this.#claim(), now }
        return {
          call: (store) => store.claim(call),
          learn: (reply) => this.#claimed.push(...(reply as { jobs: ClaimedJob[] }).jobs),
        }
      }
      case 'settle': {
        const settlements = this.#settlements()
        const claim = random.chance(0.5) ? this.#claim() : undefined
        return {
          call: (store) => store.settle({ settlements, now, ...(claim ? { claim } : {}) }),
          learn: (reply) => {
            const { claimed } = reply as { claimed: { jobs: ClaimedJob[] } | null }
            this.#claimed.push(...(claimed?.jobs ?? []))
          },
        }
      }
      case 'extend': {
        const leases = this.#some(this.#claimed, 50).map(({ space, id, token }) => ({ space, id, token }))
        return { call: (store) => store.extend({ leases, leaseMs: 5_000, now }), learn: none }
      }
      default: {
        const ids = this.#some(this.#jobs, 20).map(({ id }) => id)
        const action = random.pick(['cancel', 'retry', 'remove'] as const)
        const target = { ids }
        return {
          call: (store) => store.change({ action, space: SPACE, target, failure: null, keepMs: 9_000, now }),
          learn: none,
        }
      }
    }
  }

  #job(): NewJob {
    const random = this.#random
    if (this.#jobs.length > 0 && random.chance(0.02)) return random.pick(this.#jobs)
    const isPlain = random.chance(0.8)
    return {
      id: this.#uuid(),
      space: SPACE,
      queue: random.chance(0.9) ? 'mail' : 'report',
      payload: random.chance(0.02) ? JSON.stringify('long '.repeat(2_000)) : '{"text":"\\u001f, é"}',
      headers: isPlain ? null : '{"trace":"1"}',
      priority: isPlain ? 0 : random.int(-2, 2),
      delayMs: isPlain || random.chance(0.5) ? 0 : random.int(1, 5_000),
      runAt: null,
      unique:
        isPlain || random.chance(0.7)
          ? null
          : {
              key: `k${random.int(0, 5)}`,
              scope: random.pick(['queued', 'active']),
              windowMs: 0,
              onConflict: 'replace',
            },
      overrides: null,
      lane: null,
      strict: false,
      cost: 1,
      member: null,
    }
  }

  #claim(): Parameters<Store['claim']>[0] {
    const sources = QUEUES.map((queue) => ({ space: SPACE, queue, limit: this.#random.int(0, 200) }))
    const limit = this.#random.int(1, 300)
    return { sources, limit, workerId: 'worker', token: this.#uuid(), leaseMs: 3_000 }
  }

  #settlements(): Settlement[] {
    const random = this.#random
    const chosen = this.#some(this.#claimed, 150)
    if (random.chance(0.2)) chosen.push(...this.#some(chosen, 3))
    const keepMs = random.pick([null, null, 1_000, 60_000])
    const withResults = random.chance(0.3)
    // Most jobs end alike; some do not.
    return chosen.map(({ space, id, token }): Settlement => {
      if (random.chance(0.03))
        return { space, id, token, verdict: { ...done, to: 'delayed', delayMs: 10, count: 'errors' } }
      if (random.chance(0.01)) return { space, id, token, verdict: done, enqueue: [this.#job()] }
      const result = withResults && random.chance(0.8) ? '{"ok":"\\u001fé"}' : null
      return {
        space,
        id,
        token: random.chance(0.01) ? 'stranger' : token,
        verdict: { ...done, keepMs, result },
      }
    })
  }

  /** A run of items, as a worker would have them, sometimes with gaps. */
  #some<T>(items: readonly T[], most: number): T[] {
    const from = this.#random.int(0, items.length)
    const share = this.#random.pick([1, 1, 0.5])
    return items.slice(from, from + most).filter(() => this.#random.chance(share))
  }
}

async function everything(store: Store): Promise<unknown> {
  const states = ['delayed', 'ready', 'running', 'done', 'cancelled'] as const
  const lists = QUEUES.flatMap((queue) =>
    states.map((state) => store.list({ space: SPACE, queue, state, limit: 10_000, cursor: null })),
  )
  return [(await store.counts({ space: SPACE })).queues, await Promise.all(lists)]
}

describe('Many jobs at a time', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('do the same as in memory, with seed %i', async (seed) => {
    const [memory, sqlite] = [memoryStore(), openStore({ file: ':memory:' })]
    const commands = new Commands(seed)
    const random = seededRandom(seed)

    for (let step = 0; step < 40; step++) {
      // What is sent in one turn shares a transaction, and must do what it would do one after the other.
      const group = Array.from({ length: random.int(1, 6) }, () => commands.next())
      const actual = await Promise.all(group.map(({ call }) => call(sqlite)))
      for (const [i, { call, learn }] of group.entries()) {
        const expected = await call(memory)
        expect(actual[i], `step ${step}, call ${i}`).toEqual(expected)
        learn(expected)
      }
    }

    expect(await everything(sqlite)).toEqual(await everything(memory))
  })

  it('are counted once when the same settlement is sent twice in a call', async () => {
    const store = openStore({ file: ':memory:' })
    await store.insert({ jobs: newJobs(4) })
    const { jobs } = await store.claim(claimCall(4))
    const [a, b, c] = jobs.map(({ space, id, token }) => ({ space, id, token, verdict: done })) as [
      Settlement,
      Settlement,
      Settlement,
    ]

    const { results } = await store.settle({ settlements: [a, b, b, c] })

    expect(results.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect((await store.counts({ space: SPACE })).queues[0]?.states).toMatchObject({ running: 1, ready: 0 })
  })
})
