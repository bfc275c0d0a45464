import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/store.ts'
import { createWorld, finish, newJobs, take, type World } from './world.ts'

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
  'that was analysed': ({ sql }) => sql('analyze skep.jobs'),
  'that is believed to be empty': ({ sql }) =>
    sql(`update pg_class set reltuples = 0, relpages = 1 where oid = 'skep.jobs'::regclass`),
}

describe.each(Object.entries(STATISTICS))('the plans on a table %s', (_name, prepare) => {
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
})
