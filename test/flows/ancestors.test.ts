// What the systems Skep descends from did with flows, children and reduces, or left undone; by the numbers of the requirements.

import { describe, expect, it } from 'vitest'
import { bury, exponential, flow, queue, retry, settled } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { gate, openScene } from '../worker/support/scene.ts'

interface Member {
  readonly userId: number
}
interface Reward extends Member {
  readonly role: string
}

const accessCheck = queue<Member, { roles: readonly string[] }>('access-check')
const manageReward = queue<Member & { roles: readonly string[] }, { server: string }>('manage-reward')
const discord = queue<Reward & { server: string }, string>('manage-reward:discord')
const telegram = queue<Reward, string>('manage-reward:telegram')
const tell = queue<{ told: number }, { told: number }>('tell')

/** G3, G33, G44: a member joins and gets rewards. */
const access = flow('access', (f) =>
  f
    .step(accessCheck)
    .step(manageReward)
    .parallel({
      discord: (g) =>
        g.each('given', discord, ({ state: { userId, server, roles } }) =>
          roles.map((role) => ({ userId, server, role })),
        ),
      telegram: (g) =>
        g.each('given', telegram, ({ state: { userId, roles } }) => roles.map((role) => ({ userId, role }))),
    })
    .step(tell, ({ state }) => ({ told: state.discord.given.length + state.telegram.given.length })),
)

const handlers = [
  accessCheck.handle(() => ({ roles: ['reader', 'writer'] })),
  manageReward.handle(({ payload }) => ({ server: `server of ${payload.userId}` })),
  discord.handle(({ payload }) => `${payload.role} on ${payload.server}`),
  telegram.handle(({ payload }) => payload.role),
  tell.handle(({ payload }) => payload),
]

/** Writes down every call about runs and groups, and everything that a job which waits would cost. */
function watched(store: Store, asked: string[]): Store {
  const watch = <Name extends keyof Store>(name: Name): Partial<Store> => ({
    [name]: (...args: unknown[]) => {
      asked.push(name)
      return (store[name] as (...args: unknown[]) => unknown)(...args)
    },
  })
  const names = [
    'getRuns',
    'getGroups',
    'listRuns',
    'outcomes',
    'openMembers',
    'moveRuns',
    'tell',
    'settle',
    'extend',
  ] as const
  return Object.assign({ ...store }, ...names.map(watch))
}

