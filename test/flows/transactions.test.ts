// Groups and runs in a transaction of the user's, and the end of a handler with what it spawns.
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, flow, queue, type RunHandle, type Skep, type WorkerOptions } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase } from '../servers/index.ts'
import { freshFile } from '../sqlite/support.ts'
import { until } from '../threads/support.ts'

const square = queue<number, number>('square')
const sum = queue<string, number>('sum')
const parent = queue<number, string>('parent')
const step = queue<{ n: number }, { a: number }>('step')
const order = flow('order', (f) =>
  f.step(step).parallel({ left: (g) => g.step(step, { name: 'inner' }), right: step }),
)

interface World {
  readonly skep: Skep
  /** Runs `use` in a transaction, and rolls it back if that throws. */
  transact(use: (tx: unknown) => Promise<void>): Promise<void>
}

const worlds: readonly [string, () => Promise<World>][] = [
  [
    'sqlite',
    async () => {
      const file = freshFile()
      const skep = createSkep({ store: sqliteStore({ file }) })
      await skep.ready()
      const handle = new DatabaseSync(file)
      onTestFinished(async () => {
        handle.close()
        await skep.close()
      })
      const run = async (sql: string): Promise<void> => handle.exec(sql)
      return { skep, transact: (use) => between(run, 'begin immediate', () => use(handle)) }
    },
  ],
  [
    'postgres',
    async () => {
      const database = await freshDatabase()
      const skep = createSkep({ store: postgresStore({ url: database.url, migrate: true }) })
      await skep.ready()
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      onTestFinished(async () => {
        await client.end()
        await skep.close()
        await database.drop()
      })
      return {
        skep,
        transact: (use) =>
          between(
            (sql) => client.query(sql),
            'begin',
            () => use(client),
          ),
      }
    },
  ],
]

async function between(
  run: (sql: string) => Promise<unknown>,
  begin: string,
  use: () => Promise<void>,
): Promise<void> {
  await run(begin)
  try {
    await use()
    await run('commit')
  } catch (error) {
    await run('rollback')
    throw error
  }
}

/** A worker that finds nothing by itself: it needs the hint. */
const patient: WorkerOptions = { poll: '10m' }

const undo = (): never => {
  throw new Error('undo')
}

const readyOf = async (skep: Skep): Promise<number> =>
  (await skep.queues.list()).reduce((all, { ready, delayed }) => all + ready + delayed, 0)

/** What of it can be done in a transaction, and how many jobs each has at first. */
const acts: readonly [string, number, (skep: Skep, tx: unknown) => Promise<unknown>][] = [
  ['a run', 1, (skep, tx) => skep.start(order, { n: 1 }, { tx })],
  ['a run with an id', 1, (skep, tx) => skep.start(order, { n: 1 }, { tx, id: skepId })],
  ['a run with a delay', 1, (skep, tx) => skep.start(order, { n: 1 }, { tx, delay: '1h' })],
  ['a group', 2, (skep, tx) => skep.groups.group([square.job(1), square.job(2)], { tx })],
  ['an empty group', 1, (skep, tx) => skep.groups.group([], { tx, next: sum.job('next') })],
  ['a chain', 1, (skep, tx) => skep.groups.chain([square.job(1), square.job(2)], { tx })],
  ['a chord', 2, (skep, tx) => skep.groups.chord([square.job(1), square.job(2)], sum.job('body'), { tx })],
  ['a batch', 1, (skep, tx) => skep.groups.batch([square.job(1)], { tx, onSuccess: sum.job('all') })],
  [
    'an open group',
    2,
    async (skep, tx) => {
      const group = await skep.groups.open<number>('key', { tx, next: sum.job('next') })
      await group.add([square.job(1)], { tx })
      await group.add([square.job(2)], { tx, seal: true })
    },
  ],
  ['a map', 3, (skep, tx) => skep.groups.map(square, [1, 2, 3], { tx })],
]

const skepId = '01a31c50-0000-7000-8000-000000000001'

