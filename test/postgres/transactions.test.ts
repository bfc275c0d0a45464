import { EntitySchema, MikroORM } from '@mikro-orm/postgresql'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import createKnex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { createSkep, queue } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'
import { ACCOUNTS, generatePrisma, type PRISMA, type PrismaClient } from './prisma.ts'

const { uuid } = systemRuntime()
let database: FreshDatabase
let pool: pg.Pool
let store: Store

beforeAll(async () => {
  database = await freshDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 5 })
  store = postgresStore({ pool, migrate: true, listen: false })
  await store.ready()
})

afterAll(async () => {
  await store.close()
  await pool.end()
  await database.drop()
})

class Undo extends Error {}

/** Runs `use` in a transaction of some library, and ends it as its promise does. */
type Transact = (use: (tx: unknown) => Promise<void>) => Promise<unknown>

interface Library {
  readonly transact: Transact
  /** Things of the library that are not inside a transaction. */
  readonly outside?: readonly unknown[]
  close(): Promise<unknown>
}

// A payload that any wrong quoting or counting of parameters would change.
const PAYLOAD = JSON.stringify({ text: `?:a $1 $$ "q" 'q' \\ {x,y} é 🐝 ::uuid`, list: ['?', ':name', '$2'] })

function newJob(difference: Partial<NewJob> = {}): NewJob {
  return {
    id: uuid(),
    space: 'acme',
    queue: 'mail',
    payload: PAYLOAD,
    headers: '{"trace":"? $1 \\\\"}',
    priority: 3,
    delayMs: 0,
    runAt: null,
    unique: { key: `key ${uuid()} ?`, scope: 'active', windowMs: 0, onConflict: 'ignore' },
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
    ...difference,
  }
}

async function find(id: string) {
  return (await store.get({ space: 'acme', ids: [id] })).jobs[0] ?? null
}

const libraries: Record<string, () => Promise<Library>> = {
  'a pg client': async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    return {
      transact: (use) =>
        between(
          (sql) => client.query(sql),
          () => use(client),
        ),
      outside: [pool],
      close: () => client.end(),
    }
  },

  'a client of a pg pool with type parsers of its own': async () => {
    const types = {
      getTypeParser: () => (value: unknown) => (/^\d+$/.test(String(value)) ? BigInt(String(value)) : value),
    }
    const own = new pg.Pool({ connectionString: database.url, max: 1, types: types as never })
    return {
      async transact(use) {
        const client = await own.connect()
        return between(
          (sql) => client.query(sql),
          () => use(client),
        ).finally(() => client.release())
      },
      close: () => own.end(),
    }
  },

  'postgres.js': async () => {
    const sql = postgres(database.url, { max: 1 })
    return { transact: (use) => sql.begin((tx) => use(tx)), outside: [sql], close: () => sql.end() }
  },

  'Drizzle on pg': async () => {
    const db = drizzle({ client: pool })
    return { transact: (use) => db.transaction((tx) => use(tx)), outside: [db], close: async () => {} }
  },

  'Drizzle on postgres.js': async () => {
    const sql = postgres(database.url, { max: 1 })
    const db = drizzlePostgresJs({ client: sql })
    return { transact: (use) => db.transaction((tx) => use(tx)), outside: [db], close: () => sql.end() }
  },

  Kysely: async () => {
    const db = new Kysely({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database.url, max: 1 }) }),
    })
    return {
      transact: (use) => db.transaction().execute((tx) => use(tx)),
      outside: [db],
      close: () => db.destroy(),
    }
  },

  Knex: async () => {
    const knex = createKnex({ client: 'pg', connection: database.url, pool: { min: 0, max: 1 } })
    return {
      transact: (use) => knex.transaction((tx) => use(tx)),
      outside: [knex],
      close: () => knex.destroy(),
    }
  },

  'an EntityManager of TypeORM': async () => {
    const source = await new DataSource({ type: 'postgres', url: database.url }).initialize()
    return {
      transact: (use) => source.transaction((manager) => use(manager)),
      outside: [source, source.manager],
      close: () => source.destroy(),
    }
  },

  'a QueryRunner of TypeORM': async () => {
    const source = await new DataSource({ type: 'postgres', url: database.url }).initialize()
    const runner = source.createQueryRunner()
    return {
      async transact(use) {
        await runner.startTransaction()
        try {
          await use(runner)
          await runner.commitTransaction()
        } catch (error) {
          await runner.rollbackTransaction()
          throw error
        }
      },
      outside: [runner],
      close: () => source.destroy(),
    }
  },

  MikroORM: async () => {
    const Nothing = new EntitySchema({
      name: 'Nothing',
      properties: { id: { type: 'number', primary: true } },
    })
    const orm = await MikroORM.init({ clientUrl: database.url, entities: [Nothing], debug: false })
    const em = orm.em.fork()
    return {
      transact: (use) => em.transactional((inner) => use(inner)),
      outside: [em],
      close: () => orm.close(),
    }
  },

  Sequelize: async () => {
    const sequelize = new Sequelize(database.url, { logging: false })
    return {
      transact: (use) => sequelize.transaction((tx) => use(tx)),
      outside: [sequelize],
      close: () => sequelize.close(),
    }
  },

  'Prisma 6': () => prisma(6),
  'Prisma 7': () => prisma(7),
  'an extended client of Prisma 7': () => prisma(7, (client) => client.$extends({ model: { account: {} } })),
  'a nested transaction of Prisma 7': async () => {
    const library = await prisma(7)
    const nested: Transact = (use) =>
      library.transact((tx) => (tx as PrismaClient).$transaction((inner) => use(inner)))
    return { ...library, transact: nested }
  },

  'a function that runs SQL': async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const run = async (sql: string, params: readonly unknown[]) => (await client.query(sql, [...params])).rows
    return {
      transact: (use) =>
        between(
          (sql) => client.query(sql),
          () => use(run),
        ),
      close: () => client.end(),
    }
  },
}

