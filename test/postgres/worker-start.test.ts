import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import postgres from 'postgres'
import { afterEach, describe, expect, it } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { type FreshDatabase, freshDatabase, startPostgres } from '../servers/index.ts'

const greet = queue<string, string>('greet')

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function database(): Promise<FreshDatabase> {
  const fresh = await freshDatabase()
  closers.push(() => fresh.drop())
  return fresh
}

function open(url: string): Skep {
  const skep = createSkep({ store: postgresStore({ url }), logger: silentLogger })
  closers.push(() => skep.close())
  return skep
}

/** The SQLSTATE with which a login is refused; null if it is not. */
async function codeOf(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return null
  } catch (error) {
    return (error as { code?: string }).code ?? null
  } finally {
    await client.end()
  }
}

const greeter = greet.handle(({ payload }) => `Hello, ${payload}!`)

describe('`worker.ready` on Postgres', () => {
  it('rejects when the tables are missing; the worker starts once they are there', async () => {
    const { url } = await database()
    const skep = open(url)
    const worker = skep.worker([greeter])

    await expect(worker.ready).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
    expect(worker.health().status).toBe('degraded')
    const migrating = createSkep({ store: postgresStore({ url, migrate: true }), logger: silentLogger })
    closers.push(() => migrating.close())
    await migrating.ready()

    const job = await skep.enqueue(greet, 'Ada')
    expect(await job.result()).toBe('Hello, Ada!')
  })

  it.each([
    ['a database that does not exist', { pathname: '/no_such_database' }],
    ['a role that does not exist', { username: 'no_such_role' }],
  ])('rejects for %s', async (_name, wrong) => {
    const url = Object.assign(new URL((await database()).url), wrong)

    const worker = open(url.href).worker([greeter])

    await expect(worker.ready).rejects.toMatchObject({ code: 'STORE_REJECTED' })
  })

  it('rejects at once for a wrong or a missing password, and starts with the right one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skep-scram-'))
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    const server = await startPostgres(folder)
    closers.push(() => server.stop())
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    await admin.query("set password_encryption = 'scram-sha-256'")
    await admin.query("create role ada login superuser password 's3cret'")
    const { rows } = await admin.query('show hba_file')
    const file: string = rows[0].hba_file
    writeFileSync(file, `host all ada all scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await admin.query('select pg_reload_conf()')
    await admin.end()
    const as = (password: string): string =>
      Object.assign(new URL(server.url), { username: 'ada', password }).href
    // The server reads its rules a moment after it was told to.
    await expect.poll(() => codeOf(as('wrong'))).toBe('28P01')

    const migrating = createSkep({
      store: postgresStore({ url: as('s3cret'), migrate: true }),
      logger: silentLogger,
    })
    closers.push(() => migrating.close())
    await migrating.ready()
    const sql = postgres(as('wrong'))
    closers.push(() => sql.end({ timeout: 1 }))

    const refused = { code: 'STORE_REJECTED', message: expect.stringMatching(/password/) }
    for (const store of [postgresStore({ url: as('wrong') }), postgresStore({ sql })]) {
      const skep = createSkep({ store, logger: silentLogger })
      closers.push(() => skep.close())
      await expect(skep.worker([greeter]).ready).rejects.toMatchObject({
        ...refused,
        facts: { sqlState: '28P01' },
      })
    }
    await expect(open(as('')).worker([greeter]).ready).rejects.toMatchObject(refused)
    const right = open(as('s3cret'))
    await right.worker([greeter]).ready
    expect(await (await right.enqueue(greet, 'Ada')).result()).toBe('Hello, Ada!')
  }, 60_000)

  it('rejects when the worker is stopped before it started', async () => {
    const { url } = await database()
    const worker = open(url).worker([greeter])

    await worker.stop()

    await expect(worker.ready).rejects.toMatchObject({ code: expect.stringMatching(/CLOSED|SCHEMA_MISSING/) })
  })
})
