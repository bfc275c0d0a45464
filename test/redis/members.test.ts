import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { chained, nextInChain } from '../../src/core/flows/chains.ts'
import type { ClaimedJob, NewJob } from '../../src/core/jobs/job.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Settlement, Store } from '../../src/store/store.ts'
import { group, groupOf } from '../../src/testing/store/flows/group-samples.ts'
import {
  DAY,
  HOUR,
  idOf,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  sample,
  tokenOf,
  unique,
  verdict,
} from '../../src/testing/store/samples.ts'
import { auditRedis } from './audit.ts'
import { now, openWorld, type World } from './stocked.ts'

// Members of groups that end in one call, and steps of chains that go on, are written together. Nobody who looks from outside can tell.

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
})

async function open(): Promise<World> {
  const world = await openWorld()
  worlds.push(world)
  return world
}

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n)

const sourcesOf = (limit: number) => [QUEUE, OTHER_QUEUE].map((queue) => ({ space: SPACE, queue, limit }))

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('make' as const), fc.integer({ min: 1, max: 12 }), fc.nat(9), fc.nat(2)),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('claim' as const),
      fc.integer({ min: 1, max: 30 }),
      fc.constant(0),
      fc.constant(0),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(
      fc.constant('settle' as const),
      fc.integer({ min: 1, max: 25 }),
      fc.nat(9),
      fc.nat(7),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('change' as const),
      fc.integer({ min: 1, max: 6 }),
      fc.nat(90),
      fc.nat(3),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('limit' as const), fc.constant(0), fc.constant(0), fc.constant(0)),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('pass' as const), fc.constant(1), fc.constant(0), fc.constant(0)),
  },
)

type Step = readonly [
  kind: 'make' | 'claim' | 'settle' | 'change' | 'limit' | 'pass',
  count: number,
  how: number,
  then: number,
]

describe('members that end together', () => {
  it('are counted as if they had ended one by one, whatever is done to them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const { store, client, prefix } = await open()
        const memory = memoryStore()
        await new Play(store, memory).run(steps)
        await auditRedis(client, prefix)
        await memory.close()
        for (const world of worlds.splice(0)) await world.close()
      }),
      { numRuns: 60 },
    )
  }, 120_000)

  it('fire once, when the last of them has ended', async () => {
    const { store, client, prefix } = await open()
    const jobs = numbers(1, 100).map((n) => sample(n, { member: { group: groupOf(1), n: n - 1 } }))
    await store.insert({ jobs, groups: [group(100)], fresh: true, now })
    const claim = { sources: sourcesOf(200), limit: 200, workerId: 'w', token: tokenOf(1), leaseMs: HOUR }
    const { jobs: held } = await store.claim({ ...claim, now })
    const settlements = held.map(({ space, id, token }, n) => ({
      space,
      id,
      token,
      verdict: verdict('done', { keepMs: null, result: String(n) }),
    }))

    const first = await store.settle({ settlements: settlements.slice(1), now })
    const second = await store.settle({ settlements, now })
    const third = await store.settle({ settlements, now })

    expect([first, second, third].map(({ enqueued = [] }) => enqueued.length)).toEqual([0, 1, 0])
    const { outcomes } = await store.outcomes({ space: SPACE, groups: [groupOf(1)], from: 0, limit: 200 })
    expect(outcomes[0]).toEqual(
      jobs.map(({ id }, n) => ({ n, id, state: 'done', result: String(n), failure: null })),
    )
    await auditRedis(client, prefix)
  })

  it('go on in the call that settles them, without standing in line', async () => {
    const { store, client, key, prefix } = await open()
    const jobs = numbers(0, 20).map((n) =>
      chained([sample(100 + n), sample(200 + n)], { group: groupOf(n), n: 0 }),
    )
    const groups = numbers(0, 20).map((n) => group(1, { id: groupOf(n), jobs: {} }))
    await store.insert({ jobs, groups, fresh: true, now })
    const claim = { sources: sourcesOf(50), limit: 50, workerId: 'w', leaseMs: HOUR }
    const { jobs: held } = await store.claim({ ...claim, token: tokenOf(1), now })
    const next = held.map((job) => nextInChain(job, '1') as NewJob)
    const settlements = held.map(({ space, id, token }, n) => ({
      space,
      id,
      token,
      verdict: verdict('done', { keepMs: null }),
      enqueue: [next[n] as NewJob],
      handsOn: true,
    }))
    await client.config('RESETSTAT')

    const first = next.map(({ id }) => id)
    const reply = await store.settle({ settlements, claim: { ...claim, token: tokenOf(2), first }, now })

    expect(reply.claimed?.jobs.map(({ id }) => id)).toEqual(numbers(200, 20).map(idOf))
    expect(await client.zcard(key('ready'))).toBe(0)
    const { members } = await store.openMembers({ space: SPACE, group: groupOf(3), from: 0, limit: 9 })
    expect(members).toEqual([{ n: 0, id: idOf(203), kind: 'job' }])
    await auditRedis(client, prefix)
  })
})

