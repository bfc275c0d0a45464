import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClaimedJob, NewJob } from '../../src/core/jobs/job.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { ClaimCall, Settlement, Store, StoreInTransaction } from '../../src/store/store.ts'
import { membersOf, newGroup } from './flow-samples.ts'
import { chanceOf, LockStorm } from './lock-storm.ts'
import { createWorld, eventually, finish, newJob, take, uuid, verdict, type World } from './world.ts'

const STORM_MS = 8_000
const KINDS = ['insert', 'group', 'claim', 'settle', 'rescue', 'change', 'extend', 'move', 'tell']
const ACTORS = 8

/** A pool that keeps the errors which its server answered with, also those after which the store tries again. */
function watchedPool({ url }: World): { pool: pg.Pool; errors: pg.DatabaseError[] } {
  const pool = new pg.Pool({ connectionString: url, max: ACTORS, options: '-c deadlock_timeout=50ms' })
  onTestFinished(() => pool.end())
  const errors: pg.DatabaseError[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    client.query = ((...args: unknown[]) => {
      const sent = query(...args)
      sent?.catch?.((error: unknown) => errors.push(error as pg.DatabaseError))
      return sent
    }) as typeof client.query
  })
  return { pool, errors }
}

async function deadlocks({ sql }: World): Promise<number> {
  await sql('select pg_stat_clear_snapshot()')
  const [row] = await sql(
    'select deadlocks::integer as n from pg_stat_database where datname = current_database()',
  )
  return row?.['n']
}

async function inTransaction(
  world: World,
  store: Store,
): Promise<{ within: StoreInTransaction; commit(): Promise<unknown> }> {
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  return { within: store.within!(client), commit: () => client.query('commit') }
}

/** Whether some session waits for a lock. */
async function hasWaiters({ sql }: World): Promise<boolean> {
  return (await sql('select 1 from pg_locks where not granted limit 1')).length > 0
}

const oneOf = (queue: string): ClaimCall => ({
  sources: [{ space: 'acme', queue, limit: 1 }],
  workerId: 'worker',
  token: uuid(),
  leaseMs: 60_000,
  limit: 1,
})

const keyed = (key: string, difference: Partial<NewJob> = {}): NewJob =>
  newJob({ unique: { key, scope: 'active', windowMs: 0, onConflict: 'ignore' }, ...difference })

describe('a transaction that is open for long', () => {
  it('keeps no worker waiting with a key that was held', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: [keyed('a')] })
    const [held] = await take(store)
    const { within, commit } = await inTransaction(world, store)

    const { results } = await within.insert({ jobs: [keyed('a'), newJob()] })
    await finish(store, [held!])

    expect(results[0]).toMatchObject({ status: 'duplicate', id: held!.id })
    expect((await store.insert({ jobs: [keyed('a')] })).results).toMatchObject([{ status: 'ok' }])
    await commit()
  })

  it('keeps no worker waiting with a key that another took while it waited for it', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const span = { key: 'a', scope: 'window', windowMs: 1, onConflict: 'ignore' } as const
    const [old, taken, late] = [span, { ...span, scope: 'queued' }, span].map((unique) =>
      newJob({ unique: unique as NewJob['unique'] }),
    ) as [NewJob, NewJob, NewJob]
    await store.insert({ jobs: [old] })
    await finish(store, await take(store))
    const [one, other] = [await inTransaction(world, store), await inTransaction(world, store)]
    await one.within.insert({ jobs: [taken] })
    const inserting = other.within.insert({ jobs: [late] })
    await eventually('the second to wait', () => hasWaiters(world))
    await one.commit()
    const { results } = await inserting

    expect(results).toMatchObject([{ status: 'duplicate', id: taken.id }])
    // Its start lets go of the key.
    expect((await take(store)).map(({ id }) => id)).toEqual([taken.id])
    await other.commit()
  })

  it('keeps no worker waiting with a job that began while it wanted to replace it', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: [keyed('a')] })
    const [worker, other] = [await inTransaction(world, store), await inTransaction(world, store)]
    const { jobs } = (await worker.within.settle({ settlements: [], claim: oneOf('mail') })).claimed!
    const replacing = other.within.insert({
      jobs: [newJob({ unique: { key: 'a', scope: 'active', windowMs: 0, onConflict: 'replace' } })],
    })
    await eventually('the second to wait', () => hasWaiters(world))
    await worker.commit()
    const { results } = await replacing

    expect(results).toMatchObject([{ status: 'duplicate', id: jobs[0]!.id, action: 'ignored' }])
    await finish(store, jobs)
    await other.commit()
  })

  it('keeps nobody waiting with members that it adds to a group', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const group = newGroup(3)
    await store.insert({ groups: [group], jobs: membersOf(group).slice(0, 2) })
    const held = await take(store)
    const { within, commit } = await inTransaction(world, store)

    const late = newJob({ member: { group: group.id, n: 2 } })
    await within.insert({ jobs: [late] })
    await finish(store, held)
    const other = newGroup(1)
    await store.insert({ groups: [other], jobs: membersOf(other) })
    await finish(store, await take(store))
    await commit()
    await finish(store, (await store.claim({ ...oneOf('mail'), ids: [late.id] })).jobs)

    const { groups } = await store.getGroups({ space: 'acme', ids: [group.id, other.id] })
    expect(groups.map((one) => one?.fired)).toEqual([
      ['success', 'settled'],
      ['success', 'settled'],
    ])
  })

  it('does not wait for another, each letting go of the key that the other wants', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: [keyed('a'), keyed('b')] })
    const [a, b] = await take(store)
    const [one, other] = [await inTransaction(world, store), await inTransaction(world, store)]
    const settle = (job: ClaimedJob, key: string): Settlement => ({
      space: job.space,
      id: job.id,
      token: job.token,
      verdict: verdict(),
      enqueue: [keyed(key)],
    })

    const first = await one.within.settle({ settlements: [settle(a!, 'b')] })
    const second = await other.within.settle({ settlements: [settle(b!, 'a')] })
    await one.commit()
    await other.commit()

    // When they asked, it was held.
    expect([...first.results, ...second.results]).toMatchObject([
      { status: 'ok', inserted: [{ status: 'duplicate', id: b!.id }] },
      { status: 'ok', inserted: [{ status: 'duplicate', id: a!.id }] },
    ])
  })
})

