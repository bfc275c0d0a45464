import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, never, queue, type Skep, type SkepOptions } from '../../src/index.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { createWorld, uuid, type World } from './world.ts'

const mail = queue<number>('mail')
const other = queue<number>('other')

async function openSkep(world: World, options: Partial<SkepOptions> = {}): Promise<Skep> {
  const skep = createSkep({ store: await world.open({ migrate: true }), ...options })
  onTestFinished(() => skep.close())
  await skep.ready()
  return skep
}

/** A transaction of another program that has enqueued and stays open. */
async function openTransaction(world: World): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  return client
}

const hold = (client: pg.Client, key: string) =>
  client.query(`select skep.enqueue('mail', '0', unique_key => $1) as id`, [key])

describe('a unique key that an open transaction has taken', () => {
  it('delays nobody but those who need it, and they are told why', async () => {
    const world = await createWorld()
    const skep = await openSkep(world, { enqueueTimeout: '4s' })
    const stranger = await openTransaction(world)
    await hold(stranger, 'k')
    const done: string[] = []

    const callers = Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        skep.enqueue(mail, n, { unique: 'k' }).finally(() => done.push('k')),
      ),
    )
    const others = Array.from({ length: 35 }, (_, n) => skep.enqueue(other, n))
    const keyed = Array.from({ length: 20 }, (_, n) => skep.enqueue(mail, n, { unique: `free-${n}` }))
    const named = Array.from({ length: 5 }, () => skep.enqueue(mail, 1, { id: uuid() }))
    const many = skep.enqueueMany(mail, [1, 2, 3], { each: (n) => ({ unique: `many-${n}` }) })
    await Promise.all([...others, ...keyed, ...named, many])

    // All of them before the first caller of the key had an answer.
    expect(done).toEqual([])
    const failed = await callers
    expect(failed.map((one) => one.status === 'rejected' && one.reason.code)).toEqual(
      Array.from({ length: 40 }, () => 'STORE_BUSY'),
    )
    const { reason } = failed[0] as PromiseRejectedResult
    expect(reason).toMatchObject({ effect: 'none', transient: true, facts: { queue: 'mail', key: 'k' } })
    expect(reason.message).toMatch(/unique key "k" of queue "mail".*pg_stat_activity/)
    await stranger.query('rollback')
    expect((await skep.enqueue(mail, 1, { unique: 'k' })).duplicate).toBe(false)
  })

  it.each(['commit', 'rollback'])('is waited for until the %s of that transaction', async (end) => {
    const world = await createWorld()
    const skep = await openSkep(world, { enqueueTimeout: '30s' })
    const stranger = await openTransaction(world)
    const [row] = (await hold(stranger, 'k')).rows
    const callers = Array.from({ length: 10 }, (_, n) => skep.enqueue(mail, n, { unique: 'k' }))
    await skep.enqueueMany(mail, [1, 2], { each: (n) => ({ unique: `free-${n}` }) })
    await skep.enqueue(other, 1)

    await stranger.query(end)
    const jobs = await Promise.all(callers)

    expect(new Set(jobs.map(({ id }) => id)).size).toBe(1)
    expect(jobs.filter(({ duplicate }) => !duplicate)).toHaveLength(end === 'commit' ? 0 : 1)
    if (end === 'commit') expect(jobs[0]?.id).toBe(row.id)
  })

  it('delays no other key while many are held', async () => {
    const world = await createWorld()
    const skep = await openSkep(world, { enqueueTimeout: '30s' })
    const stranger = await openTransaction(world)
    const keys = Array.from({ length: 30 }, (_, n) => `k${n}`)
    for (const key of keys) await hold(stranger, key)
    let answered = 0
    const held = keys.flatMap((key, n) =>
      [0, 1].map(() => skep.enqueue(mail, n, { unique: key }).finally(() => answered++)),
    )

    for (let round = 0; round < 10; round++) {
      await Promise.all([
        skep.enqueue(mail, round, { unique: `free-${round}` }),
        skep.enqueue(other, round),
        skep.groups.group([other.job(round)]),
      ])
    }
    expect(answered).toBe(0)
    await stranger.query('commit')

    expect((await Promise.all(held)).every(({ duplicate }) => duplicate)).toBe(true)
  })

  it('does not keep the client from closing once its time has passed', async () => {
    const world = await createWorld()
    const skep = await openSkep(world, { enqueueTimeout: '1s' })
    const stranger = await openTransaction(world)
    await hold(stranger, 'k')
    const waiting = skep.enqueue(mail, 1, { unique: 'k' })
    const [closed] = await Promise.all([skep.close(), expect(waiting).rejects.toThrow(/unique key "k"/)])

    expect(closed).toBeUndefined()
  })
})

