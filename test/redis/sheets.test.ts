import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { Store } from '../../src/store/store.ts'
import {
  HOUR,
  idOf,
  QUEUE,
  SPACE,
  sample,
  samples,
  tokenOf,
  verdict,
} from '../../src/testing/store/samples.ts'
import { auditRedis } from './audit.ts'
import { now, openWorld, type World } from './stocked.ts'

// Several plain ready jobs are one member of a set. Nobody who looks from outside can tell.

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

async function listed(store: Store, limit: number): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const page = await store.list({ space: SPACE, queue: QUEUE, state: 'ready', limit, cursor })
    ids.push(...page.jobs.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== null)
  return ids
}

async function claimed(store: Store, limit: number, token: number, ids?: readonly string[]) {
  const { jobs } = await store.claim({
    sources: [{ space: SPACE, queue: QUEUE, limit }],
    limit,
    workerId: 'worker',
    token: tokenOf(token),
    leaseMs: HOUR,
    now,
    ...(ids && { ids }),
  })
  return jobs.map(({ id }) => id)
}

describe('ready jobs on a sheet', () => {
  it('are few members', async () => {
    const { store, client, key } = await open()

    await store.insert({ jobs: samples(100), now })
    await store.insert({ jobs: samples(100, {}, 101), fresh: true, now })

    expect(await client.zcard(key('ready'))).toBe(8)
    expect(await claimed(store, 50, 1)).toEqual(numbers(1, 50).map(idOf))
    expect(await client.zcard(key('ready'))).toBe(7)
  })

  it('stand in the order of their ids beside others of the same moment', async () => {
    const { store, client, prefix } = await open()
    const odd = numbers(0, 40).map((n) => sample(2 * n + 1))
    const even = numbers(0, 40).map((n) => sample(2 * n + 2))
    await store.insert({ jobs: [sample(500)], now })

    await store.insert({ jobs: odd, fresh: true, now })
    await store.insert({ jobs: even, fresh: true, now })
    await store.insert({ jobs: samples(40, {}, 81).reverse(), fresh: true, now })

    expect(await listed(store, 7)).toEqual([...numbers(1, 120), 500].map(idOf))
    expect(await claimed(store, 200, 1)).toEqual([...numbers(1, 120), 500].map(idOf))
    await auditRedis(client, prefix)
  })

  it('are served one by one once the queue has limits', async () => {
    const { store, client, prefix } = await open()
    await store.insert({ jobs: samples(100), now })
    const fields = { laneConcurrency: 40 }
    await store.setLimits({ space: SPACE, limits: [{ target: { queue: QUEUE }, by: 'code', fields }], now })
    await store.insert({ jobs: [sample(200, { lane: 'a' })], now })

    const selection = { space: SPACE, queue: QUEUE, state: 'ready' } as const
    expect(await store.count({ ...selection, where: { lane: '' } })).toMatchObject({ count: 100 })
    expect(await claimed(store, 90, 1)).toHaveLength(41)

    expect(await store.count({ ...selection, where: { lane: '' } })).toMatchObject({ count: 60 })
    expect(await listed(store, 9)).toEqual(numbers(41, 60).map(idOf))
    await auditRedis(client, prefix)
  })

  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(
        fc.constant('insert' as const),
        fc.nat(200),
        fc.integer({ min: 1, max: 80 }),
        fc.nat(3),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.constant('claim' as const),
        fc.constant(0),
        fc.integer({ min: 1, max: 70 }),
        fc.constant(0),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(
        fc.constant('named' as const),
        fc.nat(300),
        fc.integer({ min: 1, max: 5 }),
        fc.constant(0),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.constant('settle' as const),
        fc.nat(20),
        fc.integer({ min: 1, max: 30 }),
        fc.nat(3),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.constant('change' as const),
        fc.nat(300),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(3),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(
        fc.constant('pass' as const),
        fc.constant(0),
        fc.integer({ min: 1, max: 2 }),
        fc.constant(0),
      ),
    },
  )

  it('are as they would be by themselves, whatever is done to them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const { store, client, prefix } = await open()
        const memory = memoryStore()
        await play(steps, store, memory)
        await auditRedis(client, prefix)
        await memory.close()
        for (const world of worlds.splice(0)) await world.close()
      }),
      { numRuns: 40 },
    )
  }, 120_000)
})

type Step = readonly [
  kind: 'insert' | 'claim' | 'named' | 'settle' | 'change' | 'pass',
  number,
  number,
  number,
]

/** Does the same to both, and looks at what can be seen of them. */
async function play(steps: readonly Step[], store: Store, memory: Store): Promise<void> {
  const both = async <Value>(ask: (one: Store) => Promise<Value>): Promise<Value> => {
    const [expected, found] = [await ask(memory), await ask(store)]
    expect(found).toEqual(expected)
    return found
  }
  let time = now
  let tokens = 0
  const known = new Set<number>()
  let held: { readonly space: string; readonly id: string; readonly token: string }[] = []
  const claim = async (limit: number, ids?: readonly string[]): Promise<void> => {
    const token = tokenOf(++tokens)
    const sources = [{ space: SPACE, queue: QUEUE, limit }]
    const call = { sources, limit, workerId: 'worker', token, leaseMs: HOUR, now: time, ...(ids && { ids }) }
    const { jobs } = await both(async (one) => ({ jobs: (await one.claim(call)).jobs.map(({ id }) => id) }))
    held.push(...jobs.map((id) => ({ space: SPACE, id, token })))
  }
  for (const [kind, from, count, how] of steps) {
    if (kind === 'pass') time += count
    else if (kind === 'insert') {
      // Every third number, or each of them: so they come to stand between those of other calls.
      const fresh = numbers(0, count)
        .map((n) => from + n * (how === 1 ? 3 : 1))
        .filter((n) => !known.has(n))
      for (const n of fresh) known.add(n)
      const jobs = fresh.map((n) => sample(n, how === 2 ? { delayMs: 2, priority: n % 5 === 0 ? 1 : 0 } : {}))
      if (how === 3) jobs.reverse()
      const call = { jobs, fresh: how !== 1, now: time }
      await both(async (one) => (await one.insert(call)).results)
    } else if (kind === 'claim') await claim(count)
    else if (kind === 'named') await claim(count, numbers(from, count).map(idOf))
    else if (kind === 'settle') {
      const ending = held.slice(from, from + count)
      held = held.filter((one) => !ending.includes(one))
      const given = [
        verdict('done', { keepMs: null }),
        verdict('ready', { keepPlace: true, refund: true }),
        verdict('ready'),
        verdict('delayed', { delayMs: 1 }),
      ][how]
      const settlements = ending.map((one) => ({ ...one, verdict: given ?? verdict('done') }))
      await both((one) => one.settle({ settlements, now: time }))
    } else {
      const action = (['cancel', 'prioritize', 'remove', 'promote'] as const)[how] ?? 'cancel'
      const target = { ids: numbers(from, count).map(idOf) }
      await both((one) =>
        one.change({ action, space: SPACE, failure: null, keepMs: HOUR, priority: 1, target, now: time }),
      )
    }
    await both((one) => one.count({ space: SPACE, queue: QUEUE, state: 'ready' }))
    await both((one) => listed(one, 17))
  }
}
