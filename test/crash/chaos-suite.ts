import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChaosOptions, type ChaosResult, chaosDefaults, runChaos } from './chaos.ts'
import { startMortalPostgres } from './mortal-postgres.ts'
import { startMortalRedis } from './mortal-redis.ts'
import type { Servers, StoreName } from './stage.ts'

/** A short run of everything: what the soak does for a quarter of an hour. */
export function describeChaos(store: StoreName): void {
  const seed = Number(process.env.SKEP_CHAOS_SEED ?? Date.now() % 1_000_000)

  let servers: Servers = {}
  beforeAll(async () => {
    if (store === 'postgres') servers = { postgres: await startMortalPostgres() }
    if (store === 'redis') servers = { redis: await startMortalRedis() }
  })
  afterAll(async () => {
    await servers.postgres?.remove()
    await servers.redis?.remove()
  })

  describe(`Workers and a producer on ${store}, killed, frozen and cut off`, () => {
    it('lose nothing, end every job once, and drain when it is over', async () => {
      const result = await chaos({ store, seed, seconds: 6, hints: true }, servers)

      expect(result.problem).toBe('')
      expect(result.report.counts).toMatchObject({ lost: 0, unexpected: 0, staleSettles: 0 })
      expect(result.harm.kills).toBeGreaterThan(0)
      expect(result.usedUp).toEqual(expect.arrayContaining(['laned', 'left and right']))
      expect(result.report.counts.enqueued).toBeGreaterThan(100)
    }, 120_000)

    it('do so too when every hint is lost', async () => {
      const result = await chaos({ store, seed: seed + 1, seconds: 2, hints: false }, servers)

      expect(result.problem).toBe('')
      expect(result.report.counts).toMatchObject({ lost: 0, unexpected: 0, staleSettles: 0 })
      // So that all of this was about something, however slow the machine is.
      expect(result.report.counts.enqueued).toBeGreaterThan(20)
    }, 120_000)
  })
}

/** Everything happens sooner than in the soak, so that all of it happens. */
function chaos(
  options: Pick<ChaosOptions, 'store' | 'seed' | 'seconds' | 'hints'>,
  servers: Servers,
): Promise<ChaosResult> {
  const quick = { rate: 60, leaseMs: 1_500, rescueGraceMs: 300, longestFaultMs: 600, longestFreezeMs: 2_500 }
  return runChaos({ ...chaosDefaults, ...quick, everyMs: [100, 500], ...options }, servers)
}
