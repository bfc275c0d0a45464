import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, flow, queue, type Skep, silentLogger } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type FlowWorld, memoryWorld, postgresWorld, redisWorld, sqliteWorld } from './worlds.ts'

/** `SKEP_LARGE=1` takes ten thousand steps on every store: that is minutes, because one waits for the other. */
const isFull = process.env.SKEP_LARGE === '1'
const MANY = 10_000

/** How many steps one after the other, of a chain and of a loop. */
const STEPS: Readonly<Record<string, readonly [chain: number, rounds: number]>> = {
  memory: [MANY, MANY],
  sqlite: isFull ? [MANY, MANY] : [2_000, 200],
  postgres: isFull ? [MANY, MANY] : [200, 100],
  redis: [MANY, MANY],
}

const item = queue<number, number>('item')
const parent = queue<number, number>('parent')
const after = queue<number, number>('after')
const fan = flow('fan', (f) =>
  f.input<{ n: number }>().each('items', item, ({ state }) => Array.from({ length: state.n }, (_, n) => n)),
)
const loop = flow('loop', (f) =>
  f
    .input<{ n: number }>()
    .repeat({ most: MANY, while: ({ state }, round) => round < state.n }, (g) =>
      g.step(item, { as: 'last', payload: () => 1 }),
    ),
)

/** What went to a store and came back. */
interface Traffic {
  bytes: number
  /** The longest position and state that a move has written. */
  place: number
}

function metered(store: Store, traffic: Traffic): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        traffic.bytes += JSON.stringify(args).length
        for (const text of JSON.stringify(args).match(/"position":"(\\.|[^"\\])*"/g) ?? [])
          traffic.place = Math.max(traffic.place, text.length)
        const reply = (value as (...args: unknown[]) => unknown).apply(target, args)
        if (!(reply instanceof Promise)) return reply
        return reply.then((said: unknown) => {
          traffic.bytes += JSON.stringify(said ?? null).length
          return said
        })
      }
    },
  })
}

interface Cost extends Traffic {
  /** Read by the store, if it can tell; else the time of the processor in microseconds. */
  readonly work: number
}

type World = Pick<FlowWorld, 'open' | 'rowsRead'>

/** Runs something of this size with a worker of its own, and says what it cost. */
async function cost(
  createWorld: () => Promise<World>,
  size: number,
  act: (skep: Skep, size: number, gathered: Promise<number>) => Promise<number>,
): Promise<Cost> {
  const world = await createWorld()
  const traffic = { bytes: 0, place: 0 }
  const skep = createSkep({ store: metered(world.open(), traffic), logger: silentLogger })
  onTestFinished(() => skep.close())
  await skep.ready()
  let gather: (count: number) => void = () => {}
  const gathered = new Promise<number>((resolve) => {
    gather = resolve
  })
  skep.worker(
    [
      fan,
      loop,
      item.handle(({ payload }) => payload),
      parent.handle(async ({ payload, spawn }) => {
        await spawn(
          Array.from({ length: payload }, (_, n) => item.job(n)),
          { next: after.job(0) },
        )
        return payload
      }),
      after.handle(async ({ results }) => {
        const all = await results<number>()
        gather(all.filter((one) => one.ok).length)
        return 0
      }),
    ],
    { concurrency: 100 },
  )
  const before = process.cpuUsage()
  expect(await act(skep, size, gathered)).toBe(size)
  const { user, system } = process.cpuUsage(before)
  await skep.close()
  const rows = await world.rowsRead?.()
  // Below this it is what a server reads for itself that counts.
  const work = rows === undefined ? user + system : Math.max(rows, 50 * size)
  return { ...traffic, work }
}

/** Four times as much may cost little more than four times as much; if each met all others it were sixteen times. */
async function expectLinear(
  createWorld: () => Promise<World>,
  most: number,
  act: (skep: Skep, size: number, gathered: Promise<number>) => Promise<number>,
): Promise<void> {
  const small = await cost(createWorld, most / 4, act)
  const large = await cost(createWorld, most, act)

  expect(large.bytes / small.bytes).toBeLessThan(5)
  expect(large.work / small.work).toBeLessThan(9)
  // Only the digits of how often it went round.
  expect(large.place - small.place).toBeLessThan(10)
}

describe.each(
  Object.entries({
    memory: async () => memoryWorld(),
    sqlite: sqliteWorld,
    postgres: postgresWorld,
    ...(isFull ? { redis: redisWorld } : {}),
  }),
)('On %s', (name, createWorld) => {
  const [chain, rounds] = STEPS[name] as readonly [number, number]

  it('a step has ten thousand jobs', async () => {
    await expectLinear(createWorld, MANY, async (skep, n) => {
      const { items } = await (await skep.start(fan, { n })).result()
      return items.filter((one, index) => one === index).length
    })
  }, 120_000)

  it('a handler spawns ten thousand jobs', async () => {
    await expectLinear(createWorld, MANY, async (skep, n, gathered) => {
      await skep.enqueue(parent, n)
      return gathered
    })
  }, 120_000)

  it('a group has ten thousand jobs', async () => {
    await expectLinear(createWorld, MANY, async (skep, n, gathered) => {
      const drafts = Array.from({ length: n }, (_, index) => item.job(index))
      const group = await skep.groups.group(drafts, { next: after.job(1) })
      const count = await gathered
      expect((await group.get())?.done).toBe(n)
      return count
    })
  }, 120_000)

  it(`a chain has ${chain} jobs`, async () => {
    await expectLinear(createWorld, chain, async (skep, n, gathered) => {
      const drafts = Array.from({ length: n - 1 }, (_, index) => item.job(index))
      const last = await skep.groups.chain([...drafts, after.job(1)])
      // The last hears of the one before it.
      return (await gathered) === 1 && (await last.get())?.size === 1 ? n : 0
    })
  }, 300_000)

  it(`a loop goes round ${rounds} times, and its run does not grow`, async () => {
    await expectLinear(createWorld, rounds, async (skep, n) => {
      const { last } = (await (await skep.start(loop, { n })).result()) as { last?: number }
      return last === 1 ? n : 0
    })
  }, 600_000)
})

describe('A flow of ten thousand steps', () => {
  it('is declared by a loop, and goes through all of them', async () => {
    const count = queue<{ n: number }, { n: number }>('count')
    const long = flow('long', (f) => {
      let steps = f.input<{ n: number }>()
      for (let n = 0; n < MANY; n++) steps = steps.step(count, { name: `step-${n}` })
      return steps
    })
    const skep = createSkep({ store: memoryWorld().open(), logger: silentLogger })
    onTestFinished(() => skep.close())
    skep.worker([long, count.handle(({ payload }) => ({ n: payload.n + 1 }))])

    const run = await skep.start(long, { n: 0 })

    expect(await run.result()).toEqual({ n: MANY })
  }, 120_000)
})