describe.each(worlds)('in a transaction on %s', (_name, open) => {
  it('a start finds the run of its id, and is refused when that is a run of another flow', async () => {
    const { skep, transact } = await open()
    const other = flow('other', (f) => f.step(step))
    const found: boolean[] = []
    await transact(async (tx) => {
      for (const _ of [1, 2]) {
        found.push((await skep.start(order, { n: 1 }, { tx, id: skepId })).duplicate)
      }
    })
    await transact(async (tx) => {
      found.push((await skep.start(order, { n: 1 }, { tx, id: skepId })).duplicate)
    })
    // The job that begins the run has left.
    const work = [order, other, step.handle(({ payload }) => ({ a: payload.n }))]
    const worker = skep.worker(work)
    await skep.runs.run(skepId).result()
    await worker.stop()
    const before = await readyOf(skep)

    const refused = transact(async (tx) => void (await skep.start(other, { n: 1 }, { tx, id: skepId })))

    await expect(refused).rejects.toMatchObject({
      code: 'ID_TAKEN',
      facts: { id: skepId, flow: 'order' },
    })
    expect(found).toEqual([false, true, true])
    expect([await readyOf(skep), before]).toEqual([0, 0])
    await transact(async (tx) => {
      found.push((await skep.start(order, { n: 1 }, { tx, id: skepId })).duplicate)
    })
    expect(found.at(-1)).toBe(true)
  })

  it('all kinds of groups and starts exist with the commit, and not without', async () => {
    const { skep, transact } = await open()
    let before = 0
    for (const [name, jobs, act] of acts) {
      const rolledBack = transact(async (tx) => {
        await act(skep, tx)
        undo()
      })
      await expect(rolledBack).rejects.toThrow('undo')
      expect([name, await readyOf(skep)]).toEqual([name, before])

      await transact(async (tx) => void (await act(skep, tx)))
      expect([name, await readyOf(skep)]).toEqual([name, before + jobs])
      before += jobs
    }
    expect((await skep.runs.list()).runs).toHaveLength(3)
  })

  it('a run goes on as soon as it has committed', async () => {
    const { skep, transact } = await open()
    await skep.worker([order, step.handle(({ payload }) => ({ a: payload.n + 1 }))], patient).ready
    const runs: RunHandle<unknown>[] = []
    await transact(async (tx) => void runs.push(await skep.start(order, { n: 1 }, { tx })))

    expect(await runs[0]?.result()).toMatchObject({
      a: 2,
      left: { a: 2 },
      right: { a: 2 },
    })
  })

  it('a handler ends together with what it spawns, and what follows starts at once', async () => {
    const { skep, transact } = await open()
    const seen: string[] = []
    let tries = 0
    await skep.worker(
      [
        parent.handle(async ({ payload, spawn, complete }) => {
          const children = Array.from({ length: payload }, (_, n) => square.job(n))
          await spawn(children, { next: sum.job(`after ${payload}`) })
          const ending = transact(async (tx) => {
            await complete('done', { tx })
            if (++tries === 1) undo()
          })
          await ending
          return 'ignored'
        }),
        square.handle(({ payload }) => payload),
        sum.handle(async ({ payload, results }) => seen.push(`${payload}: ${(await results()).length}`)),
      ],
      patient,
    ).ready

    const job = await skep.enqueue(parent, 3)
    await until(() => seen.length === 1)
    const empty = await skep.enqueue(parent, 0)
    await until(() => seen.length === 2)

    expect(await job.result()).toBe('done')
    expect(await empty.result()).toBe('done')
    expect(seen).toEqual(['after 3: 3', 'after 0: 0'])
    expect((await skep.queues.list([square]))[0]?.done).toBe(3)
  })

  it('a chain goes on with the commit, and with what was given in it', async () => {
    const { skep, transact } = await open()
    const seen: unknown[] = []
    let tries = 0
    await skep.worker(
      [
        parent.handle(async ({ complete }) => {
          await transact(async (tx) => {
            await complete('given', { tx })
            if (++tries === 1) undo()
          })
          return 'ignored'
        }),
        sum.handle(async ({ results, headers }) => seen.push(await results(), headers)),
      ],
      patient,
    ).ready

    const chain = await skep.groups.chain([parent.job(1), sum.job('last')])
    await until(() => seen.length > 0)
    await until(async () => (await chain.get())?.endedAt != null)

    expect(seen).toEqual([[{ ok: true, result: 'given' }], {}])
    expect(await chain.get()).toMatchObject({ size: 1, done: 1, failed: 0 })
  })
})
