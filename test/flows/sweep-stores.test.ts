import { describe, expect, it, onTestFinished } from 'vitest'
import { flowMaker } from '../../src/client/flows/flow-handlers.ts'
import { createSkep, first, flow, type Handler, queue, type Skep, silentLogger } from '../../src/index.ts'
import { Sweeper } from '../../src/maintenance/flow-sweeper.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryWorld, postgresWorld, redisWorld, sqliteWorld, WORLDS } from './worlds.ts'

const runtime = systemRuntime()
const start = queue<{ n: number }, { n: number }>('start')
const item = queue<number, number>('item')

const chain = flow('chain', (f) => f.step(start).step(start, { name: 'end' }))
const many = flow('many', (f) =>
  f
    .step(start)
    .each('items', item, () => [1, 2, 3, 4, 5])
    .each('some', item, () => [1, 2, 3, 4], first(2))
    .parallel({ one: (g) => g.step(start, { name: 'inside' }).sleep(5), two: start })
    .repeat({ most: 2 }, (g) => g.step(start, { name: 'again' })),
)

const handlers = (): Handler[] => [
  start.handle(({ payload }) => ({ n: payload.n })),
  item.handle(({ payload }) => payload),
]

function client(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  onTestFinished(() => skep.close())
  return skep
}

function opened(world: { open(): Store }): Store {
  const store = world.open()
  onTestFinished(() => store.close())
  return store
}

/** A sweeper that sweeps when the test says so, and what it said. */
function sweeperOn(store: Store): { sweep(): Promise<void>; said: string[] } {
  const said: string[] = []
  const logger: Logger = { ...silentLogger, error: (message) => void said.push(message) }
  const prepare = (): never => {
    throw new Error('It makes no jobs of steps.')
  }
  const maker = flowMaker({ space: 'default', runtime, prepare, payloadBytes: 1_000_000 })
  const sweeper = new Sweeper({
    store,
    notifier: localNotifier({ runtime }),
    runtime,
    logger,
    space: 'default',
    maker,
  })
  return {
    said,
    async sweep() {
      while (await sweeper.sweepGroups());
      while (await sweeper.sweepRuns());
    },
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise<void>((resolve) => runtime.timer(10, resolve))
}

describe.each(Object.entries(WORLDS))('Sweeping on %s', (_name, createWorld) => {
  /** A run of `chain` whose first step is done, and that nobody has moved on. */
  async function stuckWorld() {
    const world = await createWorld()
    const store = world.open()
    const skep = client(store)
    const steps = skep.worker(handlers())
    const run = await skep.start(chain, { n: 7 })
    await until(async () => (await skep.queues.list(['flow:chain']))[0]?.ready === 1)
    await steps.stop()
    const { said, sweep } = sweeperOn(store)
    const resume = (): void => void skep.worker([chain, ...handlers()])
    return { world, store, skep, run, said, sweep, resume }
  }

  it('tells a run again of what happened when the job that said so was purged', async () => {
    const { skep, run, said, sweep, resume } = await stuckWorld()
    await sweep()
    expect(said).toEqual([])
    await skep.queues.purge('flow:chain')
    expect((await skep.queues.list(['flow:chain']))[0]?.ready).toBe(0)

    await sweep()
    await sweep()

    expect(said).toEqual([expect.stringContaining(`Run "${run.id}"`)])
    resume()
    expect(await run.result({ timeout: '20s' })).toEqual({ n: 7 })
  })

  it('tells a run whose group ended without having fired', async () => {
    const { world, skep, run, said, sweep, resume } = await stuckWorld()
    await skep.queues.purge('flow:chain')
    await world.sql(`update skep.groups set fired = 0, ended_at = null where run = '${run.id}'`)

    await sweep()

    expect(said).toEqual([expect.stringMatching(/^Group ".*" had not fired when it should have/)])
    resume()
    expect(await run.result({ timeout: '20s' })).toEqual({ n: 7 })
  })

  it('counts again where counts are wrong', async () => {
    const { world, skep, run, said, sweep, resume } = await stuckWorld()
    await skep.queues.purge('flow:chain')
    await world.sql(`update skep.groups set done = 0, fired = 0, ended_at = null where run = '${run.id}'`)

    await sweep()

    expect(said).toEqual([expect.stringMatching(/^Group ".*" had counted its members wrongly/)])
    resume()
    expect(await run.result({ timeout: '20s' })).toEqual({ n: 7 })
  })

  it('ends a page where many outcomes were counted', async () => {
    const world = await createWorld()
    const skep = client(world.open())
    const drafts = Array.from({ length: 3 }, (_, n) => item.job(n))
    const groups = [await skep.groups.group(drafts), await skep.groups.group(drafts)]
    const [large, small] = groups.map(({ id }) => id).sort() as [string, string]
    await world.sql(world.manyOutcomes(large, 20_000))
    await world.sql(`update skep.groups set size = 30000, need = 30000, done = 20000 where id = '${large}'`)
    const store = opened(world)

    const first = await store.auditGroups({ limit: 10, cursor: null })
    const second = await store.auditGroups({ limit: 10, cursor: first.cursor })

    expect([first, second].map(({ mended, cursor }) => [mended, cursor])).toEqual([
      [[], large],
      [[], null],
    ])
    await world.sql(`update skep.groups set done = 1 where id in ('${large}', '${small}')`)
    const both = [await store.auditGroups({ limit: 10, cursor: null })]
    both.push(await store.auditGroups({ limit: 10, cursor: large }))
    expect(new Set(both.flatMap(({ mended }) => mended.map(({ group }) => group)))).toEqual(
      new Set([large, small]),
    )
  })

  it('ends a run whose group is gone as failed, and it can be retried', async () => {
    const { world, run, said, sweep, resume } = await stuckWorld()
    expect(await world.sql(`delete from skep.groups where run = '${run.id}'`)).toBe(1)

    await sweep()

    expect(said).toEqual([expect.stringContaining('waited for a group that no longer exists')])
    expect(await run.get()).toMatchObject({ status: 'failed' })
    resume()
    expect(await run.retry()).toBe(true)
    expect(await run.result({ timeout: '20s' })).toEqual({ n: 7 })
  })
})

describe.each(
  Object.entries({
    memory: async () => memoryWorld(),
    sqlite: sqliteWorld,
    postgres: postgresWorld,
    redis: redisWorld,
  }),
)('Sweeping a healthy %s store', (_name, createWorld) => {
  it('finds nothing, however fast its runs move', async () => {
    const world = await createWorld()
    const skeps = [client(world.open()), client(world.open())]
    for (const skep of skeps) skep.worker([chain, many, ...handlers()], { concurrency: 20 })
    const { said, sweep } = sweeperOn(opened(world))
    const [skep] = skeps as [Skep, Skep]
    await skep.ready()

    let isOver = false
    let sweeps = 0
    const sweeping = (async () => {
      for (; !isOver; sweeps++) {
        await sweep()
        await new Promise<void>((resolve) => runtime.timer(0, resolve))
      }
    })()
    const runs = await Promise.all(
      Array.from({ length: 60 }, (_, n) => skep.start(n % 3 === 0 ? many : chain, { n })),
    )
    await Promise.all(runs.map((run) => run.result({ timeout: '40s' })))
    isOver = true
    await sweeping

    expect(said).toEqual([])
    expect(sweeps).toBeGreaterThan(5)
  }, 60_000)
})
