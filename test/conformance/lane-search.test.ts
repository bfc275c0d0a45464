/** Lanes by the beginning of their keys: every store finds the same ones, page by page. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSkep, queue, type Skep } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase, redisUrlVariable } from '../servers/index.ts'

let database: FreshDatabase
const client = new Redis(process.env[redisUrlVariable] as string, { lazyConnect: true })

beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(async () => {
  client.disconnect()
  await database.drop()
})

const STORES: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ file: ':memory:' }),
  redis: () => redisStore({ client, prefix: `lane-search-${process.pid}`, unsafe: { lateFsync: true } }),
  postgres: () => postgresStore({ url: database.url, schema: 'lane_search', migrate: true, listen: false }),
}

const laned = queue<{ tenant: string }>('sync', { lane: ({ payload }) => payload.tenant })
const KEYS = ['ab', 'ac', 'ac-1', 'ac-2', 'ac-3', 'acé', 'ac\u{1f41d}', 'ad', 'Ac', '100%_', '100%_x', '1000']

async function find(skep: Skep, prefix: string, limit: number): Promise<string[]> {
  const found: string[] = []
  let cursor: string | null = null
  do {
    const page = await skep.queues.lanes(laned, { prefix, limit, ...(cursor === null ? {} : { cursor }) })
    expect(page.lanes.length).toBeLessThanOrEqual(limit)
    found.push(...page.lanes.map(({ lane }) => lane))
    cursor = page.cursor
  } while (cursor !== null)
  return found
}

describe.each(Object.keys(STORES))('lanes in %s', (name) => {
  it('are found by how their keys begin, whatever the size of a page', async () => {
    const skep = createSkep({ store: (STORES[name] as () => Store)() })
    await skep.enqueueMany(
      laned,
      KEYS.map((tenant) => ({ tenant })),
    )
    for (const prefix of ['', 'a', 'ac', 'ac-', 'acé', '100%_', 'nobody']) {
      for (const limit of [1, 2, 100]) {
        const found = await find(skep, prefix, limit)
        expect({ prefix, limit, found: found.toSorted() }).toEqual({
          prefix,
          limit,
          found: KEYS.filter((key) => key.startsWith(prefix)).toSorted(),
        })
      }
    }
    await skep.close()
  })

  it('are not found when they have no work any more', async () => {
    const skep = createSkep({ store: (STORES[name] as () => Store)() })
    const job = await skep.enqueue(laned, { tenant: 'once' })
    expect(await find(skep, 'once', 10)).toEqual(['once'])
    await skep.jobs.cancel(job.id)
    expect(await find(skep, 'once', 10)).toEqual([])
    await skep.close()
  })
})

it('refuses a beginning that no key can have', async () => {
  const skep = createSkep({ store: memoryStore() })
  await expect(skep.queues.lanes(laned, { prefix: 'a\u0000' })).rejects.toMatchObject({ code: 'KEY_INVALID' })
  await skep.close()
})