async function prisma(
  major: keyof typeof PRISMA,
  extend = (client: PrismaClient): PrismaClient => client,
): Promise<Library> {
  const generated = await generatePrisma(major)
  expect(generated.version).toMatch(new RegExp(`^${major}\\.`))
  const plain = generated.open(database.url)
  const client = extend(plain)
  return {
    transact: (use) => client.$transaction((tx) => use(tx)),
    outside: [client],
    async close() {
      await plain.$disconnect()
      generated.remove()
    },
  }
}

async function between(say: (sql: string) => Promise<unknown>, use: () => Promise<void>): Promise<void> {
  await say('begin')
  try {
    await use()
    await say('commit')
  } catch (error) {
    await say('rollback')
    throw error
  }
}

describe.each(Object.entries(libraries))('the transaction of %s', (_name, open) => {
  let library: Library
  beforeAll(async () => {
    library = await open()
  })
  afterAll(() => library?.close())

  const inside = (tx: unknown) => (store.within as NonNullable<Store['within']>)(tx)

  it('keeps what was enqueued when it commits', async () => {
    const jobs = [newJob(), newJob({ unique: null, headers: null, delayMs: 60_000 })]

    await library.transact(async (tx) => {
      const { results } = await inside(tx).insert({ jobs })
      expect(results.map(({ status }) => status)).toEqual(['ok', 'ok'])
      expect(await find(jobs[0]!.id)).toBeNull()
    })

    expect(await find(jobs[0]!.id)).toMatchObject({
      state: 'ready',
      payload: PAYLOAD,
      headers: jobs[0]!.headers,
      uniqueKey: jobs[0]!.unique?.key,
      priority: 3,
    })
    expect(await find(jobs[1]!.id)).toMatchObject({ state: 'delayed', payload: PAYLOAD })
  })

  it('keeps nothing when it rolls back', async () => {
    const job = newJob()

    const undone = library.transact(async (tx) => {
      await inside(tx).insert({ jobs: [job] })
      throw new Undo()
    })

    await expect(undone).rejects.toBeInstanceOf(Undo)
    expect(await find(job.id)).toBeNull()
    const { results } = await store.insert({ jobs: [newJob({ unique: job.unique })] })
    expect(results[0]?.status).toBe('ok')
  })

  it('ends a job, with a claim of the next, when it commits, and not when it rolls back', async () => {
    const queue = `settled-${uuid()}`
    const [first, second] = [newJob({ queue }), newJob({ queue })]
    await store.insert({ jobs: [first, second] })
    const source = { space: 'acme', queue, limit: 1 }
    const lease = { sources: [source], limit: 1, workerId: 'w', leaseMs: 60_000 }
    const { jobs } = await store.claim({ ...lease, token: uuid() })
    const { space, id, token } = jobs[0]!
    const settlement = {
      space,
      id,
      token,
      verdict: {
        to: 'done' as const,
        keepMs: 60_000,
        delayMs: 0,
        count: null,
        refund: false,
        keepPlace: false,
        keepCancelledMs: 0,
        result: PAYLOAD,
        failure: null,
      },
      enqueue: [newJob({ queue: 'next' })],
    }

    await library
      .transact(async (tx) => {
        await inside(tx).settle({ settlements: [settlement] })
        throw new Undo()
      })
      .catch(() => {})
    expect(await find(id)).toMatchObject({ state: 'running' })

    await library.transact(async (tx) => {
      const { results, claimed } = await inside(tx).settle({
        settlements: [settlement],
        claim: { ...lease, token: uuid() },
      })
      expect(results[0]).toMatchObject({ status: 'ok', state: 'done', inserted: [{ status: 'ok' }] })
      expect(claimed?.jobs.map((job) => [job.id, job.payload, job.starts])).toEqual([[second.id, PAYLOAD, 1]])
    })
    expect(await find(id)).toMatchObject({ state: 'done', result: PAYLOAD })
    expect(await find(settlement.enqueue[0]!.id)).toMatchObject({ state: 'ready' })
    expect(await find(second.id)).toMatchObject({ state: 'running' })
  })

  it('is refused outside any transaction', () => {
    for (const thing of library.outside ?? []) {
      expect(() => inside(thing)).toThrow(expect.objectContaining({ code: 'TX_UNSUPPORTED' }))
    }
  })
})

