import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { postgresStore } from '../../src/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import { dumpPostgres, installPostgresAudit, readPostgresAudit } from '../proof/audit/postgres.ts'
import type { AuditEntry } from '../proof/history.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'

let database: FreshDatabase
let client: pg.Client
let store: Store

beforeEach(async () => {
  database = await freshDatabase()
  store = postgresStore({ url: database.url, migrate: true, listen: false })
  await store.ready()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await installPostgresAudit(client)
})
afterEach(async () => {
  await store.close()
  await client.end()
  await database.drop()
})

describe('The audit of the Postgres store', () => {
  it('tells every step of a job, a move between the tables as one', async () => {
    await store.insert({ jobs: [job(1, { delayMs: 1 })] })
    await untilDue(1)
    await claim('t1')
    await settle(1, 't1', { to: 'delayed', delayMs: 0, count: 'errors' })
    await claim('t2')
    await store.extend({ leases: [{ space: 'default', id: idOf(1), token: 't2' }], leaseMs: 60_000 })
    await settle(1, 't2', { to: 'done', keepMs: 60_000, result: '7' })
    await change('retry', 1)
    await claim('t3')
    await settle(1, 't3', { to: 'done', keepMs: null })

    const entries = await audit()
    expect(entries.map(({ before, after }) => [before?.state, after?.state])).toEqual([
      [undefined, 'delayed'],
      ['delayed', 'ready'],
      ['ready', 'running'],
      ['running', 'delayed'],
      ['delayed', 'ready'],
      ['ready', 'running'],
      ['running', 'running'],
      ['running', 'done'],
      ['done', 'ready'],
      ['ready', 'running'],
      ['running', undefined],
    ])
    expect(entries[2]?.after).toMatchObject({ token: 't1', worker: 'w', generation: 0 })
    expect(entries[3]?.after).toMatchObject({ token: null, counters: { starts: 1, errors: 1 } })
    expect(entries[7]?.after).toMatchObject({ result: '7', leaseUntil: null })
    expect(entries[8]?.after).toMatchObject({ generation: 1, counters: { starts: 0, errors: 0 } })
  })

  it('agrees, job by job, with itself and with what is in the store', async () => {
    await store.insert({ jobs: Array.from({ length: 50 }, (_, n) => job(n)) })
    await claim('t1', 30)
    for (let n = 0; n < 10; n++) await settle(n, 't1', { to: 'done', keepMs: 60_000 })
    await change('cancel', 45)
    await change('remove', 46)

    const latest = new Map<string, AuditEntry>()
    for (const entry of await audit()) {
      expect(entry.before).toEqual(latest.get(entry.id)?.after ?? null)
      latest.set(entry.id, entry)
    }
    const present = [...latest].flatMap(([id, { after }]) => (after ? [[id, after] as const] : []))
    expect(new Map(present)).toEqual(await dumpPostgres(client))
    expect(present).toHaveLength(49)
  })

  it('keeps the lane, the cost and the slot of a job, also when it has moved', async () => {
    const headers = JSON.stringify({
      'skep-schedule': 'nightly',
      'skep-slot': '2026-11-01T00:00:00.000Z',
    })
    await store.insert({ jobs: [job(1, { lane: 'a', cost: 5, headers })] })
    await claim('t1')
    await settle(1, 't1', { to: 'done', keepMs: 60_000 })
    await store.insert({ jobs: [job(2)] })

    const slot = { schedule: 'nightly', slot: Date.UTC(2026, 10, 1) }
    const [waiting, running, done, plain] = await audit()
    for (const row of [waiting?.after, running?.after, done?.before, done?.after])
      expect(row).toMatchObject({ lane: 'a', cost: 5, slot })
    expect(plain?.after).toMatchObject({ lane: null, cost: 1 })
    expect(plain?.after).not.toHaveProperty('slot')
    expect((await dumpPostgres(client)).get(idOf(1))).toEqual(done?.after)
  })

  it('does not tell of an insert that was taken back in its own transaction', async () => {
    await store.insert({ jobs: [job(1)] })
    await claim('t1')
    await settle(1, 't1', { to: 'done', keepMs: 60_000 })

    await store.insert({ jobs: [job(1), job(2)], again: true })

    const entries = await audit()
    expect(entries.map(({ id, after }) => [id, after?.state])).toEqual([
      [idOf(1), 'ready'],
      [idOf(1), 'running'],
      [idOf(1), 'done'],
      [idOf(2), 'ready'],
    ])
  })
})

async function audit(): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  await readPostgresAudit(client, (entry) => entries.push(entry))
  return entries.sort((a, b) => a.seq - b.seq)
}

const idOf = (n: number): string => `01a00000-0000-7000-8000-${String(n).padStart(12, '0')}`

function job(n: number, more: Partial<NewJob> = {}): NewJob {
  const plain = {
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
  return { id: idOf(n), space: 'default', queue: 'q', payload: '{}', ...plain, ...more }
}

async function untilDue(n: number): Promise<void> {
  const sql =
    'select 1 from skep.jobs where id = $1 and due_at > extract(epoch from clock_timestamp()) * 1000'
  while ((await client.query(sql, [idOf(n)])).rowCount !== 0);
}

async function claim(token: string, limit = 1): Promise<void> {
  const sources = [{ space: 'default', queue: 'q', limit }]
  const { jobs } = await store.claim({ sources, limit, workerId: 'w', token, leaseMs: 60_000 })
  expect(jobs).toHaveLength(limit)
}

async function settle(n: number, token: string, how: Partial<Verdict>): Promise<void> {
  const blank = { keepMs: null, delayMs: 0, count: null, refund: false, keepPlace: false, keepCancelledMs: 0 }
  const verdict = { ...blank, to: 'ready', result: null, failure: null, ...how } as Verdict
  const { results } = await store.settle({ settlements: [{ space: 'default', id: idOf(n), token, verdict }] })
  expect(results[0]?.status).toBe('ok')
}

async function change(action: 'retry' | 'cancel' | 'remove', n: number): Promise<void> {
  const call = { action, space: 'default', target: { ids: [idOf(n)] }, failure: null, keepMs: 60_000 }
  expect((await store.change(call)).results[0]?.status).toBe('ok')
}
