import { describe, expect, it, onTestFinished } from 'vitest'
import { parseVitals, VitalSigns } from '../../src/runtime/process-stats.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'

describe('the vitals of a process', () => {
  it('show how late its event loop was, and forget it', async () => {
    const watch = systemRuntime().watchLag?.()
    onTestFinished(() => watch?.end())
    const block = setInterval(() => {
      const until = performance.now() + 200
      while (performance.now() < until);
    }, 300)
    onTestFinished(() => clearInterval(block))

    // Seldom, as heartbeats are: each look begins anew, and what it sees next takes a few samples.
    const options = { timeout: 25_000, interval: 1_500 }
    await expect.poll(() => watch?.p99Ms() ?? 0, options).toBeGreaterThan(100)
    expect(watch?.p99Ms()).toBeNull()
  })

  it('are what a reader of them gets', () => {
    const signs = new VitalSigns(systemRuntime(), '1.2.3')
    onTestFinished(() => signs.end())

    const vitals = parseVitals(signs.read({ paused: true, prefetched: 3, isRelay: true }))

    expect(vitals).toMatchObject({
      version: '1.2.3',
      node: process.version,
      paused: true,
      prefetched: 3,
      isRelay: true,
    })
    expect(vitals.memoryBytes).toBeGreaterThan(1e6)
    expect(signs.read({ paused: false, prefetched: 0, isRelay: false }).length).toBeLessThan(4_096)
  })
})
