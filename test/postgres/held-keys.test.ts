import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, type Skep, type SkepOptions } from '../../src/index.ts'
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
