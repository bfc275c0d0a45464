import { describe, expect, it } from 'vitest'
import type { Membership } from '../../src/core/flows/groups.ts'
import type { NewRun } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { SqliteClient } from '../../src/stores/sqlite/connection/client.ts'
import { OPEN_MEMBERS } from '../../src/stores/sqlite/flows/members.ts'
import { listQuery } from '../../src/stores/sqlite/flows/runs.ts'
import { endOf, groupOf, outcomesOf, readGroup, SPACE, take } from './group-samples.ts'
import { done, freshFile, newJobs, openHandle, openStore, runtime } from './support.ts'

describe('A plain job', () => {
  it('does not touch the tables of groups and runs', async () => {
    const handle = openHandle(freshFile())
    const prepared: string[] = []
    const client: SqliteClient = {
      prepare(sql) {
        prepared.push(sql)
        return handle.prepare(sql)
      },
      exec: (sql) => handle.exec(sql),
      close: () => handle.close(),
      get isTransaction() {
        return handle.isTransaction
      },
    }
    const store = openStore({ client })
    for (const limit of [1, 50]) {
      await store.insert({ jobs: newJobs(limit) })
      await endOf(store, await take(store, limit))
    }
    const [job] = newJobs(1)
    await store.insert({ jobs: [job as NewJob] })
    const target = { ids: [job?.id ?? ''] }
    await store.change({ action: 'cancel', space: SPACE, target, failure: null, keepMs: 1 })

    expect(prepared.length).toBeGreaterThan(10)
    expect(prepared.filter((sql) => /skep_(groups|outcomes|run|leaving)/.test(sql))).toEqual([])
  })
})

describe('Pruning', () => {
  const left = (file: string): unknown =>
    openHandle(file)
      .prepare('select (select count(*) from skep_outcomes) + (select count(*) from skep_leaving) as n')
      .get()

  it('takes a large group away at once and its outcomes by the portion', async () => {
    const file = freshFile()
    const store = openStore({ file, synchronous: 'normal' })
    const { group, jobs } = groupOf(2_500, { jobs: {} })
    await store.insert({ jobs, groups: [group], now: 1 })
    await store.settle({ settlements: await take(store, 2_500, () => done, { now: 2 }), now: 3 })

    expect(await store.prune({ limit: 1_000, now: 60_003 })).toEqual({ pruned: 1_000 })
    expect(await readGroup(store, group.id)).toBeNull()
    expect(await store.prune({ limit: 1_000, now: 60_003 })).toEqual({ pruned: 1_000 })
    expect(await store.prune({ limit: 1_000, now: 60_003 })).toEqual({ pruned: 0 })
    expect(left(file)).toEqual({ n: 0 })
  })

  it('takes a run away with all that is below it, by the portion', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const root = runtime.uuid()
    const runOf = (id: string, member: Membership | null): NewRun => ({
      id,
      space: SPACE,
      flow: 'access',
      version: 1,
      position: '{}',
      state: '{}',
      attributes: ['userId:62'],
      member,
      root,
    })
    const top = groupOf(30, { run: root, jobs: {} })
    const branches = top.jobs.map(({ id, member }) => runOf(id, member))
    const below = branches.map(({ id }) => groupOf(1, { run: id, jobs: {} }).group)
    await store.insert({ jobs: [], runs: [runOf(root, null), ...branches], groups: [top.group, ...below] })
    for (const { id: group } of below) await store.tell({ space: SPACE, group, n: 0, result: null })
    const end = {
      space: SPACE,
      revision: 0,
      status: 'done',
      keepMs: 1,
      groups: [],
      runs: [],
      jobs: [],
    } as const
    await store.moveRuns({ moves: [...branches, { id: root }].map(({ id }) => ({ ...end, id })), now: 1 })

    const calls: number[] = []
    do calls.push((await store.prune({ limit: 20, now: 2 })).pruned)
    while (calls.at(-1) === 20)

    expect(calls.length).toBeGreaterThan(4)
    expect(left(file)).toEqual({ n: 0 })
    const { runs } = await store.getRuns({ space: SPACE, ids: [root, ...branches.map(({ id }) => id)] })
    const { groups } = await store.getGroups({ space: SPACE, ids: below.map(({ id }) => id) })
    expect([...runs, ...groups].every((one) => one === null)).toBe(true)
    const handle = openHandle(file)
    expect(handle.prepare('select count(*) as n from skep_run_attributes').get()).toEqual({ n: 0 })
  })

  it('forgets what was told of a group that nobody made after thirty days, and nothing else', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const { group } = groupOf(2)
    await store.tell({ space: SPACE, group: group.id, n: 0, result: null, now: 0 })
    await store.tell({ space: SPACE, group: runtime.uuid(), n: 0, result: null, now: 0 })
    await store.insert({ jobs: [], groups: [group], now: 0 })

    await store.prune({ limit: 10, now: 30 * 86_400_000 - 1 })
    expect(left(file)).toEqual({ n: 2 })
    await store.prune({ limit: 10, now: 30 * 86_400_000 })
    expect(left(file)).toEqual({ n: 1 })
    expect(await outcomesOf(store, group.id)).toHaveLength(1)
  })
})

