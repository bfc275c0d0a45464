import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/index.ts'
import { runFlowKills } from './flow-kills.ts'
import type { Address } from './program.ts'
import { freshRedis } from './redis-address.ts'

const KILLS = Number(process.env.SKEP_FLOW_KILLS ?? 27)
const seed = Number(process.env.SKEP_CHAOS_SEED ?? Date.now() % 1_000_000)

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-flow-kills-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What looks at the store after each test, if there is something. */
let audit: () => Promise<void> = async () => {}

const addresses: Record<string, (folder: string) => Promise<Address>> = {
  SQLite: async (folder) => ({ file: join(folder, 'jobs.db') }),
  Postgres: async () => {
    const database = await freshDatabase()
    closers.push(() => database.drop())
    return { url: database.url }
  },
  Redis: async () => {
    const redis = await freshRedis()
    closers.push(() => redis.remove())
    audit = redis.audit
    return redis.address
  },
}

describe.each(Object.entries(addresses))('Flows on %s in processes that are killed', (name, makeAddress) => {
  it(
    'end as they should, and every join comes once',
    async () => {
      const folder = freshFolder()
      const address = await makeAddress(folder)

      const result = await runFlowKills({ address, folder, kills: KILLS, seed })

      const { violations, kills, atPoints, runs, again } = result
      expect(violations, `seed ${seed}`).toEqual([])
      expect(kills).toBeGreaterThanOrEqual(KILLS)
      expect(atPoints).toBeGreaterThan(KILLS / 3)
      expect(runs).toBeGreaterThan(KILLS)
      expect(again).toBeGreaterThan(0)
      await audit()
      console.info(
        `${name}: ${kills} kills, ${atPoints} of them at chosen points, ${runs} runs, ${again} jobs ran again`,
      )
    },
    30_000 + KILLS * 6_000,
  )
})
