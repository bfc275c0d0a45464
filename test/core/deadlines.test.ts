import { describe, expect, it } from 'vitest'
import { Deadlines } from '../../src/runtime/deadlines.ts'
import { virtualRuntime } from '../../src/testing.ts'

describe('deadlines', () => {
  it('give up each wait at its own time, whatever the order in which they began', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const deadlines = new Deadlines(runtime)
    const given: string[] = []
    const begin = (ms: number): (() => void) =>
      deadlines.begin(ms, () => void given.push(`${ms} at ${runtime.mono()}`))

    begin(60_000)
    await runtime.advance(1_000)
    begin(10_000)
    begin(60_000)
    begin(5_000)
    await runtime.advance(120_000)

    expect(given).toEqual(['5000 at 6000', '10000 at 11000', '60000 at 60000', '60000 at 61000'])
    expect(runtime.timers).toBe(0)
  })

  it('give up nothing that has ended, and need one timer for all that wait and none for nobody', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const deadlines = new Deadlines(runtime)
    let given = 0
    const ends = Array.from({ length: 100 }, (_, n) => deadlines.begin(1_000 + (n % 3), () => given++))
    const last = deadlines.begin(5_000, () => given++)

    expect(runtime.timers).toBe(1)
    for (const end of ends) end()
    await runtime.advance(4_000)
    expect([given, runtime.timers]).toEqual([0, 1])

    last()
    last()
    expect(runtime.timers).toBe(0)
    deadlines.begin(1_000, () => given++)
    await runtime.advance(1_000)
    expect([given, runtime.timers]).toEqual([1, 0])
  })

  it('keep no process alive', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    new Deadlines(runtime).begin(1_000, () => {})

    await runtime.runUntilIdle()

    expect(runtime.mono()).toBe(0)
  })

  it('are not over for an answer that arrived while the process was stopped', async () => {
    let now = 0
    const rings: (() => void)[] = []
    const deferred: (() => void)[] = []
    const deadlines = new Deadlines({
      ...virtualRuntime({ seed: 1 }),
      mono: () => now,
      timer: (_ms, run) => {
        rings.push(run)
        return () => {}
      },
      defer: (run) => void deferred.push(run),
    })
    let given = 0
    const answered = deadlines.begin(1_000, () => given++)
    deadlines.begin(1_000, () => given++)

    // Such a process sees its timers first, then the answers, then what was deferred.
    now = 60_000
    rings[0]?.()
    answered()
    deferred[0]?.()

    expect(given).toBe(1)
  })
})