describe('Looking for members and runs', () => {
  it('reads indexes in their order', async () => {
    const file = freshFile()
    await openStore({ file }).ready()
    const db = openHandle(file)
    const call = { space: SPACE, limit: 10, cursor: 'x' }
    const queries = [
      OPEN_MEMBERS,
      listQuery(call).sql,
      listQuery({ ...call, flow: 'access' }).sql,
      listQuery({ ...call, status: 'failed' }).sql,
      listQuery({ ...call, status: 'running' }).sql,
      listQuery({ ...call, flow: 'access', status: 'failed' }).sql,
      listQuery({ ...call, flow: 'access', status: 'running' }).sql,
      listQuery({ ...call, status: 'running', branches: true }).sql,
      listQuery({ ...call, attribute: 'userId:62', flow: 'access', status: 'failed' }).sql,
      listQuery({ ...call, root: 'r', branches: true }).sql,
    ]
    for (const sql of queries) {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => '1')
      const rows = db.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]
      const plan = rows.map(({ detail }) => detail).join('\n')
      expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
    }
  })

  it('finds those of a status among many of a flow without looking at the others', async () => {
    const file = freshFile()
    await openStore({ file }).ready()
    const db = openHandle(file)
    const planOf = (call: Partial<Parameters<typeof listQuery>[0]>): string => {
      const { sql } = listQuery({ space: SPACE, limit: 10, cursor: 'x', ...call })
      const values = Array.from({ length: sql.split('?').length - 1 }, () => '1')
      const rows = db.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]
      return rows.map(({ detail }) => detail).join('\n')
    }

    expect(planOf({})).toMatch(/skep_runs_listed \(space=\? AND id<\?\)/)
    expect(planOf({ flow: 'access' })).toMatch(/skep_runs_flow \(space=\? AND flow=\? AND id<\?\)/)
    expect(planOf({ root: 'r', branches: true })).toMatch(/skep_runs_root \(space=\? AND root=\? AND id<\?\)/)
    expect(planOf({ flow: 'access', status: 'failed' })).toMatch(
      /skep_runs_flow_status \(space=\? AND flow=\? AND status=\? AND id<\?\)/,
    )
    expect(planOf({ status: 'running', branches: true })).toMatch(/skep_runs_running \(space=\? AND id<\?\)/)
    expect(planOf({ status: 'failed' })).toMatch(/skep_runs_status \(space=\? AND status=\? AND id<\?\)/)
  })

  it('finds what to prune by the indexes meant for it', async () => {
    const file = freshFile()
    const handle = openHandle(file)
    const prepared = new Set<string>()
    const client: SqliteClient = {
      prepare(sql) {
        prepared.add(sql)
        return handle.prepare(sql)
      },
      exec: (sql) => handle.exec(sql),
      close: () => handle.close(),
      get isTransaction() {
        return handle.isTransaction
      },
    }
    const store = openStore({ client })
    const root = runtime.uuid()
    const { group } = groupOf(1, { run: root, jobs: {} })
    const made = {
      space: SPACE,
      flow: 'access',
      version: 1,
      position: '{}',
      state: '{}',
      attributes: ['a:1'],
    }
    await store.insert({
      jobs: [],
      runs: [{ ...made, id: root, root, member: null }],
      groups: [group],
      now: 1,
    })
    await store.tell({ space: SPACE, group: group.id, n: 0, result: null, now: 1 })
    const end = { status: 'done', keepMs: 1, groups: [], runs: [], jobs: [] } as const
    await store.moveRuns({ moves: [{ id: root, space: SPACE, revision: 0, ...end }], now: 1 })
    prepared.clear()

    await store.prune({ limit: 10, now: 2 })

    const removing = [...prepared].filter((sql) => /skep_(groups|outcomes|run)/.test(sql))
    expect(removing.length).toBeGreaterThan(5)
    for (const sql of removing) {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => '1')
      const rows = handle.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]
      for (const { detail } of rows) expect(detail).not.toMatch(/^SCAN (?!json_each|value)/)
    }
  })
})
