import { describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/store/store.ts'
import { createWorld, finish, newJobs, take, uuid, type World } from './world.ts'

const DAY = 86_400_000

async function states(store: Store) {
  return (await store.counts({ space: 'acme', queues: ['mail'] })).queues[0]?.states
}

async function days({ sql }: World): Promise<string[]> {
  const rows = await sql(
    `select c.relname as name from pg_class c where c.relnamespace = 'skep'::regnamespace
     and c.relname ~ '^archive_[0-9]{8}$' and c.relkind = 'r' order by 1`,
  )
  return rows.map((row) => row['name'])
}

/** Jobs that ended at this moment and are kept for this long. */
async function archive(
  store: Store,
  count: number,
  now: number,
  keepMs: number,
  to: 'done' | 'dead' = 'done',
) {
  await store.insert({ jobs: newJobs(count), now })
  const { jobs } = await store.claim({
    sources: [{ space: 'acme', queue: 'mail', limit: count }],
    limit: count,
    workerId: 'w',
    token: uuid(),
    leaseMs: 1_000,
    now,
  })
  await finish(store, jobs, { to, keepMs }, now)
}

describe('the archive of a Postgres store', () => {
  it('has a place for today and the days that follow, made at the start and by upkeep', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    expect(await days(world)).toHaveLength(3)

    await finish(store, await take(store), {})
    await store.insert({ jobs: newJobs(3) })
    await finish(store, await take(store), {})

    expect(await world.sql('select 1 from skep.archive_rest')).toEqual([])
    await store.prune({ limit: 10 })
    expect(await days(world)).toHaveLength(3)
  })

  it('drops a day as a whole when everything in it has expired, and not before', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const now = 1_700_000_000_000
    await world.sql('select skep.make_days($1)', [now])
    await archive(store, 1_000, now, 2 * DAY)
    await archive(store, 200, now, DAY)
    await archive(store, 10, now, 2 * DAY, 'dead')
    expect(await days(world)).toContain('archive_20231114')

    expect(await store.prune({ limit: 150, now: now + 1.5 * DAY })).toEqual({ pruned: 150 })
    expect(await days(world)).toContain('archive_20231114')
    expect(await store.prune({ limit: 150, now: now + 3 * DAY })).toEqual({ pruned: 1_050 })

    expect(await days(world)).not.toContain('archive_20231114')
    expect(await states(store)).toMatchObject({ done: 0, dead: 10 })
    expect(await store.prune({ limit: 150, now: now + 3 * DAY })).toEqual({ pruned: 10 })
    expect(await states(store)).toMatchObject({ done: 0, dead: 0 })
  })

  it('does not drop a day that ended just now, whose ids have to be remembered', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const midnight = Math.floor(1_700_000_000_000 / DAY) * DAY
    await world.sql('select skep.make_days($1)', [midnight - 1])
    await archive(store, 1_000, midnight - 60_000, 1_000)
    const { jobs } = await store.list({
      space: 'acme',
      queue: 'mail',
      state: 'done',
      limit: 100,
      cursor: null,
    })

    await store.prune({ limit: 1_000, now: midnight + 60_000 })
    const again = newJobs(100).map((job, n) => ({ ...job, id: (jobs[n] as { id: string }).id }))
    await store.insert({ jobs: again, again: true, now: midnight + 60_000 })

    expect(await states(store)).toMatchObject({ ready: 0, done: 0 })
    await store.prune({ limit: 10, now: midnight + 3 * DAY })
    expect(await days(world)).not.toContain('archive_20231113')
  })

  it('holds nobody up when a day cannot be dropped now', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const now = 1_700_000_000_000
    await world.sql('select skep.make_days($1)', [now])
    for (let n = 0; n < 2; n++) await archive(store, 1_000, now, DAY)
    await world.sql('begin; select 1 from skep.archive limit 1')

    await store.prune({ limit: 10, now: now + 3 * DAY })

    expect(await days(world)).toContain('archive_20231114')
    await world.sql('rollback')
    await store.prune({ limit: 10, now: now + 3 * DAY })
    expect(await days(world)).not.toContain('archive_20231114')
  })

  it('keeps a day that began without a place of its own where it is', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const now = 1_700_000_000_000
    await archive(store, 5, now, DAY)

    await world.sql('select skep.make_days($1)', [now])
    await archive(store, 5, now + 1, DAY)

    expect(await days(world)).not.toContain('archive_20231114')
    expect(await world.sql('select count(*)::int as n from skep.archive_rest')).toEqual([{ n: 10 }])
    expect(await store.prune({ limit: 100, now: now + 2 * DAY })).toEqual({ pruned: 10 })
  })
})

describe('the counts of a Postgres store', () => {
  it('agree with the jobs while many move them and others fold', async () => {
    const world = await createWorld()
    const stores = await Promise.all([1, 2].map(() => world.open({ migrate: true, listen: false })))
    const live = async (store: Store): Promise<void> => {
      for (let n = 0; n < 15; n++) {
        await store.insert({ jobs: newJobs(7) })
        const jobs = await take(store, 5)
        await finish(store, jobs.slice(0, 2))
        await finish(store, jobs.slice(2, 3), { keepMs: null })
        await finish(store, jobs.slice(3, 4), { to: 'delayed', delayMs: 3_600_000 })
        await world.sql('select skep.fold_deltas()')
      }
    }

    await Promise.all(stores.flatMap((store) => [live(store), live(store)]))

    const rows = await world.sql(
      `select coalesce(sum((state = 0)::int), 0)::int as delayed, coalesce(sum((state = 1)::int), 0)::int as ready,
        coalesce(sum((state = 2)::int), 0)::int as running, coalesce(sum((state = 3)::int), 0)::int as done
       from skep.every_job`,
    )
    expect(await states(stores[0]!)).toMatchObject(rows[0]!)
    await world.sql('select skep.fold_deltas()')
    expect(await world.sql('select 1 from skep.deltas')).toEqual([])
    expect(await states(stores[0]!)).toMatchObject(rows[0]!)
  })

  it('know all overdue jobs, folded or not, and keep nothing about those that have left', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const hour = 3_600_000
    const now = Date.now()
    const fold = (): Promise<unknown> => world.sql('select skep.fold_deltas()')
    const overdue = async (at: number): Promise<number> =>
      (await store.counts({ space: 'acme', queues: ['mail'], now: at })).queues[0]?.overdue ?? -1
    const delayed = (n: number, delayMs: number): NewJob[] => newJobs(n).map((job) => ({ ...job, delayMs }))

    await store.insert({ jobs: [...delayed(300, hour), ...delayed(20, hour + 1)], now })
    await fold()
    await store.insert({ jobs: [...delayed(30, hour), ...delayed(5, 2 * hour)], now })
    const before = [await overdue(now + hour - 1), await overdue(now + hour), await overdue(now + hour + 1)]
    await fold()
    const after = [await overdue(now + hour), await overdue(now + hour + 1), await overdue(now + 3 * hour)]
    await store.change({
      action: 'cancel',
      space: 'acme',
      target: { queue: 'mail', state: 'delayed', limit: 1_000 },
      failure: null,
      keepMs: hour,
      now,
    })
    await fold()

    expect([before, after]).toEqual([
      [0, 330, 350],
      [330, 350, 355],
    ])
    expect(await overdue(now + 3 * hour)).toBe(0)
    expect(await world.sql('select 1 from skep.dues')).toEqual([])
  })
})
