import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/runtime/runtime.ts'
import { seededRandom, virtualRuntime } from '../../src/testing.ts'

describe('virtual runtime', () => {
  it('stands still until it is moved', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 1_000 })
    let fired = false
    runtime.timer(1, () => {
      fired = true
    })

    await new Promise((resolve) => setTimeout(resolve, 5))

    expect([runtime.now(), runtime.mono(), fired]).toEqual([1_000, 0, false])
  })

  it('fires timers in the order in which they come due, each at its own time', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 0 })
    const seen: [string, number][] = []
    const note = (name: string) => () => void seen.push([name, runtime.now()])
    runtime.timer(300, note('c'))
    runtime.timer(100, note('a'))
    runtime.timer(200, note('b1'))
    runtime.timer(200, note('b2'))
    runtime.timer(1_000, note('late'))

    await runtime.advance(500)

    expect(seen).toEqual([
      ['a', 100],
      ['b1', 200],
      ['b2', 200],
      ['c', 300],
    ])
    expect([runtime.now(), runtime.timers]).toEqual([500, 1])
  })

  it('lets promises run between two timers', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const seen: string[] = []
    const work = async (): Promise<void> => {
      for (const step of ['one', 'two', 'three']) {
        await Promise.resolve()
        seen.push(step)
      }
    }
    runtime.timer(10, () => void work())
    runtime.timer(11, () => void seen.push('next timer'))

    await runtime.advance(20)

    expect(seen).toEqual(['one', 'two', 'three', 'next timer'])
  })

  it('fires timers that are set while time moves', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 0 })
    const seen: number[] = []
    const tick = (): void => {
      seen.push(runtime.now())
      runtime.timer(100, tick)
    }
    runtime.timer(100, tick)

    await runtime.advance(350)

    expect(seen).toEqual([100, 200, 300])
  })

  it('does not fire a timer that was prevented, even by another of the same moment', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const seen: string[] = []
    let prevent = (): void => {}
    runtime.timer(10, () => prevent())
    prevent = runtime.timer(10, () => void seen.push('prevented'))
    const early = runtime.timer(5, () => void seen.push('early'))
    early()

    await runtime.advance(100)

    expect(seen).toEqual([])
  })

  it('wakes sleepers, and lets a signal wake them sooner', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 0 })
    const controller = new AbortController()
    const woken: [string, number][] = []
    void sleep(runtime, 1_000).then(() => woken.push(['slept', runtime.now()]))
    void sleep(runtime, 9_000, controller.signal).then(() => woken.push(['called', runtime.now()]))
    runtime.timer(500, () => controller.abort())

    await runtime.advance(2_000)

    expect(woken).toEqual([
      ['called', 500],
      ['slept', 1_000],
    ])
    expect(runtime.timers).toBe(0)
  })

  it('runs what is deferred without time passing, in order', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 0 })
    const seen: string[] = []
    runtime.defer(() => {
      seen.push('first')
      runtime.defer(() => void seen.push('nested'))
    })
    runtime.defer(() => void seen.push('second'))
    seen.push('now')

    await runtime.settle()

    expect(seen).toEqual(['now', 'first', 'second', 'nested'])
    expect(runtime.now()).toBe(0)
  })

  it('runs until nothing but background timers is left', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 0 })
    const beat = (): void => void runtime.timer(1_000, beat, { background: true })
    beat()
    runtime.timer(4_500, () => void runtime.timer(1_000, () => {}))

    await runtime.runUntilIdle()

    expect([runtime.now(), runtime.timers]).toEqual([5_500, 1])
  })

  it('gives up on a timer that sets itself for ever', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const again = (): void => void runtime.timer(1_000, again)
    again()

    await expect(runtime.runUntilIdle({ maxMs: 10_000 })).rejects.toThrow(/Not idle after 10000 ms/)
  })

  it('reports what a timer throws to whoever moves the time', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    runtime.timer(10, () => {
      throw new Error('from a timer')
    })

    await expect(runtime.advance(20)).rejects.toThrow('from a timer')
    await runtime.advance(20)
  })

  it('refuses to be moved by two at once', async () => {
    const runtime = virtualRuntime({ seed: 1 })

    const first = runtime.advance(10)

    await expect(runtime.advance(10)).rejects.toThrow(/already being moved/)
    await first
  })

  it('lets the wall clock jump without touching timers or deadlines', async () => {
    const runtime = virtualRuntime({ seed: 1, start: 10_000 })
    const seen: number[] = []
    runtime.timer(100, () => void seen.push(runtime.mono()))

    runtime.jump(-5_000)
    await runtime.advance(200)

    expect([runtime.now(), runtime.mono(), seen]).toEqual([5_200, 200, [100]])
  })

  it('makes ids and chance from the seed alone', () => {
    const draw = (seed: number): unknown[] => {
      const runtime = virtualRuntime({ seed })
      return [runtime.uuid(), runtime.random(), runtime.uuid(), runtime.random()]
    }

    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
  })

  it('can let the seed decide which timer of the same moment is first', async () => {
    const order = async (seed: number): Promise<string> => {
      const runtime = virtualRuntime({ seed, ties: 'seeded' })
      const seen: string[] = []
      for (const name of ['a', 'b', 'c', 'd', 'e']) runtime.timer(10, () => void seen.push(name))
      await runtime.advance(10)
      return seen.join('')
    }

    const orders = await Promise.all(Array.from({ length: 20 }, (_, seed) => order(seed)))

    expect(new Set(orders).size).toBeGreaterThan(5)
    expect(await order(3)).toBe(orders[3])
  })
})

describe('seeded random', () => {
  it('is even enough', () => {
    const random = seededRandom(42)
    const counts = Array.from({ length: 10 }, () => 0)

    for (let n = 0; n < 100_000; n++) {
      const drawn = random.int(0, 9)
      counts[drawn] = (counts[drawn] ?? 0) + 1
    }

    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })

  it('differs between neighbouring seeds from the first number on', () => {
    const firsts = Array.from({ length: 1_000 }, (_, seed) => seededRandom(seed).next())

    expect(new Set(firsts).size).toBe(1_000)
    const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05)
  })

  it('picks only what is there', () => {
    const random = seededRandom(1)

    expect(random.pick(['only'])).toBe('only')
    expect(() => random.pick([])).toThrow(RangeError)
  })
})
