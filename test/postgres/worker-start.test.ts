import { afterEach, describe, expect, it } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'

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

  it('rejects when the worker is stopped before it started', async () => {
    const { url } = await database()
    const worker = open(url).worker([greeter])

    await worker.stop()

    await expect(worker.ready).rejects.toMatchObject({ code: expect.stringMatching(/CLOSED|SCHEMA_MISSING/) })
  })
})