describe('Guild Queues', () => {
  it('G45, G46, G48: splits into several child queues, tells the children what the parent knows, goes on after all', async () => {
    const scene = openScene()
    scene.skep.worker([access, ...handlers])

    const state = await (await scene.skep.start(access, { userId: 62 })).result()

    expect(state).toMatchObject({
      discord: { given: ['reader on server of 62', 'writer on server of 62'] },
      telegram: { given: ['reader', 'writer'] },
      told: 4,
    })
  })

  it('G20, G30, G31: hands on from worker to worker, each of which knows one queue', async () => {
    const scene = openScene()
    for (const handler of handlers) scene.client().worker([handler], { concurrency: 1 })
    scene.client().worker([access])

    expect(await (await scene.skep.start(access, { userId: 62 })).result()).toMatchObject({ told: 4 })
  })

  it('G43, W25: waits for children without a worker and without a poll', async () => {
    const asked: string[] = []
    const scene = openScene({ wrap: (store) => watched(store, asked) })
    const worker = scene.skep.worker([access, ...handlers.slice(0, 3)], { concurrency: 1 })
    const run = await scene.skep.start(access, { userId: 62 })
    await scene.until(async () => (await scene.counts('manage-reward:telegram')).ready === 2)
    await scene.advance(60_000)
    expect(asked).toContain('getRuns')
    asked.length = 0

    await scene.advance(3_600_000)

    // Nobody asks but the sweep, which looks for bugs a few times an hour.
    expect(asked.filter((call) => !['listRuns', 'getGroups'].includes(call))).toEqual([])
    expect(asked.length).toBeLessThan(2 * 12 + 1)
    expect(worker.health().running).toBe(0)
    expect((await run.get())?.status).toBe('running')
    scene.client().worker(handlers.slice(3))
    expect(await run.result()).toMatchObject({ told: 4 })
  })

  it('G21, G22, G24: jobs leave a stage in the order in which they are done', async () => {
    const scene = openScene()
    const gates = new Map(['a', 'b', 'c', 'd', 'e'].map((name) => [name, gate()]))
    const first = queue<{ name: string }>('first')
    const second = queue<{ name: string }>('second')
    const arrived: string[] = []
    const two = flow('two', (f) => f.step(first).step(second))
    scene.skep.worker([
      two,
      first.handle(({ payload }) => gates.get(payload.name)?.promise),
      second.handle(({ payload }) => void arrived.push(payload.name)),
    ])
    for (const name of gates.keys()) await scene.skep.start(two, { name })
    await scene.until(async () => (await scene.counts('first')).running === 5)

    for (const [n, name] of ['c', 'a', 'e', 'b', 'd'].entries()) {
      gates.get(name)?.open()
      await scene.until(() => arrived.length === n + 1)
    }

    expect(arrived).toEqual(['c', 'a', 'e', 'b', 'd'])
  })

  it.each(['before', 'after', 'lost'] as const)(
    'G23, W3: goes on once when the answer to the end of a step is gone (%s)',
    async (fault) => {
      const scene = openScene()
      const started: string[] = []
      const one = queue<Member>('one')
      const next = queue<Member>('next')
      const two = flow('two', (f) => f.step(one).step(next))
      scene.skep.worker([
        two,
        one.handle(() => {
          started.push('one')
          scene.faults.next('settle', fault)
        }),
        next.handle(() => void started.push('next')),
      ])
      const run = await scene.skep.start(two, { userId: 1 })

      await scene.through(run.result(), 600_000)
      await scene.advance(600_000)

      expect(started.filter((name) => name === 'next')).toEqual(['next'])
      expect(await scene.counts('next')).toEqual({ done: 1 })
    },
  )

  it('G26: gives a job the fields that its queue is about, and no others', async () => {
    const scene = openScene()
    const seen: unknown[] = []
    const narrow = flow('narrow', (f) =>
      f
        .step(accessCheck)
        .step(manageReward, ({ state: { userId, roles } }) => ({ userId, roles: roles.slice(1) })),
    )
    scene.skep.worker([
      narrow,
      accessCheck.handle(() => ({ roles: ['reader', 'writer'], secret: 'x' })),
      manageReward.handle(({ payload }) => {
        seen.push(payload)
        return { server: 's' }
      }),
    ])

    await (await scene.skep.start(narrow, { userId: 62 })).result()

    expect(seen).toEqual([{ userId: 62, roles: ['writer'] }])
  })

  it('G29, G32, G38, G40: keeps one state for the whole run, to be looked up by what it is about', async () => {
    const scene = openScene()
    await scene.skep.start(access, { userId: 62 }, { attributes: { userId: 62 } })
    scene.skep.worker([access, ...handlers.slice(0, 2)])
    await scene.until(async () => (await scene.counts('manage-reward:telegram')).ready === 2)

    const before = await scene.skep.runs.list({ attributes: { userId: 62 } })
    scene.client().worker(handlers.slice(2))
    await scene.until(async () => (await scene.counts('tell')).done === 1)
    await scene.advance(1_000)
    const after = await scene.skep.runs.list({ attributes: { userId: 62 } })

    expect(before.runs).toMatchObject([
      { status: 'running', state: { userId: 62, roles: ['reader', 'writer'], server: 'server of 62' } },
    ])
    expect(after.runs).toMatchObject([{ status: 'done', state: { told: 4 } }])
  })

  it('G47, G51, W35: children may be flows with children, as deep as it takes', async () => {
    const scene = openScene()
    const leaf = queue<number, number>('leaf')
    const leaf2 = queue<{ n: number }, { got: number }>('leaf2')
    const low = flow('low', (f) => f.input<{ n: number }>().each('leaves', leaf, [1, 2], settled))
    const middle = flow('middle', (f) =>
      f.input<{ n: number }>().parallel({ one: (g) => g.step(low, { as: 'low' }), two: leaf2 }),
    )
    const top = flow('top', (f) =>
      f.input<{ n: number }>().parallel({ m: (g) => g.step(middle, { as: 'middle' }) }),
    )
    scene.skep.worker([
      top,
      leaf.handle(({ payload }) => payload * 10),
      leaf2.handle(({ payload }) => ({ got: payload.n })),
    ])

    const { m } = await (await scene.skep.start(top, { n: 7 })).result()

    expect(m.middle.two).toEqual({ got: 7 })
    expect(m.middle.one.low.leaves.map((one) => (one.ok ? one.result : null))).toEqual([10, 20])
  })

  it('G56: children may be handled many at a time, and each has an end of its own', async () => {
    const scene = openScene()
    const bulk = queue<number, number>('bulk')
    const sizes: number[] = []
    const rewards = flow('rewards', (f) => f.input<Member>().each('given', bulk, [1, 2, 3, 4], settled))
    scene.skep.worker([
      rewards,
      bulk.handleBatch({ size: 10 }, (batch) => {
        sizes.push(batch.length)
        return batch.map(({ payload }) => (payload === 3 ? bury('No such role.') : payload * 2))
      }),
    ])

    const { given } = await (await scene.skep.start(rewards, { userId: 1 })).result()

    expect(sizes).toEqual([4])
    expect(given.map((one) => (one.ok ? one.result : one.failure.message))).toEqual([
      2,
      4,
      'No such role.',
      8,
    ])
  })
})

