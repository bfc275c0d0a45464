import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { membersOf, newGroup } from '../../postgres/flow-samples.ts'
import { createWorld, eventually } from '../../postgres/world.ts'

it('a call of the Postgres store that was the victim of a deadlock is made again, and nobody hears of it', async () => {
  const { open, sql, url } = await createWorld()
  const store = await open({ migrate: true })
  const group = newGroup(1)
  const jobs = membersOf(group)
  const id = jobs[0]?.id as string
  await store.insert({ jobs, groups: [group] })
  const user = new pg.Client({ connectionString: url })
  await user.connect()
  onTestFinished(() => user.end())

  // The user's session is in no hurry to look for deadlocks, so it is the store's that finds this one and gives way.
  await user.query(`begin; set local deadlock_timeout = '60s'`)
  // The store takes a job before its group, always; the user takes them the other way round.
  await user.query('select 1 from skep.groups where id = $1 for update', [group.id])
  const changing = store.change({
    action: 'cancel',
    space: 'acme',
    target: { ids: [id] },
    failure: null,
    keepMs: 60_000,
  })
  await eventually('the store to wait for the group', async () => {
    const waiting = await sql(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like '%change_jobs%'`,
    )
    return waiting.length > 0
  })
  await user.query('select 1 from skep.jobs where id = $1 for update', [id])
  await user.query('commit')

  expect(await changing).toMatchObject({ results: [{ id, status: 'ok' }] })
  await eventually('the server to tell of the deadlock', async () => {
    const told = await sql(
      'select 1 from pg_stat_database where datname = current_database() and deadlocks > 0',
    )
    return told.length > 0
  })
})
