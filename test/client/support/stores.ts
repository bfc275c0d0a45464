import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createSkep, type Skep, type Store, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import { sqliteStore } from '../../../src/sqlite.ts'

/** Stores that need no server, by name. */
export const STORES = ['memory', 'sqlite'] as const

/** A store of its own for this test, in real time. */
export async function openStore(name: (typeof STORES)[number]): Promise<Store> {
  if (name === 'memory') return memoryStore()
  const folder = await mkdtemp(join(tmpdir(), 'skep-search-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return sqliteStore({ file: join(folder, 'jobs.db') })
}

/** A program on this store, closed when the test is over. */
export function openSkep(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  onTestFinished(() => skep.close())
  return skep
}