/** Does the same to both, and looks at what can be seen of them. */
class Play {
  readonly #store: Store
  readonly #memory: Store
  #time = now
  #tokens = 0
  #calls = 0
  #jobs = 0
  #groups = 0
  #held: ClaimedJob[] = []
  /** What was settled, to do it again. */
  #settled: Settlement[] = []

  constructor(store: Store, memory: Store) {
    this.#store = store
    this.#memory = memory
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const [kind, count, how, then] of steps) {
      if (kind === 'pass') this.#time += count
      else if (kind === 'make') await this.#make(count, how, then)
      else if (kind === 'claim') await this.#claim(count)
      else if (kind === 'settle') await this.#settle(count, how, then)
      else if (kind === 'change') await this.#change(count, how, then)
      else {
        const limits = [{ target: { queue: QUEUE }, by: 'code' as const, fields: { laneConcurrency: 20 } }]
        await this.#both((one) => one.setLimits({ space: SPACE, limits, now: this.#time }))
      }
      await this.#look()
    }
  }

  async #both<Value>(ask: (one: Store) => Promise<Value>): Promise<Value> {
    const [expected, found] = [await ask(this.#memory), await ask(this.#store)]
    // Which of two settlements of one call that enqueue the same job is the first is nobody's promise.
    expect(withoutKnown(found)).toEqual(withoutKnown(expected))
    return found
  }

  async #look(): Promise<void> {
    const ids = numbers(1, this.#groups).map(groupOf)
    await this.#both((one) => one.getGroups({ space: SPACE, ids }))
    await this.#both((one) => one.outcomes({ space: SPACE, groups: ids, from: 0, limit: 100 }))
    for (const id of ids)
      await this.#both((one) => one.openMembers({ space: SPACE, group: id, from: 0, limit: 50 }))
    for (const queue of [QUEUE, OTHER_QUEUE]) {
      for (const state of ['ready', 'running', 'done'] as const) {
        await this.#both((one) => one.count({ space: SPACE, queue, state }))
      }
      const page = { space: SPACE, queue, limit: 500, cursor: null }
      const ready = { ...page, state: 'ready' } as const
      await this.#both(async (one) => (await one.list(ready)).jobs.map(({ id, member }) => [id, member]))
      await this.#both(async (one) => (await one.list({ ...page, state: 'done' })).jobs)
    }
  }

  /** A group; in every third one the members are chains. What follows it may be a member of the group before. */
  async #make(size: number, how: number, then: number): Promise<void> {
    const id = groupOf(++this.#groups)
    const kind = how % 5
    const make = (n: number): NewJob => {
      const job = sample(++this.#jobs, {
        ...(kind === 1 && { headers: '{"a":"b"}' }),
        ...(kind === 2 && n % 3 === 0 && { unique: unique(`key-${n}`) }),
        ...(kind === 3 && n % 4 === 0 && { priority: 1 }),
        ...(kind === 4 && n % 5 === 0 && { lane: 'a' }),
      })
      if (then !== 1) return { ...job, member: { group: id, n } }
      return chained([job, sample(++this.#jobs), sample(++this.#jobs, { queue: OTHER_QUEUE })], {
        group: id,
        n,
      })
    }
    const jobs = numbers(0, size).map(make)
    const success = sample(++this.#jobs, { queue: OTHER_QUEUE })
    const made = group(size, { id, jobs: how % 2 === 0 ? { success } : {}, failing: 'first' })
    await this.#both((one) => one.insert({ jobs, groups: [made], fresh: how !== 9, now: this.#time }))
  }

  async #claim(limit: number): Promise<void> {
    const call = this.#claimCall(limit)
    await this.#both(async (one) => idsIn(await one.claim({ ...call, now: this.#time })))
    const again = await this.#store.claim({ ...call, again: true, now: this.#time })
    await this.#memory.claim({ ...call, again: true, now: this.#time })
    this.#held.push(...again.jobs)
  }

  #claimCall(limit: number) {
    const token = tokenOf(++this.#tokens)
    return { sources: sourcesOf(limit), limit, workerId: 'worker', token, leaseMs: HOUR }
  }

  async #settle(count: number, how: number, then: number): Promise<void> {
    const ending = how === 9 ? this.#held.toReversed().slice(0, count) : this.#held.slice(how, how + count)
    this.#held = this.#held.filter((one) => !ending.includes(one))
    this.#calls++
    const first: string[] = []
    const settlements = ending.map((job, n): Settlement => {
      const { space, id, token } = job
      const isBad = (how === 7 && n % 3 === 0) || (how === 8 && n % 4 === 0)
      const given = isBad
        ? how === 7
          ? verdict('dead', { keepMs: DAY })
          : verdict('ready')
        : verdict('done', { keepMs: how === 6 ? DAY : null, result: n % 4 === 0 ? null : `"é${n}"` })
      if (isBad) return { space, id, token, verdict: given }
      const next = nextInChain(job, given.result)
      if (next) first.push(next.id)
      if (next) return { space, id, token, verdict: given, enqueue: [next], handsOn: true }
      // Something of its own, which may be there already, or twice.
      const there = then === 6 ? this.#held[n]?.id : undefined
      const own = { ...sample(10_000 + this.#calls * 100 + (n % 5)), ...(there && { id: there }) }
      return then >= 5
        ? { space, id, token, verdict: given, enqueue: [own] }
        : { space, id, token, verdict: given }
    })
    if (then === 4) settlements.push(...this.#settled.slice(0, 5))
    if (then === 3) settlements.push(...settlements.slice(0, 2))
    this.#settled = settlements.slice(0, ending.length)
    const claim = then % 2 === 0 ? { ...this.#claimCall(5 * then), ...(first.length > 0 && { first }) } : null
    const said = { settlements, ...(claim && { claim }), now: this.#time }
    await this.#both(async (one) => {
      const { results, claimed, enqueued = [] } = await one.settle(said)
      // A store may tell of a queue once, or for each group.
      const queues = new Set(enqueued.map(({ queue }) => queue))
      return { results, claimed: claimed && idsIn(claimed), queues }
    })
    if (claim === null) return
    const { first: _first, ...call } = claim
    this.#held.push(...(await this.#store.claim({ ...call, again: true, now: this.#time })).jobs)
    await this.#memory.claim({ ...call, again: true, now: this.#time })
  }

  async #change(count: number, from: number, how: number): Promise<void> {
    const action = (['cancel', 'retry', 'remove', 'prioritize'] as const)[how] ?? 'cancel'
    const target = { ids: numbers(from, count).map(idOf) }
    const call = { action, space: SPACE, failure: null, keepMs: HOUR, priority: 1, target, now: this.#time }
    await this.#both((one) => one.change(call))
  }
}

const idsIn = ({ jobs }: { readonly jobs: readonly ClaimedJob[] }): string[] => jobs.map(({ id }) => id)

function withoutKnown(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, inside: unknown) => (name === 'known' ? undefined : inside))
}
