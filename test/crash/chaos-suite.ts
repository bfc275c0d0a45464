import { describe, expect, it } from 'vitest'
import { type ChaosOptions, type ChaosResult, chaosDefaults, runChaos } from './chaos.ts'
import type { StoreName } from './stage.ts'

/** A short run of everything: what the soak does for a quarter of an hour. */
export function describeChaos(store: StoreName): void {
  const seed = Number(process.env.SKEP_CHAOS_SEED ?? Date.now() % 1_000_000)

  describe(`Workers and a producer on ${store}, killed, frozen and cut off`, () => {
    it('lose nothing, end every job once, and drain when it is over', async () => {
      const result = await chaos({ store, seed, seconds: 7, hints: true })

      expect(result.problem).toBe('')
      expect(result.report.counts).toMatchObject({ lost: 0, unexpected: 0, staleSettles: 0 })
      expect(result.harm.kills).toBeGreaterThan(0)
      expect(result.report.counts.enqueued).toBeGreaterThan(100)
    }, 120_000)

    it('do so too when every hint is lost', async () => {
      const result = await chaos({ store, seed: seed + 1, seconds: 3, hints: false })

      expect(result.problem).toBe('')
      expect(result.report.counts).toMatchObject({ lost: 0, unexpected: 0, staleSettles: 0 })
      expect(result.report.counts.enqueued).toBeGreaterThan(50)
    }, 120_000)
  })
}

function chaos(options: Pick<ChaosOptions, 'store' | 'seed' | 'seconds' | 'hints'>): Promise<ChaosResult> {
  return runChaos({
    ...chaosDefaults,
    rate: 60,
    leaseMs: 1_500,
    rescueGraceMs: 300,
    everyMs: [100, 500],
    longestFaultMs: 600,
    longestFreezeMs: 2_500,
    ...options,
  })
}
