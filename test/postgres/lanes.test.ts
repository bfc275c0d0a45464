import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClaimedJob, NewJob } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { createWorld, eventually, finish, newJobs, take, uuid, verdict, type World } from './world.ts'

const inLane = (lane: string, count: number, more: Partial<NewJob> = {}): NewJob[] =>
  newJobs(count).map((job) => ({ ...job, lane, ...more }))

const limit = (store: Store, fields: object, queue = 'mail'): Promise<unknown> =>
  store.setLimits({ space: 'acme', limits: [{ target: { queue }, by: 'hand', fields }] })

/** Another connection, in a transaction of its own. */
async function begin(world: World): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  return client
}

/** How many sessions wait for an advisory lock. */
async function waiting({ sql }: World): Promise<number> {
  const [row] = await sql(
    `select count(*)::integer as n from pg_locks where locktype = 'advisory' and not granted`,
  )
  return row?.['n'] as number
}

describe('a transaction that is open for long', () => {
  it('keeps nobody from the lane into which it has enqueued', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await limit(store, { laneConcurrency: 5 })
    await store.insert({ jobs: inLane('a', 3) })
    const tx = await begin(world)
    await store.within?.(tx).insert({ jobs: inLane('a', 2) })

    await store.insert({ jobs: inLane('a', 1) })
    const jobs = await take(store)
    await finish(store, jobs)
    expect(jobs).toHaveLength(4)
    expect(await take(store)).toHaveLength(0)

    await tx.query('commit')
    expect(await take(store)).toHaveLength(2)
  })

  it('frees the room of what it has settled when it commits, and not before', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await limit(store, { laneConcurrency: 1 })
    await store.insert({ jobs: inLane('a', 3) })
    const [first] = (await take(store)) as [ClaimedJob]
    const settlements = [{ space: first.space, id: first.id, token: first.token, verdict: verdict() }]

    const undone = await begin(world)
    await store.within?.(undone).settle({ settlements })
    expect(await take(store)).toHaveLength(0)
    await undone.query('rollback')
    expect(await take(store)).toHaveLength(0)

    const done = await begin(world)
    await store.within?.(done).settle({ settlements })
    expect(await take(store)).toHaveLength(0)
    await done.query('commit')
    expect(await take(store)).toHaveLength(1)
  })

  it('has its job of a strict lane found at once when it commits, after those that were committed before', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await limit(store, { strict: true })
    const strict = (): NewJob => inLane('a', 1, { strict: true })[0] as NewJob
    const [early, started, waiting] = [strict(), strict(), strict()]
    const tx = await begin(world)
    await store.within?.(tx).insert({ jobs: [early] })
    await store.insert({ jobs: [started] })

    // It was not there yet for anybody.
    const first = await take(store)
    expect(first.map(({ id }) => id)).toEqual([started.id])
    await store.insert({ jobs: [waiting] })
    await tx.query('commit')
    // One at a time all the same.
    expect(await take(store)).toHaveLength(0)
    await finish(store, first)

    // Of two that wait, the one that was inserted first.
    for (const { id } of [early, waiting]) {
      const jobs = await take(store)
      expect(jobs.map((job) => job.id)).toEqual([id])
      await finish(store, jobs)
    }
  })

  it('keeps a lane from being forgotten whose next job it has locked', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    const [job] = inLane('a', 1) as [NewJob]
    await store.insert({ jobs: [job] })
    const tx = await begin(world)
    await tx.query(`select 1 from skep.jobs where id = '${job.id}' for update`)

    expect(await take(store)).toHaveLength(0)
    await tx.query('rollback')

    expect(await take(store)).toHaveLength(1)
  })
})

describe('a hold', () => {
  it('waits for the claim that is under way, and no later claim takes anything', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await store.insert({ jobs: newJobs(5) })
    const tx = await begin(world)
    // A claim that has not committed yet.
    const claim = {
      sources: [{ space: 'acme', queue: 'mail', limit: 2 }],
      limit: 2,
      workerId: 'w',
      leaseMs: 60_000,
    }
    await store.within?.(tx).settle({ settlements: [], claim: { ...claim, token: uuid() } })

    let isHeld = false
    const hold = { kind: 'pause', space: 'acme', queue: 'mail', lane: null, reason: null, by: null } as const
    const holding = store.hold({ holds: [{ ...hold, forMs: null }] }).then(() => {
      isHeld = true
    })
    await eventually('the hold to wait', async () => (await waiting(world)) > 0)
    expect(isHeld).toBe(false)
    await tx.query('commit')
    await holding

    expect(await take(store)).toHaveLength(0)
    expect((await store.counts({ space: 'acme' })).queues[0]?.states.running).toBe(2)
  })
})

describe('a handler that pauses its lane', () => {
  it('pauses the lanes of all jobs that end so in one call, whatever leases they had', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await store.insert({ jobs: [...inLane('a', 2), ...inLane('b', 2)] })
    const jobs = [...(await take(store, 1)), ...(await take(store, 1))]

    await finish(store, jobs, { lane: { pause: 'stuck' } })

    const { holds } = await store.holds({ space: 'acme' })
    expect(holds.map(({ lane, reason }) => [lane, reason])).toEqual([
      ['a', 'stuck'],
      ['b', 'stuck'],
    ])
    expect(await take(store)).toHaveLength(0)
  })
})

