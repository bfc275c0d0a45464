import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { createWorld, eventually, newJobs } from '../../postgres/world.ts'

it('a call of the Postgres store that was the victim of a deadlock is made again, and nobody hears of it', async () => {
  const { open, sql, url } = await createWorld()
  const store = await open({ migrate: true })
  const jobs = newJobs(2)
  const [first, second] = jobs.map(({ id }) => id) as [string, string]
  await store.insert({ jobs })
  const user = new pg.Client({ connectionString: url })
  await user.connect()
  onTestFinished(() => user.end())
  const lock = (id: string): Promise<unknown> =>
    user.query('select 1 from skep.jobs where id = $1 for update', [id])

  // The user's session is in no hurry to look for deadlocks, so it is the store's that finds this one and gives way.
  await user.query(`begin; set local deadlock_timeout = '60s'`)
  await lock(second)
  const changing = store.change({
    action: 'cancel',
    space: 'acme',
    target: { ids: [first, second] },
    failure: null,
    keepMs: 60_000,
  })
  await eventually('the store to wait for the second job', async () => {
    const waiting = await sql(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like '%change_jobs%'`,
    )
    return waiting.length > 0
  })
  await lock(first)
  await user.query('commit')

  expect(await changing).toMatchObject({
    results: [
      { id: first, status: 'ok' },
      { id: second, status: 'ok' },
    ],
  })
})
