/**
 * What a screen asks costs the same however many jobs there are. Time would tell it only on a quiet machine, so this counts work:
 * calls of the store, rows that came back, and how SQLite means to find them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fillJobs, jobOf } from '../../bench/dashboard/fill-jobs.ts'
import { LANED, QUEUES } from '../../bench/dashboard/shape.ts'
import { createSkep, type Skep, type Store, silentLogger, systemRuntime } from '../../src/index.ts'
import { createServer, type InputOf, type OperationName } from '../../src/server.ts'
import { sqliteStore } from '../../src/sqlite.ts'

const SIZES = [2_000, 20_000] as const

/** What a page may look at, and a little more: the call that goes over it is carried out. */
const MOST_ROWS = 5_200
/** What a count may have the store look at. */
const MOST_LOOKED = 5_000
/** Calls for a page of 50 over all queues: one for each, a few to read on, and who asks. */
const MOST_CALLS = QUEUES.length + 12
/** Rows for it: every queue is read a little ahead, and up to four of them for a whole page. */
const MOST_PAGE_ROWS = 8 * QUEUES.length + 4 * 50

type Asked = { readonly [Name in OperationName]: readonly [Name, InputOf<Name>] }[OperationName]

/** These find what they want by key. */
const BY_KEY: readonly Asked[] = [
  ['overview.get', {}],
  ['queues.list', {}],
  ['queues.get', { queue: 'queue-01' }],
  ['queues.lanes', { queue: LANED, limit: 10 }],
  ['jobs.list', {}],
  ['jobs.list', { query: 'state:ready' }],
  ['jobs.list', { query: 'state:delayed' }],
  ['jobs.list', { query: 'state:done' }],
  ['jobs.list', { query: 'state:dead queue:queue-02' }],
  ['jobs.list', { query: 'state:cancelled before:10m' }],
  ['jobs.list', { query: 'state:delayed since:2000-01-01' }],
  ['jobs.list', { query: 'lane:nobody' }],
  ['jobs.list', { query: `lane:nobody queue:${LANED}` }],
  ['jobs.list', { query: `lane:tenant-1900 queue:${LANED} state:done,delayed` }],
  ['jobs.list', { query: 'lane:tenant-1900 state:dead since:2d' }],
  ['jobs.count', {}],
  ['jobs.count', { query: 'state:done since:2d' }],
  ['jobs.count', { query: 'lane:tenant-1900 since:2d -state:ready' }],
  ['errors.list', {}],
  ['system.get', {}],
]

/** These look at one job after the other, so many at most. */
const BY_LOOKING: readonly Asked[] = [
  ['jobs.list', { query: 'payload.user.id:nobody' }],
  ['jobs.list', { query: 'error:~nobody state:dead' }],
  ['jobs.list', { query: 'lane:"" queue:*-20 state:done' }],
  ['jobs.list', { query: 'state:ready since:1s' }],
]

/** These too, in the store itself. */
const BY_COUNTING: readonly Asked[] = [
  ['jobs.count', { query: 'state:ready since:1s' }],
  ['jobs.count', { query: 'lane:"" state:done' }],
]

interface Work {
  calls: number
  rows: number
  /** Which pages of jobs were asked for. */
  lists: Parameters<Store['list']>[0][]
  /** How many jobs counts were told to look at, at most. */
  looks: number[]
  /** What the server said. */
  reply: unknown
}

interface Filled {
  readonly skep: Skep
  readonly store: Store
  readonly statements: Set<string>
  readonly explain: (sql: string) => readonly string[]
  readonly work: (asked: Asked) => Promise<Work>
}