describe('limits', () => {
  it('are said again without waiting for a claim under way', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    const declare = (concurrency: number): Promise<unknown> =>
      store.setLimits({
        space: 'acme',
        limits: [{ target: { queue: 'mail' }, by: 'code', fields: { concurrency } }],
      })
    await declare(3)
    const tx = await begin(world)
    await tx.query(`select pg_advisory_xact_lock_shared(hashtextextended('skep:gate:skep', 0))`)

    await declare(3)
    const other = declare(4)
    await eventually('the change to wait', async () => (await waiting(world)) > 0)
    await tx.query('commit')
    await other
  })

  it('hold at every moment, with four claimers at once', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    await limit(store, { concurrency: 7, laneConcurrency: 2 })
    await store.insert({ jobs: Array.from({ length: 10 }, (_, n) => inLane(`lane-${n}`, 20)).flat() })
    let left = 200
    let most = { lane: 0, queue: 0 }
    const claimers = Array.from({ length: 4 }, async () => {
      const own = await world.open()
      while (left > 0) {
        const jobs = await take(own, 5)
        left -= jobs.length
        await finish(own, jobs)
      }
    })
    const sample = async (): Promise<void> => {
      while (left > 0) {
        const rows = await world.sql(
          `select count(*)::integer as n from skep.jobs where state = 2 group by lane`,
        )
        const counts = rows.map((row) => row['n'] as number)
        most = {
          lane: Math.max(most.lane, ...counts),
          queue: Math.max(
            most.queue,
            counts.reduce((sum, n) => sum + n, 0),
          ),
        }
      }
    }
    await Promise.all([...claimers, sample()])

    expect(most.lane).toBeLessThanOrEqual(2)
    expect(most.queue).toBeLessThanOrEqual(7)
    expect(await counters(world, store)).toEqual({ running: 0, rows: 0 })
  })
})

/** How many leases the queue's limits count, and how many there are. */
async function counters({ sql }: World, store: Store): Promise<{ running: number; rows: number }> {
  const { queue } = await store.lanes({ space: 'acme', queue: 'mail', limit: 1 })
  const [row] = await sql(`select count(*)::integer as n from skep.jobs where queue = 'mail' and state = 2`)
  return { running: queue?.running ?? 0, rows: row?.['n'] as number }
}

describe('everything at once', () => {
  it('ends in no deadlock, and the counters agree with the rows', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    const queues = ['mail', 'push', 'sms']
    const [before] = await world.sql(
      `select deadlocks::integer as n from pg_stat_database where datname = current_database()`,
    )
    for (const queue of queues)
      await limit(store, { shared: queue === 'sms' ? null : 'api', laneConcurrency: 3 }, queue)
    const until = performance.now() + 4_000
    const failures: unknown[] = []
    const loop = (
      seed: number,
      turn: (own: Store, random: ReturnType<typeof seededRandom>) => Promise<unknown>,
    ) =>
      (async () => {
        const own = await world.open()
        const random = seededRandom(seed)
        while (performance.now() < until && failures.length === 0) {
          await turn(own, random).catch((error: unknown) => failures.push(error))
        }
      })()
    const known: string[] = []
    const fresh = (random: ReturnType<typeof seededRandom>): NewJob[] => {
      const jobs = newJobs(5).map((job) => ({
        ...job,
        queue: random.pick(queues),
        lane: random.pick([null, 'a', 'b', 'c']),
      }))
      known.push(...jobs.map(({ id }) => id))
      return jobs
    }
    const work = async (own: Store, random: ReturnType<typeof seededRandom>): Promise<void> => {
      const order = random.chance(0.5) ? queues : queues.toReversed()
      const { jobs } = await own.claim({
        sources: order.map((queue) => ({ space: 'acme', queue, limit: 5 })),
        limit: 10,
        workerId: 'w',
        token: uuid(),
        leaseMs: 60_000,
      })
      const to = random.pick(['done', 'ready', 'delayed'] as const)
      await finish(own, jobs, to === 'done' ? {} : { to, keepMs: null, delayMs: 5 })
    }
    await Promise.all([
      ...[1, 2, 3].map((seed) => loop(seed, work)),
      loop(4, (own, random) => own.insert({ jobs: fresh(random) })),
      loop(5, async (own, random) => {
        const hold = {
          kind: 'pause',
          space: 'acme',
          queue: random.pick(queues),
          lane: random.pick([null, 'a']),
        } as const
        await own.hold({ holds: [{ ...hold, reason: null, by: null, forMs: null }] })
        await own.release({ holds: [hold] })
      }),
      loop(6, (own, random) => limit(own, { concurrency: random.int(3, 9) }, random.pick(queues))),
      loop(7, (own, random) =>
        own.change({
          action: random.pick(['cancel', 'promote', 'retry'] as const),
          space: 'acme',
          target: { ids: known.slice(-20) },
          failure: null,
          keepMs: 60_000,
        }),
      ),
      loop(8, (own) => own.prune({ limit: 100 })),
    ])

    expect(failures).toEqual([])
    const [after] = await world.sql(
      `select deadlocks::integer as n from pg_stat_database where datname = current_database()`,
    )
    expect(after?.['n']).toBe(before?.['n'])
    const held = await take(store, 3)
    const { running, rows } = await counters(world, store)
    expect(running).toBe(rows)
    await finish(store, held)
  }, 60_000)
})
