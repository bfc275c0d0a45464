import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { NewGroup } from '../../src/core/flows/groups.ts'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import type { Settlement, Store } from '../../src/store/store.ts'
import { membersOf, newGroup } from './flow-samples.ts'
import { createWorld, eventually, finish, newJob, take, uuid, verdict, type World } from './world.ts'

/** A store with these groups in it, and their members, claimed, in order. */
async function started(
  world: World,
  groups: readonly NewGroup[],
): Promise<{ store: Store; jobs: readonly ClaimedJob[] }> {
  const store = await world.open({ migrate: true, listen: false })
  const members = groups.flatMap((group) => membersOf(group))
  await store.insert({ jobs: members, groups })
  const claimed = new Map((await take(store, members.length)).map((job) => [job.id, job]))
  return { store, jobs: members.map(({ id }) => claimed.get(id) as ClaimedJob) }
}

const done = (...jobs: readonly ClaimedJob[]): { settlements: Settlement[] } => ({
  settlements: jobs.map(({ space, id, token }) => ({ space, id, token, verdict: verdict() })),
})

interface Open {
  readonly client: pg.Client
  readonly settle: (...jobs: readonly ClaimedJob[]) => Promise<unknown>
  readonly isWaiting: () => Promise<void>
  readonly end: (sql: 'commit' | 'rollback') => Promise<unknown>
}

/** A user's transaction, on a connection of its own. */
async function begin(world: World, store: Store): Promise<Open> {
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  onTestFinished(() => client.end())
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await client.query('begin')
  return {
    client,
    settle: (...jobs) => store.within!(client).settle(done(...jobs)),
    isWaiting: () =>
      eventually('the lock', async () => {
        const sql = `select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`
        return (await world.sql(sql, [rows[0].pid])).length === 1
      }),
    end: (sql) => client.query(sql),
  }
}

const fired = async (store: Store): Promise<number> =>
  (await store.counts({ space: 'acme', queues: ['after'] })).queues[0]?.states.ready ?? 0

async function deadlocks({ sql }: World): Promise<number> {
  const [row] = await sql(
    'select deadlocks::integer as n from pg_stat_database where datname = current_database()',
  )
  return row?.['n']
}

describe('the last two members, ended at the same time', () => {
  it.each([
    ['the first', 0, 1],
    ['the second', 1, 0],
  ])('fire once when %s to begin commits first', async (_name, early, late) => {
    const world = await createWorld()
    const group = newGroup(2)
    const { store, jobs } = await started(world, [group])
    const [one, other] = [await begin(world, store), await begin(world, store)]

    await one.settle(jobs[early]!)
    const second = other.settle(jobs[late]!)
    await other.isWaiting()
    expect(await fired(store)).toBe(0)
    await one.end('commit')
    await second
    await other.end('commit')

    expect(await fired(store)).toBe(1)
    const { groups } = await store.getGroups({ space: 'acme', ids: [group.id] })
    expect(groups[0]).toMatchObject({ done: 2, failed: 0, fired: ['success', 'settled'] })
    expect(await deadlocks(world)).toBe(0)
  })

  it('fire when the one that was undone is done again', async () => {
    const world = await createWorld()
    const { store, jobs } = await started(world, [newGroup(2)])
    const [one, other] = [await begin(world, store), await begin(world, store)]

    await one.settle(jobs[0]!)
    const second = other.settle(jobs[1]!)
    await other.isWaiting()
    await one.end('rollback')
    await second
    await other.end('commit')
    expect(await fired(store)).toBe(0)
    await finish(store, jobs.slice(0, 1))

    expect(await fired(store)).toBe(1)
  })
})

describe('members of several groups', () => {
  it('are counted in one order, whatever the order in which they end', async () => {
    const world = await createWorld()
    const groups = [newGroup(4), newGroup(4)].sort((a, b) => (a.id < b.id ? -1 : 1))
    const { store, jobs } = await started(world, groups)
    const [low, high] = [jobs.slice(0, 4), jobs.slice(4)]
    const first = await begin(world, store)
    const second = await begin(world, store)

    // It has to wait for the lower group before it touches the higher, or the next would wait for it.
    await first.settle(low[0]!)
    const waiting = second.settle(high[0]!, low[1]!)
    await second.isWaiting()
    await store.settle(done(high[1]!))
    await first.settle(high[2]!)
    await first.end('commit')
    await waiting
    await second.end('commit')

    await store.settle(done(low[2]!, high[3]!, low[3]!))
    expect(await fired(store)).toBe(2)
    expect(await deadlocks(world)).toBe(0)
  })

  it('end in opposite orders without a deadlock, many times over', async () => {
    const world = await createWorld()
    const rounds = 40
    const groups = [newGroup(2 * rounds), newGroup(2 * rounds)]
    const { store, jobs } = await started(world, groups)
    const [a, b] = [jobs.slice(0, 2 * rounds), jobs.slice(2 * rounds)]

    await Promise.all(
      Array.from({ length: rounds }, (_, n) => [
        store.settle(done(a[2 * n]!, b[2 * n]!)),
        store.settle(done(b[2 * n + 1]!, a[2 * n + 1]!)),
      ]).flat(),
    )

    expect(await fired(store)).toBe(2)
    const { groups: found } = await store.getGroups({ space: 'acme', ids: groups.map(({ id }) => id) })
    expect(found.map((group) => group?.done)).toEqual([2 * rounds, 2 * rounds])
    expect(await deadlocks(world)).toBe(0)
  })

  it('do not wait for a transaction that settles a member of another group', async () => {
    const world = await createWorld()
    const { store, jobs } = await started(world, [newGroup(1), newGroup(1)])
    const open = await begin(world, store)
    await open.settle(jobs[0]!)

    await finish(store, jobs.slice(1))
    expect(await fired(store)).toBe(1)
    await open.end('commit')

    expect(await fired(store)).toBe(2)
  })
})

