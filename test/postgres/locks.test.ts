import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRuntime } from '../../src/runtime.ts'
import { chanceOf, LockStorm } from './lock-storm.ts'
import { createWorld, type World } from './world.ts'

const STORM_MS = Number(process.env['STORM_MS'] ?? 8_000)
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
  const [row] = await sql('select deadlocks::integer as n from pg_stat_database where datname = current_database()')
  return row?.['n']
}

describe('groups, runs, unique keys and lanes', () => {
  it('are locked in one order by all who use them', { timeout: STORM_MS + 60_000 }, async () => {
    const world = await createWorld()
    const { pool, errors } = watchedPool(world)
    const store = await world.open({ pool, migrate: true, listen: false })
    const seed = Number(process.env['STORM_SEED'] ?? Math.floor(systemRuntime().random() * 2 ** 32))
    const storm = new LockStorm(store, chanceOf(seed))
    const { mono } = systemRuntime()
    const ends = mono() + STORM_MS

    await Promise.all(
      Array.from({ length: ACTORS }, async () => {
        while (mono() < ends) await storm.step()
      }),
    )

    const told = errors.filter(({ code }) => code !== '23505').map(({ code, message, where, detail }) => ({ code, message, where, detail }))
    if (process.env['STORM_SHOW']) console.log(seed, storm.done, errors.length, JSON.stringify(told, null, 1).replaceAll('\\n', '\n').slice(0, 6000))
    expect(told, `seed ${seed}`).toEqual([])
    expect(await deadlocks(world), `seed ${seed}`).toBe(0)
    // Not only the waiting has to come to an end.
    for (const what of ['insert', 'group', 'claim', 'settle', 'rescue', 'change', 'extend', 'move', 'tell']) {
      expect(storm.done[what], what).toBeGreaterThan(10)
    }
    expect((await store.auditGroups({ limit: 100_000, cursor: null })).mended).toEqual([])
    expect(await wrong(world)).toEqual([])
  })
})

/** Groups whose counts are not those of their outcomes, and events whose jobs are there although they did not fire, or not. */
function wrong({ sql }: World): Promise<unknown[]> {
  return sql(`
    select g.id, 'counts' as what from skep.groups g, lateral (
        select count(*) filter (where o.state = 3) as done, count(*) filter (where o.state <> 3) as failed
        from skep.outcomes o where o.group_id = g.id) o
    where g.done <> o.done or g.failed <> o.failed
    union all
    select g.id, f.event::text from skep.groups g,
        lateral (values (1, g.jobs::json -> 'success'), (2, g.jobs::json -> 'failure'), (4, g.jobs::json -> 'settled'))
            as f(event, job),
        lateral (select (f.job ->> 'id')::uuid as id, json_typeof(f.job -> 'unique') = 'object' as is_keyed) j,
        lateral (select exists (select 1 from skep.jobs x where x.id = j.id) or exists (
            select 1 from skep.archive x where x.id = j.id) or exists (
            select 1 from skep.discarded d where j.id = any(d.ids)) as is_there) e
    where f.job is not null and ((g.fired & f.event = 0 and e.is_there)
        or (g.fired & f.event > 0 and not e.is_there and not j.is_keyed))`)
}
