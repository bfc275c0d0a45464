import { expect } from 'vitest'
import { LONGEST_RETRY_MS } from '../../src/runtime/supervise.ts'

/** How much longer than its timeouts a recovery may take on a loaded machine with two cores. */
const SLOWNESS = 4

/**
 * Measures how long `recover` takes, which begins with the crash and ends with the first job of a later enqueue, and reports it. The
 * bound follows from the timeouts of the servers and of the store, and from the longest wait of a worker between two attempts.
 */
export async function measureRecovery(
  what: string,
  timeoutsMs: Readonly<Record<string, number>>,
  recover: () => Promise<unknown>,
): Promise<void> {
  const parts = { ...timeoutsMs, 'longest retry wait': LONGEST_RETRY_MS }
  const since = performance.now()
  await recover()
  const ms = performance.now() - since
  const seconds = (value: number): string => `${(value / 1_000).toFixed(1)} s`
  const multiple = ms / Object.values(timeoutsMs).reduce((a, b) => a + b)
  const listed = Object.entries(parts).map(([name, value]) => `${name} ${seconds(value)}`)
  console.info(
    `${what}: the first job enqueued after the crash was done after ${seconds(ms)}, ${multiple.toFixed(1)} times the timeouts (${listed.join(', ')})`,
  )
  expect(ms, 'the recovery time').toBeLessThan(SLOWNESS * Object.values(parts).reduce((a, b) => a + b))
}