describe('a transaction of the user', () => {
  it.each([
    ['nothing', null],
    ['a text', 'tx'],
    ['a number', 7],
    ['an empty object', {}],
  ])('is not %s', (_name, thing) => {
    expect(() => store.within?.(thing)).toThrow(expect.objectContaining({ code: 'TX_UNSUPPORTED' }))
  })

  it('sees the errors of the database as they are, once', async () => {
    const client = await pool.connect()
    let statements = 0
    const run = async (sql: string, params: readonly unknown[]) => {
      statements++
      return (await client.query(sql, [...params])).rows
    }
    await client.query('begin read only')

    const refused = store.within?.(run).insert({ jobs: [newJob()] })

    await expect(refused).rejects.toMatchObject({ code: '25006', name: 'error' })
    await client.query('rollback')
    client.release()
    expect(statements).toBe(1)
  })
})

it.each([6, 7] as const)('Prisma %s keeps its own rows and the job together', async (major) => {
  const generated = await generatePrisma(major)
  const client = generated.open(database.url)
  const skep = createSkep({ store })
  const welcome = queue<string>('welcome')
  await pool.query(ACCOUNTS)
  const enqueue = (name: string, fails: boolean) =>
    client.$transaction(async (tx) => {
      await tx.account.create({ data: { name } })
      const { id } = await skep.enqueue(welcome, name, { tx })
      if (fails) throw new Undo()
      return id
    })

  const id = await enqueue(`Ada ${major}`, false)
  await expect(enqueue(`Bob ${major}`, true)).rejects.toBeInstanceOf(Undo)

  expect(await client.account.count({ where: { name: `Ada ${major}` } })).toBe(1)
  expect(await client.account.count({ where: { name: `Bob ${major}` } })).toBe(0)
  const { jobs } = await skep.jobs.list({ queue: 'welcome', state: 'ready' })
  expect(jobs.filter(({ payload }) => String(payload).endsWith(` ${major}`)).map((job) => job.id)).toEqual([
    id,
  ])
  await client.$disconnect()
  generated.remove()
})
