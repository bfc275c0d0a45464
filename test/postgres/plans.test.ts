import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { parseKeyRange } from '../../src/core/lanes/key-range.ts'
import type { ListRunsCall } from '../../src/store/flows.ts'
import type { Store } from '../../src/store/store.ts'
import { membersOf, newGroup, newRun } from './flow-samples.ts'
import { createWorld, finish, newJob, newJobs, take, uuid, type World } from './world.ts'

/** A store on one connection that tells the plans of all its statements, those inside functions included. */
async function explained(world: World): Promise<{ store: Store; plans: () => string[] }> {
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  onTestFinished(() => client.end())
  let told: string[] = []
  client.on('notice', ({ message }) => void told.push(message ?? ''))
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set client_min_messages = log;
    set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on; set auto_explain.log_timing = off`)
  const query = client.query.bind(client)
  const lent = Object.assign(client, { release: () => {}, query })
  const store = await world.open({
    pool: { connect: async () => lent as never, on: () => {}, end: async () => {} } as never,
    listen: false,
  })
  const plans = (): string[] => {
    const all = told
    told = []
    return all.filter((text) => text.includes('plan:'))
  }
  plans()
  return { store, plans }
}

/** How the rows of the table of waiting and running jobs were found. */
function waysTo(table: string, plans: readonly string[]): string[] {
  const scans = plans.join('\n').match(new RegExp(`(\\w+ )*Scan( using \\w+)? on ${table}\\b`, 'g')) ?? []
  return [...new Set(scans.map((scan) => scan.trim()))].sort()
}

const STATISTICS: Record<string, (world: World) => Promise<unknown>> = {
  'that nobody analysed': async () => {},
  'that was analysed': ({ sql }) =>
    sql(
      'analyze skep.jobs, skep.archive, skep.groups, skep.outcomes, skep.sheets, skep.runs, skep.run_attributes, skep.records',
    ),
  'that is believed to be empty': ({ sql }) =>
    sql(`update pg_class set reltuples = 0, relpages = 1 where relnamespace = 'skep'::regnamespace
      and relname in ('jobs', 'groups', 'outcomes', 'runs', 'run_attributes', 'records')`),
}

describe.each(Object.entries(STATISTICS))('the plans on a table %s', (name, prepare) => {
  it('find jobs by the indexes meant for it, and read no more than they take', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    for (let n = 0; n < 10; n++) await filler.insert({ jobs: newJobs(1_000) })
    await prepare(world)
    const { store, plans } = await explained(world)

    const jobs = await take(store, 100)
    const claiming = plans()
    await finish(store, jobs, { keepMs: null })
    const discarding = plans()
    await finish(store, await take(store, 100), { result: '1' })
    await finish(store, await take(store, 100), { to: 'delayed', delayMs: 1, failure: '{}' })
    const settling = plans()
    await store.insert({ jobs: newJobs(100) })
    const inserting = plans()

    expect(jobs).toHaveLength(100)
    expect(waysTo('jobs c_1', claiming)).toEqual(['Index Scan using jobs_order on jobs c_1'])
    expect(claiming.join()).toMatch(/Index Scan using jobs_order on jobs c_1 .*rows=100(\.00)? loops=1/)
    expect(waysTo('jobs x', claiming)).toEqual(['Tid Scan on jobs x'])
    expect(waysTo('jobs j', discarding)).toEqual(['Index Scan using jobs_pkey on jobs j'])
    for (const plan of [...claiming, ...discarding, ...settling, ...inserting]) {
      expect(plan).not.toMatch(/Seq Scan on (jobs|archive|uniques)|Bitmap|Sort Key: .*rank/)
    }
  })

  it('find lanes and their jobs by the indexes meant for it', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    await filler.setLimits({
      space: 'acme',
      limits: [{ target: { queue: 'mail' }, by: 'code', fields: { laneConcurrency: 5 } }],
    })
    for (let n = 0; n < 5; n++) {
      const jobs = newJobs(1_000).map((job, at) => ({ ...job, lane: `lane-${at % 100}` }))
      await filler.insert({ jobs })
    }
    await prepare(world)
    const { store, plans } = await explained(world)
    await take(store, 100)
    plans()

    const jobs = await take(store, 50)
    const claiming = plans()
    await finish(store, jobs)
    await take(store, 50)
    const folding = plans()

    expect(jobs).toHaveLength(50)
    expect(claiming.join()).toMatch(/Index Scan using lanes_turn on lanes x\w* .*rows=50(\.00)? loops=1/)
    expect(claiming.join()).toMatch(/Index Scan using jobs_lanes on jobs j_\d .*rows=2(\.00)? loops=50/)
    expect(folding.join()).toMatch(/Index Scan using news_order on news x/)
    for (const plan of [...claiming, ...folding]) {
      expect(plan).not.toMatch(/Seq Scan on (jobs|archive|uniques|lanes|lines|news|holds|limits)|Bitmap/)
    }
  })

  it('find finished and delayed jobs by their id and by their lane', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    const laned = (jobs: readonly NewJob[]): NewJob[] =>
      jobs.map((job, at) => ({ ...job, lane: at % 2 === 0 ? null : `lane-${at % 100}` }))
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      await filler.insert({ jobs: laned(newJobs(1_000)) })
      const jobs = await take(filler, 1_000)
      ids.push(...jobs.map(({ id }) => id))
      await finish(filler, jobs)
      await filler.insert({ jobs: laned(newJobs(1_000)).map((job) => ({ ...job, delayMs: 3_600_000 })) })
    }
    await prepare(world)
    const { store, plans } = await explained(world)
    const page = { space: 'acme', queue: 'mail', limit: 10, cursor: null, where: { lane: 'lane-7' } } as const

    const { jobs } = await store.get({ space: 'acme', ids: ids.slice(0, 5) })
    const getting = plans().join()
    const ended = await store.list({ ...page, state: 'done' })
    const listing = plans().join()
    const later = await store.list({ ...page, state: 'delayed' })
    const listingLater = plans().join()

    expect(jobs.filter((job) => job !== null)).toHaveLength(5)
    expect([ended.jobs.length, later.jobs.length]).toEqual([10, 10])
    expect(getting).toMatch(/archive_\w+_id_idx/)
    expect(listing).toMatch(/_lane_finished_at_id_idx/)
    expect(listingLater).toMatch(/using jobs_later/)
    // It ends in the id as well, and would be read from end to end.
    expect(getting).not.toMatch(/finished_at_id_idx/)
    expect(getting + listing + listingLater).not.toMatch(/Seq Scan on jobs|Seq Scan on .*rows=[1-9]\d* loops/)
  })

  it('find the jobs of one space without reading those of another', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    for (let n = 0; n < 10; n++) await filler.insert({ jobs: newJobs(1_000) })
    await filler.insert({ jobs: newJobs(3).map((job) => ({ ...job, space: 'globex' })) })
    await prepare(world)
    const { store, plans } = await explained(world)

    const source = { space: 'globex', queue: 'mail', limit: 50 }
    const call = { sources: [source], limit: 50, workerId: 'one', token: uuid(), leaseMs: 30_000 }
    const { jobs } = await store.claim(call)

    expect(jobs).toHaveLength(3)
    const read = plans()
      .join('\n')
      .matchAll(/Scan .*on jobs\b.*rows=(\d+)(?:\.\d+)? loops=(\d+)/g)
    const rows = [...read].map(([, found, loops]) => Number(found) * Number(loops))
    expect(rows.length).toBeGreaterThan(0)
    expect(Math.max(...rows)).toBeLessThanOrEqual(3)
  })

  it('find the lanes of a range by the index of its slices, and look at no others', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    for (let n = 0; n < 5; n++) {
      const jobs = newJobs(1_000).map((job, at) => ({ ...job, lane: `lane-${at}` }))
      await filler.insert({ jobs })
    }
    const { store, plans } = await explained(world)
    const sources = [{ space: 'acme', queue: 'mail', limit: 50, keys: parseKeyRange('40-60') }]
    const claim = { sources, limit: 50, workerId: 'w', leaseMs: 60_000 }
    await store.claim({ ...claim, token: uuid() })
    await prepare(world)
    plans()

    const { jobs } = await store.claim({ ...claim, token: uuid() })
    const ranged = plans()
    await take(store, 50)
    const whole = plans()

    expect(jobs).toHaveLength(50)
    expect(ranged.join()).toMatch(/Index Scan using lanes_slices on lanes z\w* .*rows=50(\.00)? loops=2/)
    expect(ranged.join()).not.toMatch(/Index Scan using lanes_turn on lanes \w+ \(.*loops=1\)/)
    expect(whole.join()).toMatch(/Index Scan using lanes_turn on lanes x\w* .*rows=50(\.00)? loops=1/)
    expect(whole.join()).not.toMatch(/Index Scan using lanes_slices on lanes \w+ \(.*loops=[1-9]/)
    for (const plan of [...ranged, ...whole]) expect(plan).not.toMatch(/Seq Scan on (jobs|lanes)|Bitmap/)
  })

  it('find records by the indexes meant for it, and read no more than the page', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    const record = { body: '{}', revision: '1', expiresAt: Date.now() + 3_600_000 }
    const records = Array.from({ length: 5_000 }, (_, n) => ({ ...record, id: `id ${10_000 + n}` }))
    const place = { scope: 'acme', kind: 'token' }
    await filler.putRecords({ ...place, records })
    await filler.putRecords({ scope: 'acme', kind: 'over', records: [{ ...record, id: 'a', expiresAt: 1 }] })
    await prepare(world)
    const { store, plans } = await explained(world)

    await store.listRecords({ ...place, limit: 9 })
    await store.listRecords({ ...place, from: 'id 12', before: 'id 14', backwards: true, limit: 9 })
    const listing = plans()
    await store.putRecords({ ...place, records: [{ ...record, id: 'id 12000', revision: '2', expect: '1' }] })
    await store.removeRecords({ ...place, ids: ['id 12001', 'id 12002'] })
    const writing = plans()
    await store.prune({ limit: 10 })
    const pruning = plans()

    expect(listing.join()).toMatch(/Index Scan using records_pkey on records r .*rows=10(\.00)? loops=1/)
    expect(listing.join()).toMatch(
      /Index Scan Backward using records_pkey on records r .*rows=10(\.00)? loops=1/,
    )
    expect(pruning.join()).toMatch(/Index Scan using records_expiry on records x .*rows=1(\.00)? loops=1/)
    for (const plan of [...listing, ...writing, ...pruning]) {
      expect(plan).not.toMatch(/(Seq|Bitmap Heap) Scan on records/)
      // Nor all of an index.
      expect(plan).not.toMatch(/Scan using \w+ on records\b.*\n(?! +Index Cond)/)
    }
    for (const plan of listing) expect(plan).not.toMatch(/Sort Key/)
  })

  it('find groups, outcomes and runs by the indexes meant for it', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    const groups = Array.from({ length: 200 }, () =>
      newGroup(20, { jobs: { success: newJob({ queue: 'after' }) } }),
    )
    for (let n = 0; n < 200; n += 50) {
      const some = groups.slice(n, n + 50)
      await filler.insert({ jobs: some.flatMap((group) => membersOf(group)), groups: some })
    }
    const runs = Array.from({ length: 500 }, (_, n) => newRun({ attributes: [`user:${n % 50}`] }))
    await filler.insert({ jobs: [], runs })
    await prepare(world)
    const { store, plans } = await explained(world)

    await finish(store, await take(store, 100), { keepMs: null, result: '1' })
    await finish(store, await take(store, 100))
    const doneTogether = plans()
    const jobs = await take(store, 100)
    plans()
    await finish(store, jobs, { to: 'dead', failure: '{}' })
    const settling = plans()
    const target = { ids: jobs.map(({ id }) => id) }
    await store.change({ action: 'retry', space: 'acme', target, failure: null, keepMs: 0 })
    await store.change({ action: 'cancel', space: 'acme', target, failure: null, keepMs: 0 })
    const [run] = runs
    const branch = newRun({ root: run!.id, member: { group: uuid(), n: 0 } })
    const made = newGroup(1, { run: run!.id, id: branch.member!.group })
    const moved = { space: 'acme', groups: [], runs: [], jobs: [] }
    await store.moveRuns({ moves: [{ ...moved, id: run!.id, revision: 0, groups: [made], runs: [branch] }] })
    await store.moveRuns({ moves: [{ ...moved, id: branch.id, revision: 0, status: 'done' }] })
    await store.tell({ space: 'acme', group: groups[0]!.id, n: 19, result: null })
    await store.auditGroups({ limit: 100, cursor: null })
    await store.prune({ limit: 10 })
    const rest = plans()
    const { space, id: group } = groups[1]!
    await store.openMembers({ space, group, from: 0, limit: 5 })
    await store.outcomes({ space, groups: [group], from: 0, limit: 5 })
    await store.getGroups({ space, ids: [group] })
    await store.getRuns({ space, ids: [run!.id] })
    for (const filter of [
      {},
      { flow: 'f' },
      { status: 'done' },
      { flow: 'f', status: 'failed' },
      { status: 'running', branches: true },
      { attribute: 'user:1' },
      { root: run!.id, branches: true },
    ]) {
      await store.listRuns({ space, limit: 5, cursor: null, ...filter } as ListRunsCall)
    }
    const reading = plans()

    expect(doneTogether.join()).toMatch(/Insert on sheets/)
    // Members that had no outcome are not looked up; of those that had one, each is.
    expect(settling.join()).toMatch(/Conflict Arbiter Indexes: outcomes_pkey/)
    expect(settling.join()).not.toMatch(/on outcomes x/)
    expect(rest.join()).toMatch(/Index Scan using outcomes_pkey on outcomes x .*loops=100/)
    expect(settling.join()).toMatch(/Index Scan using groups_pkey on groups g/)
    const flows = '(groups|outcomes|sheets|members|runs|run_attributes)'
    for (const plan of [...doneTogether, ...settling, ...rest]) {
      expect(plan).not.toMatch(new RegExp(`(Seq|Bitmap Heap) Scan on ${flows}`))
      // Nor all of an index.
      expect(plan).not.toMatch(new RegExp(`Scan using \\w+ on ${flows}\\b.*\\n(?! +Index Cond)`))
    }
    // A table that is believed to have no more than a page may be read whole.
    if (name === 'that was analysed') {
      for (const plan of reading)
        expect(plan).not.toMatch(/Seq Scan on (jobs|groups|outcomes|sheets|members|runs|run_attributes)/)
    }
  })
})

describe('among many runs', () => {
  it('finds a page by an index in its order, and reads no more than the page', async () => {
    const world = await createWorld()
    const filler = await world.open({ migrate: true, listen: false })
    const runs = Array.from({ length: 3_000 }, (_, n) => newRun({ flow: n % 2 ? 'f' : 'g' }))
    await filler.insert({ jobs: [], runs })
    const end = { status: 'done', keepMs: 60_000, groups: [], runs: [], jobs: [] } as const
    const ended = runs.slice(0, 2_900).map(({ id, space }) => ({ ...end, id, space, revision: 0 }))
    await filler.moveRuns({ moves: ended })
    const [top] = runs.slice(-1)
    const branches = Array.from({ length: 2_000 }, () =>
      newRun({ root: top!.id, member: { group: uuid(), n: 0 } }),
    )
    await filler.insert({ jobs: [], runs: branches })
    await world.sql('vacuum analyze skep.runs')
    const { store, plans } = await explained(world)
    const { space } = top!

    for (const [filter, index] of [
      [{}, 'runs_list'],
      [{ flow: 'f' }, 'runs_flow'],
      [{ status: 'running' }, 'runs_status'],
      [{ flow: 'f', status: 'running' }, 'runs_flow_status'],
      [{ flow: 'f', status: 'failed' }, 'runs_flow_status'],
      [{ status: 'running', branches: true }, 'runs_running'],
      [{ root: top!.id, branches: true }, 'runs_root'],
    ] as const) {
      plans()
      await store.listRuns({ space, limit: 5, cursor: null, ...filter } as ListRunsCall)
      const [plan] = plans()

      expect(plan, JSON.stringify(filter)).toMatch(new RegExp(`Index Scan Backward using ${index} on runs r`))
      expect(plan).not.toMatch(/Sort|Rows Removed by Filter/)
    }
  })
})
