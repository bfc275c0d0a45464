import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createSkep, fixed, queue, retry, type Skep, type Store, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase } from '../servers/index.ts'
import { later } from './support.ts'

interface Damageable {
  readonly store: Store
  /** Writes to a column of a job's row, past the store. */
  damage(id: string, column: 'payload' | 'headers' | 'overrides', value: string | Uint8Array): Promise<void>
}

const mail = queue<{ n: number }, number>('mail', { onError: retry(2, fixed(0)) })

describe.each([
  ['SQLite', openSqlite],
  ['Postgres', openPostgres],
])('A damaged row on %s', (_name, open) => {
  it('with a payload that is no JSON is put among the dead, with the reason; the others run', async () => {
    const { store, damage } = await open()
    const skep = start(store)
    const jobs = await skep.enqueueMany(mail, numbers(50))
    const victims = jobs.slice(10, 10 + broken.length)
    for (const [i, { id }] of victims.entries()) await damage(id, 'payload', broken[i] as string)

    const ran: number[] = []
    skep.worker([mail.handle(({ payload }) => ran.push(payload.n))], { concurrency: 3 })
    await allEnded(skep)

    expect(ran.length).toBe(50 - broken.length)
    for (const [i, { id }] of victims.entries()) {
      const job = await skep.jobs.get(id)
      expect(job).toMatchObject({ state: 'dead', payload: broken[i], starts: 1 })
      expect(job?.failure).toMatchObject({ code: 'PAYLOAD_UNREADABLE' })
    }
  })

  it('in a batch fails by itself', async () => {
    const { store, damage } = await open()
    const skep = start(store)
    const jobs = await skep.enqueueMany(mail, numbers(20))
    const victim = jobs[7] as (typeof jobs)[number]
    await damage(victim.id, 'payload', '{"n":')

    let ran = 0
    const run = (batch: readonly unknown[]): void => {
      ran += batch.length
    }
    skep.worker([mail.handleBatch({ size: 10 }, run)])
    await allEnded(skep)

    expect(ran).toBe(19)
    expect(await skep.jobs.get(victim.id)).toMatchObject({
      state: 'dead',
      failure: { code: 'PAYLOAD_UNREADABLE' },
    })
  })

  it('with options of its own that are no JSON runs as its queue says', async () => {
    const { store, damage } = await open()
    const skep = start(store)
    const jobs = await skep.enqueueMany(mail, numbers(20), { timeout: '1m' })
    const victims = jobs.slice(5, 5 + noOptions.length)
    for (const [i, { id }] of victims.entries()) await damage(id, 'overrides', noOptions[i] as string)

    const ran: number[] = []
    skep.worker([mail.handle(({ payload }) => ran.push(payload.n))], { concurrency: 3 })
    await allEnded(skep)

    expect(ran.toSorted((a, b) => a - b)).toEqual(numbers(20).map(({ n }) => n))
    for (const { id } of victims) expect(await skep.jobs.get(id)).toMatchObject({ state: 'done', starts: 1 })
  })

  it('with headers that are no JSON fails when they are read, and ends among the dead; the others run', async () => {
    const { store, damage } = await open()
    const skep = start(store)
    const jobs = await skep.enqueueMany(mail, numbers(20), { headers: { trace: 'a' } })
    const victim = jobs[7] as (typeof jobs)[number]
    await damage(victim.id, 'headers', '{"trace":')

    const traces: (string | undefined)[] = []
    skep.worker([mail.handle(({ headers }) => traces.push(headers['trace']))], { concurrency: 3 })
    await allEnded(skep)

    expect(traces).toEqual(Array(19).fill('a'))
    expect(await skep.jobs.get(victim.id)).toMatchObject({
      state: 'dead',
      failure: { kind: expect.any(String) },
    })
  })
})

/** Payloads that cannot be read. */
const broken = ['{"n":', '', '\u0001\u0002', 'undefined']

/** What may stand in a damaged column of options: each means nothing. */
const noOptions = ['{"keepMs":', '', 'null', '7', '"text"', '[]']

function numbers(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}

function start(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  later(() => skep.close())
  return skep
}

async function allEnded(skep: Skep): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const counts = await skep.queues.list()
    if (counts.every(({ ready, delayed, running }) => ready + delayed + running === 0)) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`Not all ended: ${JSON.stringify(await skep.queues.list())}`)
}

async function openSqlite(): Promise<Damageable> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-damaged-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'jobs.db')
  return {
    store: sqliteStore({ file }),
    async damage(id, column, value) {
      const db = new DatabaseSync(file)
      const { changes } = db.prepare(`update skep_jobs set ${column} = ? where id = ?`).run(value, id)
      db.close()
      expect(changes).toBe(1)
    },
  }
}

async function openPostgres(): Promise<Damageable> {
  const database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  // Past the trigger that refuses writes by hand.
  await client.query('set search_path = skep, pg_temp')
  later(async () => {
    await client.end()
    await database.drop()
  })
  return {
    store: postgresStore({ url: database.url, migrate: true }),
    async damage(id, column, value) {
      const { rowCount } = await client.query(`update skep.jobs set ${column} = $1 where id = $2`, [
        value,
        id,
      ])
      expect(rowCount).toBe(1)
    },
  }
}
