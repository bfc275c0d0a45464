import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../src/runtime/logger.ts'
import { atMost, LONGEST_RETRY_MS, type Loop, retryDelayMs, supervise } from '../../src/runtime/supervise.ts'
import { virtualRuntime } from '../../src/testing/virtual-runtime.ts'
import { gate } from './support/scene.ts'

const runtime = virtualRuntime({ seed: 1 })

function loop(turn: () => Promise<number>, keepsAlive = false): Loop {
  return supervise('test', { runtime, logger: silentLogger, keepsAlive }, turn)
}

describe('a supervised loop', () => {
  it('goes on after a turn that fails, ever more slowly, and tells of it', async () => {
    const times: number[] = []
    const start = runtime.mono()
    let isBroken = true
    const made = loop(async () => {
      times.push(runtime.mono() - start)
      if (isBroken) throw new Error('no')
      return 1_000
    })

    await runtime.advance(60_000)
    const waits = times.slice(1).map((time, n) => time - times[n]!)
    expect(waits[0]).toBeLessThan(200)
    expect(waits.at(-1)).toBeGreaterThan(2_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(LONGEST_RETRY_MS)
    expect(made.health()).toMatchObject({ ticks: 0, lastError: 'no' })

    isBroken = false
    await runtime.advance(10_000)
    expect(made.health()).toMatchObject({ lastError: null })
    expect(made.health().ticks).toBeGreaterThan(2)
    await made.stop()
  })

  it('survives a turn that throws before it begins', async () => {
    let turns = 0
    const made = loop(() => {
      turns++
      throw new Error('not even a promise')
    })

    await runtime.advance(1_000)

    expect(turns).toBeGreaterThan(1)
    await made.stop()
  })

  it('begins its next turn at once when it is woken', async () => {
    let turns = 0
    const made = loop(async () => {
      turns++
      return 3_600_000
    })
    await runtime.settle()

    made.wake()
    await runtime.settle()

    expect(turns).toBe(2)
    await made.stop()
  })

  it('does not miss a wake that comes while a turn is under way', async () => {
    let turns = 0
    const first = gate()
    const made = loop(async () => {
      if (++turns === 1) await first.promise
      return 3_600_000
    })

    made.wake()
    first.open()
    await runtime.settle()

    expect(turns).toBe(2)
    await made.stop()
  })

  it('stops after the turn that is under way, and sets no timer any more', async () => {
    const turn = gate()
    let turns = 0
    const made = loop(async () => {
      turns++
      await turn.promise
      return 0
    })
    let isStopped = false

    const stopped = made.stop().then(() => {
      isStopped = true
    })
    await runtime.settle()
    expect(isStopped).toBe(false)
    turn.open()
    await stopped

    expect(turns).toBe(1)
    expect(runtime.timers).toBe(0)
  })

  it('stops at once while it waits', async () => {
    const made = loop(async () => 3_600_000)
    await runtime.settle()
    expect(runtime.timers).toBe(1)

    await made.stop()

    expect(runtime.timers).toBe(0)
  })
})

it('a wait that has a limit ends with the promise or with the limit, and never rejects', async () => {
  const open = gate()
  const failed = gate()

  const inTime = atMost(runtime, 1_000, open.promise)
  const late = atMost(runtime, 1_000, new Promise(() => {}))
  const rejected = atMost(runtime, 1_000, failed.promise)
  open.open()
  failed.fail(new Error('no'))
  await runtime.advance(1_000)

  expect(await Promise.all([inTime, late, rejected])).toEqual([true, false, true])
  expect(runtime.timers).toBe(0)
})

it('a retry never waits longer than the longest', () => {
  for (let failures = 1; failures < 2_000; failures++) {
    expect(retryDelayMs(failures, 0.999_999)).toBeLessThanOrEqual(LONGEST_RETRY_MS)
    expect(retryDelayMs(failures, 0)).toBeGreaterThan(0)
  }
})
