import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createSkep, type Skep, type Store, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import { postgresStore } from '../../../src/postgres.ts'
import { redisStore } from '../../../src/redis.ts'
import { type Runtime, systemRuntime } from '../../../src/runtime/runtime.ts'
import { sqliteStore } from '../../../src/sqlite.ts'
import { freshDatabase, redisUrlVariable } from '../../servers/index.ts'

/** All of them, by name. */
export const STORES = ['memory', 'sqlite', 'postgres', 'redis'] as const

/** A store of its own for this test, in real time. */
export async function openStore(name: (typeof STORES)[number]): Promise<Store> {
  if (name === 'memory') return memoryStore()
  if (name === 'postgres') {
    const { url, drop } = await freshDatabase()
    onTestFinished(drop)
    return postgresStore({ url, migrate: true })
  }
  if (name === 'redis') {
    const url = process.env[redisUrlVariable] as string
    return redisStore({ url, prefix: `search-${systemRuntime().uuid()}`, unsafe: { lateFsync: true } })
  }
  const folder = await mkdtemp(join(tmpdir(), 'skep-search-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return sqliteStore({ file: join(folder, 'jobs.db') })
}

/** A search or a count ends after some milliseconds with what it has. On a busy machine it would have less. */
function patient(): Runtime {
  const system = systemRuntime()
  return { ...system, mono: () => system.mono() / 20 }
}

/** A program on this store, closed when the test is over. */
export function openSkep(store: Store): Skep {
  const skep = createSkep({ store, runtime: patient(), logger: silentLogger })
  onTestFinished(() => skep.close())
  return skep
}