describe('haskell-bee', () => {
  const squareMap = queue<number, number>('square-map', { onError: retry(5, exponential('1s')) })
  const reduce = queue<null, number>('reduce')

  it('B51–B55, W26, W28: reduces over children that were retried and retried, each counted once', async () => {
    const scene = openScene()
    const tries = new Map<number, number>()
    const totals: number[] = []
    let isBroken = true
    scene.skep.worker([
      squareMap.handle(({ payload, attempt }) => {
        tries.set(payload, attempt)
        if (payload === 2 && attempt < 4) throw new Error('Not yet.')
        if (payload === 3 && isBroken) return bury('Broken.')
        return payload * payload
      }),
      reduce.handle(async ({ results }) => {
        const squares = await results<number>()
        const total = squares.reduce((sum, one) => sum + (one.ok ? one.result : 0), 0)
        totals.push(total)
        return total
      }),
    ])

    const group = await scene.skep.groups.chord(
      [1, 2, 3, 4].map((n) => squareMap.job(n)),
      reduce.job(null),
    )
    await scene.until(async () => (await group.get())?.endedAt !== null, 600_000)
    expect(totals).toEqual([])
    isBroken = false
    await scene.skep.jobs.retry({ queue: 'square-map', state: 'dead' })
    await scene.until(() => totals.length > 0)
    await scene.advance(600_000)

    expect(totals).toEqual([30])
    expect(tries.get(2)).toBe(4)
  })

  it('B54, W26: removes the record of a group by itself', async () => {
    const scene = openScene()
    scene.skep.worker([squareMap.handle(({ payload }) => payload), reduce.handle(() => 0)])
    const group = await scene.skep.groups.group([squareMap.job(1)], { next: reduce.job(null), keep: '1h' })
    await scene.until(async () => (await group.get())?.endedAt !== null)

    await scene.advance(2 * 3_600_000)
    await scene.until(async () => (await group.get()) === null, 24 * 3_600_000)

    await expect(group.results()).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
  })

  it('B45: a slow queue does not stop a fast one', async () => {
    const scene = openScene()
    const slow = queue<number>('slow')
    const fast = queue<number, number>('fast')
    const never = gate()
    const both = flow('both', (f) => f.input<Member>().each('fast', fast, [1, 2, 3]))
    scene.skep.worker([slow.handle(() => never.promise)], { concurrency: 2 })
    scene.skep.worker([both, fast.handle(({ payload }) => payload)], { concurrency: 1 })
    await scene.skep.enqueueMany(slow, [1, 2, 3, 4])

    expect(await (await scene.skep.start(both, { userId: 1 })).result()).toMatchObject({ fast: [1, 2, 3] })
    never.open()
  })

  it('B46, B48–B50: a task that spawned tasks can be asked for their results', async () => {
    const scene = openScene()
    const starMap = queue<number, string>('star-map')
    scene.skep.worker([
      starMap.handle(async ({ payload, spawn }) => {
        const children = Array.from({ length: payload }, (_, n) => squareMap.job(n + 1))
        const { id } = await spawn(children)
        return id
      }),
      squareMap.handle(({ payload }) => payload * payload),
    ])

    const id = await (await scene.skep.enqueue(starMap, 3)).result()
    await scene.until(async () => (await scene.counts('square-map')).done === 3)

    const squares = await scene.skep.groups.results(id)
    expect(squares.map((one) => (one?.ok ? one.result : null))).toEqual([1, 4, 9])
  })
})

describe('Vitess', () => {
  it('V63: fires another event when all of a group are done, and not before', async () => {
    const scene = openScene()
    const event = queue<string>('event')
    const fired: string[] = []
    const last = gate()
    scene.skep.worker([
      event.handle(async ({ payload }) => {
        if (payload === 'c') await last.promise
        if (payload.startsWith('all')) fired.push(payload)
      }),
    ])
    await scene.skep.groups.batch(
      ['a', 'b', 'c'].map((name) => event.job(name)),
      { onSuccess: event.job('all of customer 7') },
    )
    await scene.until(async () => (await scene.counts('event')).done === 2)
    await scene.advance(60_000)
    expect(fired).toEqual([])

    last.open()
    await scene.until(() => fired.length > 0)

    expect(fired).toEqual(['all of customer 7'])
  })
})
