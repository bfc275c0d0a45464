import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, type Store } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase, startRedis } from '../servers/index.ts'
import { CONFIG, project, skep, start } from './cli.ts'

interface Place {
  readonly db: string
  readonly store: () => Store
}

const PLACES: Readonly<Record<string, (cwd: string) => Promise<Place>>> = {
  sqlite: async (cwd) => {
    const db = join(cwd, 'jobs.db')
    return { db, store: () => sqliteStore({ file: db }) }
  },
  postgres: async (cwd) => {
    const { url, drop } = await freshDatabase()
    onTestFinished(drop)
    await skep(['migrate'], { cwd, env: { SKEP_DB: url } })
    return { db: url, store: () => postgresStore({ url }) }
  },
  redis: async () => {
    const { redis, reason } = await startRedis({ appendfsync: 'always' })
    if (!redis) throw new Error(reason)
    onTestFinished(() => redis.stop())
    return { db: redis.url, store: () => redisStore({ url: redis.url }) }
  },
}

describe('skep errors', () => {
  it.each(Object.keys(PLACES))(
    'shows an error a second after it happened in a worker on %s',
    async (name) => {
      const cwd = project({ 'skep.config.mjs': CONFIG })
      const { db, store } = await (PLACES[name] as (cwd: string) => Promise<Place>)(cwd)
      const env = { SKEP_DB: db }
      const worker = start(['worker'], { cwd, env })
      await worker.until(/started/)
      const client = createSkep({ store: store() })
      onTestFinished(() => client.close())
      await client.ready()
      // What processes write by the clock they write at whole multiples of five seconds: this has to come before the next one.
      await delay(5_050 - (Date.now() % 5_000))
      const next = Date.now() - (Date.now() % 5_000) + 5_000

      await client.enqueue(queue('bad'), null)
      let groups: readonly unknown[] = []
      while (groups.length === 0 && Date.now() < next + 10_000) {
        groups = (await client.errors.list()).groups
        await delay(20)
      }
      const seenAt = Date.now()
      const { stdout } = await skep(['errors'], { cwd, env })

      expect(seenAt).toBeLessThan(next)
      expect(stdout).toMatch(/bad .*it never works/)
    },
  )
})