describe('with ten times as many jobs', () => {
  let small: Filled
  let large: Filled

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skep-flat-'))
    const [one, other] = await Promise.all(SIZES.map((size) => filled(join(folder, `${size}.db`), size)))
    small = one as Filled
    large = other as Filled
    return async () => {
      await Promise.all([small.skep.close(), large.skep.close()])
      rmSync(folder, { recursive: true, force: true })
    }
  }, 120_000)

  it.each(BY_KEY)('%s %j makes as many calls and reads as many rows', async (...asked) => {
    const before = await small.work(asked as Asked)
    const after = await large.work(asked as Asked)

    expect(after.calls).toBeLessThanOrEqual(before.calls + 1)
    // A page of the smaller one may be short.
    expect(after.rows).toBeLessThanOrEqual(Math.max(2 * before.rows, 1_000))
  })

  it.each(BY_LOOKING)('%s %j looks at so many jobs at most', async (...asked) => {
    expect((await large.work(asked as Asked)).rows).toBeLessThanOrEqual(MOST_ROWS)
  })

  it.each(BY_COUNTING)('%s %j has the store look at so many jobs at most', async (...asked) => {
    const { rows, looks } = await large.work(asked as Asked)

    expect(rows).toBeLessThanOrEqual(MOST_ROWS)
    expect(looks.length).toBeGreaterThan(0)
    for (const look of looks) expect(look).toBeLessThanOrEqual(MOST_LOOKED)
  })

  it.each(['done', 'failed', 'dead', 'cancelled', 'delayed'])(
    'a page from deep inside the list of %s jobs reads nothing of the pages before it',
    async (state) => {
      const query = `state:${state}`
      let cursor: string | null = null
      for (let page = 0; page < 5; page++) {
        const turned = await large.skep.jobs.list({ query, limit: 200, ...(cursor !== null && { cursor }) })
        cursor = turned.cursor
      }
      expect(cursor).not.toBeNull()
      const { calls, rows } = await large.work(['jobs.list', { query, limit: 50, cursor: cursor as string }])

      expect(calls).toBeLessThanOrEqual(MOST_CALLS)
      expect(rows).toBeLessThanOrEqual(MOST_PAGE_ROWS)
    },
  )

  it('pages of jobs that ended by the hundred in one moment are read from few queues', async () => {
    const { space } = large.skep
    const now = Date.now()
    for (const [n, queue] of QUEUES.entries()) {
      // Every queue has its own moments, but for a few that share them.
      const at = now + 10_000 * Math.floor(n / 3)
      await endTogether(large.store, { space, queue, at, count: 70 })
      await endTogether(large.store, { space, queue, at: at + 200_000, count: 80 })
    }
    const pages: Work[] = []
    const query = `state:cancelled since:${new Date(now).toISOString()}`
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const next: { readonly cursor?: string } = cursor === undefined ? {} : { cursor }
      const page = await large.work(['jobs.list', { query, limit: 50, ...next }])
      pages.push(page)
      cursor = (page.reply as { readonly cursor: string | null }).cursor
    }

    const sum = (of: (page: Work) => number): number => pages.reduce((all, page) => all + of(page), 0)
    expect(pages).toHaveLength((150 * QUEUES.length) / 50)
    for (const { calls, rows } of pages) {
      expect(calls).toBeLessThanOrEqual(MOST_CALLS)
      expect(rows).toBeLessThanOrEqual(MOST_PAGE_ROWS)
    }
    // Of what was read most is shown.
    expect(sum(({ rows }) => rows) / pages.length).toBeLessThanOrEqual(150)
  })

  it('a store is not asked for what it would have to look for in all jobs of a queue', async () => {
    for (const asked of [...BY_KEY, ...BY_LOOKING]) {
      for (const { state, where = {} } of (await large.work(asked)).lists) {
        if (state === 'ready') expect(where).not.toHaveProperty('after')
        else if (state !== 'running') expect(where).not.toHaveProperty('lane', '')
      }
    }
  })

  it('the overview loads no jobs', async () => {
    expect((await large.work(['overview.get', {}])).lists).toEqual([])
  })

  it('SQLite finds by an index all that it is asked for', async () => {
    for (const asked of [...BY_KEY, ...BY_LOOKING, ...BY_COUNTING]) await large.work(asked)
    const selects = [...large.statements].filter((sql) => /^\s*select/.test(sql))

    expect(selects.filter((sql) => sql.includes('skep_archive')).length).toBeGreaterThan(5)
    for (const sql of selects) {
      // Few jobs run at once, and these tables have a row for each of what is few. A virtual table is the list of ids in the call.
      const scans = large
        .explain(sql)
        .filter((step) => /^SCAN (?:[jvwz]|skep_(?:jobs|waiting|archive))\b(?! VIRTUAL TABLE)/.test(step))
      expect(scans, sql).toEqual([])
    }
  })
})

async function filled(file: string, size: number): Promise<Filled> {
  const database = new DatabaseSync(file)
  const statements = new Set<string>()
  const client = new Proxy(database, {
    get(target, key) {
      if (key === 'prepare') {
        return (sql: string) => {
          statements.add(sql)
          return target.prepare(sql)
        }
      }
      const value = Reflect.get(target, key) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const work: Work = { calls: 0, rows: 0, lists: [], looks: [], reply: null }
  const plain = sqliteStore({ client, synchronous: 'normal' })
  const store = counting(plain, work)
  const skep = createSkep({ store, logger: silentLogger })
  await skep.migrate()
  await skep.ready()
  const { uuid } = systemRuntime()
  await fillJobs(plain, { space: skep.space, uuid, from: 0, to: size, now: Date.now() })
  return {
    skep,
    store: plain,
    statements,
    explain: (sql) => database.prepare(`explain query plan ${sql}`).all().map(detailOf),
    async work([name, input]) {
      const server = createServer(skep, { logger: silentLogger, dashboard: false })
      onTestFinished(() => server.close())
      const { url } = await server.listen({ port: 0 })
      work.calls = 0
      work.rows = 0
      work.lists = []
      work.looks = []
      const response = await fetch(`${url}/api/v1/call/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      })
      const text = await response.text()
      expect(response.status, text).toBe(200)
      return { ...work, reply: JSON.parse(text) as unknown }
    },
  }
}

/** Jobs of a queue that end in one moment. */
async function endTogether(
  store: Store,
  options: { readonly space: string; readonly queue: string; readonly at: number; readonly count: number },
): Promise<void> {
  const { space, queue, at, count } = options
  const { uuid } = systemRuntime()
  const jobs = Array.from({ length: count }, (_, n) => jobOf(space, uuid(), queue, n))
  await store.insert({ jobs, now: at })
  const target = { ids: jobs.map(({ id }) => id) }
  await store.change({ action: 'cancel', space, target, failure: null, keepMs: 3_600_000, now: at })
}

/** Counts the calls of a store, and the jobs, runs and records that it gave. */
function counting(store: Store, work: Work): Store {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const answer = value.apply(target, args) as unknown
        if (!(answer instanceof Promise)) return answer
        work.calls++
        if (key === 'list') work.lists.push(args[0] as Work['lists'][number])
        if (key === 'count') work.looks.push((args[0] as Parameters<Store['count']>[0]).look ?? 0)
        return answer.then((reply: unknown) => {
          for (const some of Object.values(reply ?? {})) if (Array.isArray(some)) work.rows += some.length
          return reply
        })
      }
    },
  })
}

function detailOf(row: unknown): string {
  return String((row as { detail: unknown }).detail)
}
