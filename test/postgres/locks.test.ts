import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRuntime } from '../../src/runtime.ts'
import { chanceOf, LockStorm } from './lock-storm.ts'
import { createWorld, type World } from './world.ts'

const STORM_MS = 8_000
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

describe('groups, runs, unique keys and lanes', () => {
  it('are locked in one order by all who use them', { timeout: STORM_MS + 60_000 }, async () => {
    const world = await createWorld()
    const { pool, errors } = watchedPool(world)
    const store = await world.open({ pool, migrate: true, listen: false })
    const seed = Math.floor(systemRuntime().random() * 2 ** 32)
    const storm = new LockStorm(store, chanceOf(seed))
    const { mono } = systemRuntime()
    const ends = mono() + STORM_MS

    await Promise.all(
      Array.from({ length: ACTORS }, async () => {
        while (mono() < ends) await storm.step()
      }),
    )

    // An insert is sent again, in another way, when an id was there already.
    const told = errors
      .filter(({ code }) => code !== '23505')
      .map(({ code, message, where, detail }) => ({ code, message, where, detail }))
    expect(told, `seed ${seed}`).toEqual([])
    expect(await deadlocks(world), `seed ${seed}`).toBe(0)
    // Not only the waiting has to come to an end.
    for (const what of ['insert', 'group', 'claim', 'settle', 'rescue', 'change', 'extend', 'move', 'tell']) {
      expect(storm.done[what], what).toBeGreaterThan(5)
    }
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
        from skep.outcomes o group by o.group_id) o on o.group_id = g.id
    where g.done <> coalesce(o.done, 0) or g.failed <> coalesce(o.failed, 0)
    union all
    select e.id, 'event' from event e left join seen s on s.id = e.job
    where (s.id is not null and not e.has_fired) or (s.id is null and e.has_fired and not e.may_be_held)
    union all
    select null, 'key ' || u.key from skep.uniques u where u.job_id = '00000000-0000-0000-0000-000000000000'`)
}