describe('groups, runs, unique keys and lanes', () => {
  it('are locked in one order by all who use them', { timeout: STORM_MS + 60_000 }, async () => {
    const world = await createWorld()
    const { pool, errors } = watchedPool(world)
    const store = await world.open({ pool, migrate: true, listen: false })
    const seed = Math.floor(systemRuntime().random() * 2 ** 32)
    const storm = new LockStorm(store, chanceOf(seed))
    const { mono } = systemRuntime()
    const began = mono()
    // On a busy machine it takes longer until everything was done often enough.
    const isOver = (): boolean => {
      const lastedMs = mono() - began
      return lastedMs > STORM_MS && (KINDS.every((kind) => (storm.done[kind] ?? 0) > 5) || lastedMs > 40_000)
    }

    await Promise.all(
      Array.from({ length: ACTORS }, async () => {
        while (!isOver()) await storm.step()
      }),
    )

    // An insert is sent again, in another way, when an id was there already.
    const told = errors
      .filter(({ code }) => code !== '23505')
      .map(({ code, message, where, detail }) => ({ code, message, where, detail }))
    expect(told, `seed ${seed}`).toEqual([])
    expect(await deadlocks(world)).toBe(0)
    // Not only the waiting has to come to an end.
    for (const kind of KINDS) expect(storm.done[kind], kind).toBeGreaterThan(5)
    expect((await store.auditGroups({ limit: 100_000, cursor: null })).mended).toEqual([])
    expect(await wrong(world)).toEqual([])
  })
})

/** Groups whose counts are not those of their outcomes; events that fired without their job, or the other way round. */
function wrong({ sql }: World): Promise<unknown[]> {
  return sql(`
    with seen as materialized (
        select x.id from skep.jobs x union select x.id from skep.archive x union select unnest(x.ids) from skep.discarded x
    ), event as materialized (
        select g.id, g.fired & f.bit > 0 as has_fired, (f.job ->> 'id')::uuid as job,
            f.job -> 'unique' ->> 'key' is not null as may_be_held
        from skep.groups g, lateral (values (1, g.jobs::json -> 'success'), (2, g.jobs::json -> 'failure'),
            (4, g.jobs::json -> 'settled')) as f(bit, job)
        where g.jobs is not null
    )
    select g.id, 'counts' as what from skep.groups g left join (
        select o.group_id, count(*) filter (where o.state = 3) as done, count(*) filter (where o.state <> 3) as failed
        from skep.every_outcome o group by o.group_id) o on o.group_id = g.id
    where g.done <> coalesce(o.done, 0) or g.failed <> coalesce(o.failed, 0)
    union all
    select e.id, 'event' from event e left join seen s on s.id = e.job
    where (s.id is not null and not e.has_fired) or (s.id is null and e.has_fired and not e.may_be_held)
    union all
    select null, 'key ' || u.key from skep.uniques u where u.job_id = '00000000-0000-0000-0000-000000000000'`)
}
