import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { LocalNotices, withNotices } from '../../src/testing/local-notices.ts'
import { createWorld, type World } from './world.ts'

const mail = queue<number>('mail')
const runtime = systemRuntime()
const JOBS = 60

/** Whether this server keeps statistics of statements, and then a count of those that fit. */
async function statements(world: World): Promise<((pattern: string) => Promise<number>) | null> {
  const [loaded] = await world.sql('show shared_preload_libraries')
  if (!String(loaded?.shared_preload_libraries).includes('pg_stat_statements')) return null
  await world.sql('create extension pg_stat_statements')
  const [database] = await world.sql('select current_database() as name')
  // Also what functions do inside.
  await world.sql(`alter database ${database?.name} set pg_stat_statements.track = 'all'`)
  return async (pattern) => {
    const [row] = await world.sql(
      `select coalesce(sum(s.calls), 0)::int as calls from pg_stat_statements s join pg_database d on d.oid = s.dbid
       where d.datname = current_database() and s.query ~ $1`,
      [pattern],
    )
    return row?.calls as number
  }
}

/** Begins the statistics of this database anew. */
async function forget(world: World, isThere: boolean): Promise<void> {
  const own = '(select oid from pg_database where datname = current_database())'
  if (isThere) await world.sql(`select pg_stat_statements_reset(0, ${own}, 0)`)
}

/** One worker, and jobs that come one after the other. Returns when all have run. */
async function runJobs(world: World, notifier: Notifier, beforeThem: () => Promise<void>): Promise<void> {
  const store = await world.open({ migrate: true, listen: false })
  const skep = createSkep({ store, notifier, runtime, logger: silentLogger })
  onTestFinished(() => skep.close())
  let told: () => void = () => {}
  const worker = skep.worker([mail.handle(() => told())], { concurrency: 4 })
  await worker.ready
  const run = async (payload: number): Promise<void> => {
    const ran = new Promise<void>((resolve) => {
      told = resolve
    })
    await skep.enqueue(mail, payload)
    await ran
  }
  for (let n = 0; n < 5; n++) await run(n)
  await beforeThem()
  for (let n = 0; n < JOBS; n++) await run(n)
  await skep.close()
  await store.close()
}

function notifiers(): { hints: Notifier; noticing: Notifier } {
  const notices = new LocalNotices(runtime)
  return {
    hints: localNotifier({ runtime }),
    noticing: withNotices(localNotifier({ runtime }), notices, notices.view(runtime)),
  }
}

const SEARCH = 'order by c\\.rank|order by [cj]\\.due_at'
const BY_ID = 'unnest\\(named\\) with ordinality'

/** How often the indexes were walked in which work is found. */
async function scans(world: World): Promise<number> {
  const [row] = await world.sql(
    `select coalesce(sum(idx_scan), 0)::int as scans from pg_stat_user_indexes
     where indexrelname in ('jobs_order', 'jobs_due')`,
  )
  return row?.scans as number
}

describe('in steady state the database', () => {
  it('D2: sees nothing that searches for work, with notices', async () => {
    const world = await createWorld()
    const count = await statements(world)

    await runJobs(world, notifiers().noticing, () => forget(world, count !== null))

    // The first looks of the worker are among them.
    expect(await scans(world)).toBeLessThanOrEqual(JOBS / 4)
    if (count === null) return
    expect(await count(SEARCH)).toBe(0)
    expect(await count(BY_ID)).toBeGreaterThanOrEqual(JOBS)
  })

  it('is searched again and again with hints alone: so the test before this one can tell', async () => {
    const world = await createWorld()
    const count = await statements(world)

    await runJobs(world, notifiers().hints, () => forget(world, count !== null))

    // The counts of a session are there when it has ended.
    await expect.poll(() => scans(world)).toBeGreaterThanOrEqual(JOBS)
    if (count === null) return
    expect(await count(SEARCH)).toBeGreaterThanOrEqual(JOBS)
    expect(await count(BY_ID)).toBe(0)
  })
})