describe('a group', () => {
  it('of ten thousand fires once, ended by several at a time', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true })
    const group = newGroup(10_000)
    await store.insert({ jobs: membersOf(group), groups: [group] })

    const work = async (): Promise<void> => {
      for (let jobs = await take(store, 200); jobs.length > 0; jobs = await take(store, 200)) {
        await finish(store, jobs, { keepMs: null, result: '1' })
      }
    }
    await Promise.all([work(), work(), work(), work()])

    expect(await fired(store)).toBe(1)
    const { groups } = await store.getGroups({ space: 'acme', ids: [group.id] })
    expect(groups[0]).toMatchObject({ done: 10_000, fired: ['success', 'settled'] })
    const call = { space: 'acme', groups: [group.id], from: 9_990, limit: 100 }
    expect((await store.outcomes(call)).outcomes[0]).toHaveLength(10)
  }, 60_000)

  it('meets somebody who tells of it at the moment it is made', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const group = newGroup(2)
    const open = await begin(world, store)
    await store.within!(open.client).insert({ jobs: [], groups: [group] })

    const telling = store.tell({ space: 'acme', group: group.id, n: 0, result: null })
    await eventually('the lock', async () => {
      const sql = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%tell_member%'`
      return (await world.sql(sql)).length === 1
    })
    await open.end('commit')
    expect((await telling).status).toBe('ok')
    await store.tell({ space: 'acme', group: group.id, n: 1, result: null })

    expect(await fired(store)).toBe(1)
  })

  it('waits, when it is made, for somebody who tells of it', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const group = newGroup(1)
    const open = await begin(world, store)
    await open.client.query('select skep.tell_member($1, $2, 0, null, null)', ['acme', group.id])

    const making = store.insert({ jobs: [], groups: [group] })
    await eventually('the lock', async () => {
      const sql = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert_members%'`
      return (await world.sql(sql)).length === 1
    })
    await open.end('commit')

    expect((await making).enqueued).toHaveLength(1)
    expect(await fired(store)).toBe(1)
  })

  it('that nobody makes is forgotten after thirty days, with what was told of it', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const [day, now] = [86_400_000, 1_800_000_000_000]
    await store.tell({ space: 'acme', group: uuid(), n: 0, result: '1', now })
    const left = async (): Promise<number[]> => {
      const [row] = await world.sql(`select (select count(*)::integer from skep.groups) as groups,
        (select count(*)::integer from skep.every_outcome) as outcomes`)
      return [row?.['groups'], row?.['outcomes']]
    }

    await store.prune({ limit: 10, now: now + 30 * day - 1 })
    expect(await left()).toEqual([1, 1])
    await store.prune({ limit: 10, now: now + 30 * day })

    expect(await left()).toEqual([0, 0])
  })

  it('is mended when its counts are wrong', async () => {
    const world = await createWorld()
    const group = newGroup(2)
    const { store, jobs } = await started(world, [group])
    await finish(store, jobs.slice(0, 1))
    await world.sql('update skep.groups set done = 0')
    await finish(store, jobs.slice(1))
    expect(await fired(store)).toBe(0)

    const { mended, enqueued } = await store.auditGroups({ limit: 10, cursor: null })

    expect(mended).toEqual([{ space: 'acme', group: group.id, what: 'counts' }])
    expect(enqueued.map(({ queue }) => queue)).toEqual(['after'])
    expect(await fired(store)).toBe(1)
    expect((await store.auditGroups({ limit: 10, cursor: null })).mended).toEqual([])
  })

  it('enqueues where claims have passed, and they go back for it', async () => {
    const world = await createWorld()
    const urgent = newJob({ priority: 50 })
    const group = newGroup(1, { jobs: { success: urgent } })
    const { store, jobs } = await started(world, [group])
    await store.insert({ jobs: [newJob(), newJob()] })
    await take(store, 1)
    await take(store, 1)

    await finish(store, jobs)

    expect((await take(store)).map(({ id }) => id)).toEqual([urgent.id])
  })

  it('changes a job that claims have passed, and they go back for it', async () => {
    const world = await createWorld()
    const unique = { key: 'k', scope: 'active', windowMs: 0, onConflict: 'replace' } as const
    const group = newGroup(1, { jobs: { success: newJob({ priority: 50, unique }) } })
    const { store, jobs } = await started(world, [group])
    const held = newJob({ priority: -50, unique })
    await store.insert({ jobs: [newJob(), newJob(), held] })
    await take(store, 1)
    await take(store, 1)

    await finish(store, jobs)

    expect((await take(store, 1)).map(({ id }) => id)).toEqual([held.id])
  })

  it('ends through a chain of members whose unique keys are held, in one call', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const unique = { key: 'k', scope: 'active', windowMs: 0, onConflict: 'ignore' } as const
    await store.insert({ jobs: [newJob({ queue: 'held', unique })] })
    const ids = Array.from({ length: 500 }, () => uuid())
    const groups = ids.map((id, n) => {
      const member = { group: ids[n + 1] ?? '', n: 0 }
      const next = newJob({ queue: 'held', unique, member })
      return newGroup(1, { id, jobs: { settled: n < ids.length - 1 ? next : newJob({ queue: 'after' }) } })
    })
    const first = newJob({ queue: 'held', unique, member: { group: ids[0]!, n: 0 } })

    const { results, enqueued } = await store.insert({ jobs: [first], groups })

    expect(results[0]?.status).toBe('duplicate')
    expect(enqueued?.map(({ queue }) => queue)).toEqual(['after'])
    expect(await fired(store)).toBe(1)
  })
})