it('A given id that an open transaction has taken delays only that id', async () => {
  const world = await createWorld()
  const skep = await openSkep(world, { enqueueTimeout: '2s' })
  const stranger = await openTransaction(world)
  const id = uuid()
  await skep.enqueue(mail, 1, { id, tx: stranger })
  let isDone = false

  const again = skep.enqueue(mail, 1, { id }).finally(() => {
    isDone = true
  })
  again.catch(() => {})
  await Promise.all([skep.enqueue(other, 1), skep.enqueue(mail, 1, { id: uuid() }), skep.enqueue(mail, 2)])

  expect(isDone).toBe(false)
  await expect(again).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await stranger.query('commit')
  expect((await skep.enqueue(mail, 1, { id })).id).toBe(id)
})

it('A call that the server answers late does not hold up the next batch', async () => {
  const world = await createWorld()
  const skep = await openSkep(world)
  // Every insert into one queue waits for this transaction.
  await world.sql(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(7); return new; end $$`)
  await world.sql(
    `create trigger slow before insert on skep.jobs for each row when (new.queue = 'mail') execute function slow()`,
  )
  const stranger = await openTransaction(world)
  await stranger.query('select pg_advisory_xact_lock(7)')
  let isDone = false
  const slow = skep.enqueue(mail, 1).finally(() => {
    isDone = true
  })
  await new Promise<void>((resolve) => systemRuntime().timer(50, resolve))

  await Promise.all([skep.enqueue(other, 1), skep.enqueue(other, 2)])

  expect(isDone).toBe(false)
  await stranger.query('rollback')
  await slow
})

describe("a handler's follow-up job with a key that an open transaction has taken", () => {
  const parent = queue<number>('parent')
  const busy = queue<number, number>('busy')

  it.each(['commit', 'rollback'] as const)(
    'delays no other job of its worker, and exists once after the %s of that transaction',
    async (end) => {
      const world = await createWorld()
      const log: string[] = []
      const note = (message: string): void => void log.push(message)
      const skep = await openSkep(world, {
        logger: { debug: () => {}, info: () => {}, warn: note, error: note },
      })
      const runs: number[] = []
      const worker = skep.worker(
        [
          parent.handle(async (job) => {
            runs.push(job.payload)
            await job.enqueue(mail, job.payload, { unique: job.payload < 4 ? 'k' : `k${job.payload}` })
          }),
          busy.handle(({ payload }) => payload),
        ],
        // Renewed every second, so that an extension that waits for a lock would be seen.
        { concurrency: 10, lease: '3s' },
      )
      await worker.ready
      const stranger = await openTransaction(world)
      for (const key of ['k', 'k4', 'k5']) await hold(stranger, key)
      const parents = await skep.enqueueMany(parent, [0, 1, 2, 3, 4, 5, 6])
      await expect.poll(() => runs.length).toBe(7)

      // For longer than a lease, and than a call may wait for a lock.
      const startedAt = performance.now()
      let slowest = 0
      for (let n = 0; performance.now() - startedAt < 5_000; n++) {
        const at = performance.now()
        expect(await (await skep.enqueue(busy, n)).result({ timeout: '10s' })).toBe(n)
        slowest = Math.max(slowest, performance.now() - at)
      }
      expect(slowest).toBeLessThan(4_500)
      expect(worker.health()).toMatchObject({ status: 'running', unsaved: 6 })
      // The one whose key is free was saved at once.
      expect((await skep.jobs.get(parents[6]?.id as string))?.state).toBe('done')
      expect((await skep.jobs.get(parents[0]?.id as string))?.state).toBe('running')
      await expect.poll(() => log.some((line) => /unique key "k" of queue "mail"/.test(line))).toBe(true)

      await stranger.query(end)
      await Promise.all(parents.map((job) => job.result({ timeout: '20s' })))

      expect(runs).toHaveLength(7)
      await expect.poll(() => worker.health().unsaved).toBe(0)
      const mails = await world.sql(`select unique_key from skep.jobs where queue = 'mail' order by 1`)
      expect(mails.map(({ unique_key }) => unique_key)).toEqual(['k', 'k4', 'k5', 'k6'])
      expect(log.filter((line) => !line.includes('is not saved yet'))).toEqual([])
    },
  )

  it('and one with a given id waits in the same way', async () => {
    const world = await createWorld()
    const skep = await openSkep(world)
    const id = uuid()
    const worker = skep.worker([
      parent.handle((job) => job.enqueue(mail, 1, { id }).then(() => undefined)),
      busy.handle(({ payload }) => payload),
    ])
    await worker.ready
    const stranger = await openTransaction(world)
    await skep.enqueue(mail, 0, { id, tx: stranger })
    const waiting = await skep.enqueue(parent, 1)
    await expect.poll(() => worker.health().unsaved).toBe(1)

    for (let n = 0; n < 20; n++) expect(await (await skep.enqueue(busy, n)).result()).toBe(n)
    expect(worker.health()).toMatchObject({ status: 'running', unsaved: 1 })
    await stranger.query('rollback')
    await waiting.result()

    expect((await skep.jobs.get(id))?.payload).toBe(1)
  })

  it('does not keep its worker from stopping, which hands its job back', async () => {
    const world = await createWorld()
    const log: string[] = []
    const note = (message: string): void => void log.push(message)
    const skep = await openSkep(world, {
      logger: { debug: () => {}, info: () => {}, warn: note, error: note },
    })
    const fragile = queue<number>('fragile', { order: 'strict', onLost: never() })
    let runs = 0
    const follow = () =>
      skep.worker([
        fragile.handle(async (job) => {
          runs++
          if (job.payload === 1) await job.enqueue(mail, 1, { unique: 'k' })
        }),
      ])
    const worker = follow()
    await worker.ready
    const stranger = await openTransaction(world)
    await hold(stranger, 'k')
    const [waiting, behind] = await skep.enqueueMany(fragile, [1, 2])
    if (waiting === undefined || behind === undefined) throw new Error('Nothing was enqueued.')
    await expect.poll(() => worker.health().unsaved).toBe(1)

    await worker.stop({ drain: 0, grace: 0 })
    expect(await skep.jobs.get(waiting.id)).toMatchObject({ state: 'ready', lost: 0, errors: 0 })
    expect(log.filter((line) => /unique key "k" of queue "mail".* handed back/.test(line))).toHaveLength(1)
    const next = follow()
    await next.ready
    // Not after the rest of the lease of 30 s.
    await expect.poll(() => runs, { timeout: 5_000 }).toBe(2)
    await stranger.query('rollback')
    await Promise.all([waiting, behind].map((job) => job.result({ timeout: '20s' })))

    expect(runs).toBe(3)
    expect(await skep.jobs.get(waiting.id)).toMatchObject({ state: 'done', lost: 0 })
    expect(await world.sql(`select 1 from skep.jobs where queue = 'mail'`)).toHaveLength(1)
  }, 90_000)
})

it('An outcome that waits for the transaction of its own handler holds up no others', async () => {
  const world = await createWorld()
  const skep = await openSkep(world)
  const stranger = await openTransaction(world)
  const worker = skep.worker([
    // It forgets to commit.
    mail.handle((job) => job.complete(undefined, { tx: stranger })),
    other.handle(() => undefined),
  ])
  await worker.ready
  const open = await skep.enqueue(mail, 1)
  await expect.poll(() => worker.health().unsaved).toBe(1)

  // Longer than a usual call waits for a lock: then it goes apart.
  const startedAt = performance.now()
  while (performance.now() - startedAt < 4_000) await (await skep.enqueue(other, 1)).result()
  const at = performance.now()
  for (let n = 0; n < 10; n++) await (await skep.enqueue(other, n)).result()
  expect(performance.now() - at).toBeLessThan(5_000)
  expect(worker.health()).toMatchObject({ status: 'running', unsaved: 1 })
  await stranger.query('commit')

  await open.result()
  await expect.poll(() => worker.health().unsaved).toBe(0)
})
