import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rankOf } from '../../src/core/jobs/job.ts'
import { storedPriority } from '../../src/core/jobs/priority.ts'
import { type Runtime, systemRuntime } from '../../src/runtime/runtime.ts'
import type { Source, Store } from '../../src/store/store.ts'
import { createWorld, eventually, newJob, newJobs, take, uuid, type World } from './world.ts'

const strict = (priority: number): number => storedPriority(priority, 'strict')

/** A runtime whose clock for pauses stands still, so that no claim looks at the head of the line by itself. */
function standing(): { runtime: Runtime; clock: { now: number } } {
  const clock = { now: 1_000 }
  return { runtime: { ...systemRuntime(), mono: () => clock.now }, clock }
}

/** A store that has taken a job of priority 0 and remembers its place, and another handle on the same jobs. */
async function scene() {
  const world = await createWorld()
  const { runtime, clock } = standing()
  const here = await world.open({ migrate: true, listen: false, runtime })
  const there = await world.open({ listen: false })
  await here.insert({ jobs: newJobs(5) })
  await take(here, 1)
  return { world, here, there, clock }
}

function claim(store: Store, sources: readonly Source[], limit = 1) {
  return store.claim({ sources, limit, workerId: 'worker', token: uuid(), leaseMs: 60_000 })
}

/** Waits until a delayed job is due by the server's clock. */
function isDue(world: World, id: string): Promise<void> {
  return eventually('the job to be due', async () => {
    const due = `select 1 from skep.jobs where id = $1 and due_at <= extract(epoch from clock_timestamp()) * 1000`
    return (await world.sql(due, [id])).length > 0
  })
}

describe('a strict job that another process inserted', () => {
  it('is taken first by the next claim, if its hint came', async () => {
    const { here, there } = await scene()
    const urgent = newJob({ priority: strict(1) })
    const { results } = await there.insert({ jobs: [urgent] })
    const dueAt = results[0]?.status === 'ok' ? results[0].dueAt : Number.NaN

    const hintedRank = rankOf(dueAt, urgent.priority)
    const { jobs } = await claim(here, [{ space: 'acme', queue: 'mail', limit: 1, hintedRank }])

    expect(jobs.map(({ id }) => id)).toEqual([urgent.id])
  })

  it('is taken first at the next look at the head, 200 ms later, if its hint was lost', async () => {
    const { here, there, clock } = await scene()
    const urgent = newJob({ priority: strict(1) })
    await there.insert({ jobs: [urgent] })

    clock.now += 200
    const early = await take(here, 1)
    clock.now += 1
    const due = await take(here, 1)

    // What holds is the second; the first shows that nothing else brought it.
    expect(early.map(({ priority }) => priority)).toEqual([0])
    expect(due.map(({ id }) => id)).toEqual([urgent.id])
  })

  it('is taken first by the claim that finds it due, if it was delayed', async () => {
    const { world, here, there } = await scene()
    const urgent = newJob({ priority: strict(1), delayMs: 1 })
    await there.insert({ jobs: [urgent] })
    await isDue(world, urgent.id)

    expect((await take(here, 1)).map(({ id }) => id)).toEqual([urgent.id])
  })

  it('is not forgotten when the claim that found it due had no room for it', async () => {
    const { world, here, there } = await scene()
    const urgent = newJob({ priority: strict(1), delayMs: 1 })
    await there.insert({ jobs: [urgent, newJob({ queue: 'other' })] })
    await isDue(world, urgent.id)

    const sources = ['other', 'mail'].map((queue) => ({ space: 'acme', queue, limit: 1 }))
    const { jobs } = await claim(here, sources)
    expect(jobs.map(({ queue }) => queue)).toEqual(['other'])

    expect((await take(here, 1)).map(({ id }) => id)).toEqual([urgent.id])
  })
})

describe('a job whose priority was changed', () => {
  const prioritize = (store: Store, id: string) =>
    store.change({
      action: 'prioritize',
      space: 'acme',
      target: { ids: [id] },
      failure: null,
      keepMs: 0,
      priority: strict(2),
    })

  it('is taken first at once by the process that did it, and by others with the hint', async () => {
    const { here, there } = await scene()
    const [one, two] = newJobs(2) as [ReturnType<typeof newJob>, ReturnType<typeof newJob>]
    await there.insert({ jobs: [one, two] })

    await prioritize(here, one.id)
    expect((await take(here, 1)).map(({ id }) => id)).toEqual([one.id])
    await take(here, 1)
    const { waiting } = await prioritize(there, two.id)
    const hintedRank = waiting[0]?.rank ?? Number.NaN
    const { jobs } = await claim(here, [{ space: 'acme', queue: 'mail', limit: 1, hintedRank }])

    expect(jobs.map(({ id }) => id)).toEqual([two.id])
  })
})

describe('a change by selection', () => {
  it('does not take a page for the last one because a worker took some of its jobs', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const jobs = newJobs(5)
    await store.insert({ jobs })
    const worker = new pg.Client({ connectionString: world.url })
    await worker.connect()
    onTestFinished(() => worker.end())
    await worker.query('begin; set local search_path = skep, pg_temp')
    await worker.query(
      `update skep.jobs set state = 2, token = 't', worker = 'w', lease_until = 9e15, started_at = 1 where id = $1`,
      [jobs[0]?.id],
    )

    const changing = store.change({
      action: 'prioritize',
      space: 'acme',
      target: { queue: 'mail', state: 'ready', limit: 2 },
      failure: null,
      keepMs: 0,
      priority: 7,
    })
    await eventually('the change to wait for the worker', async () => {
      const rows = await world.sql(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%change_jobs%'`,
      )
      return rows.length > 0
    })
    await worker.query('commit')
    const { results, cursor } = await changing

    expect(results.map(({ id }) => id)).toEqual([jobs[1]?.id])
    expect(cursor).not.toBeNull()
    const next = await store.list({ space: 'acme', queue: 'mail', state: 'ready', limit: 9, cursor })
    expect(next.jobs.map(({ id }) => id)).toEqual(jobs.slice(2).map(({ id }) => id))
  })
})

describe('the SQL function enqueue', () => {
  it('takes strict priorities', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const [row] = await world.sql(
      `select skep.enqueue('mail', '1', priority => -100, strict => true, space => 'acme') as id`,
    )

    const { jobs } = await store.get({ space: 'acme', ids: [row?.['id'] as string] })
    expect(jobs[0]?.priority).toBe(strict(-100))
    const [stored] = await world.sql('select due_at, rank from skep.jobs')
    expect(Number(stored?.['rank'])).toBe(rankOf(Number(stored?.['due_at']), strict(-100)))
    await expect(world.sql(`select skep.enqueue('mail', '1', strict => null)`)).rejects.toThrow(
      'strict is null',
    )
  })
})
