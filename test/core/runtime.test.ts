import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Runtime, sleep, systemRuntime, uuidSource } from '../../src/runtime/runtime.ts'
import { seededRandom, virtualRuntime } from '../../src/testing.ts'

const DAY = 86_400_000

describe('timers of the system', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('fire once, at their time', () => {
    const fired = vi.fn()
    systemRuntime().timer(1_000, fired)

    vi.advanceTimersByTime(999)
    expect(fired).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    vi.advanceTimersByTime(10_000)

    expect(fired).toHaveBeenCalledOnce()
  })

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 100 * DAY])(
    'wait %i ms, beyond what the platform can',
    (ms) => {
      const fired = vi.fn()
      systemRuntime().timer(ms, fired)

      vi.advanceTimersByTime(ms - 1)
      expect(fired).not.toHaveBeenCalled()
      vi.advanceTimersByTime(1)

      expect(fired).toHaveBeenCalledOnce()
    },
  )

  it('can be prevented in every stretch of a long wait', () => {
    const fired = vi.fn()
    const stops = [0, 1, 2].map(() => systemRuntime().timer(60 * DAY, fired))

    stops[0]?.()
    vi.advanceTimersByTime(30 * DAY)
    stops[1]?.()
    vi.advanceTimersByTime(25 * DAY)
    stops[2]?.()
    vi.advanceTimersByTime(60 * DAY)

    expect(fired).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('fire soon when their time has passed already', () => {
    const fired = vi.fn()
    systemRuntime().timer(-5, fired)

    vi.advanceTimersByTime(1)

    expect(fired).toHaveBeenCalledOnce()
  })

  it('can be prevented after they have fired', () => {
    const stop = systemRuntime().timer(1, () => {})
    vi.advanceTimersByTime(5)

    expect(stop).not.toThrow()
  })
})

describe('the system’s runtime', () => {
  it('does not keep the process alive for background timers', () => {
    const unref = vi.fn()
    const real = globalThis.setTimeout
    vi.stubGlobal('setTimeout', (run: () => void, ms: number) => {
      const handle = real(run, ms)
      const unrefReal = handle.unref.bind(handle)
      handle.unref = () => {
        unref()
        return unrefReal()
      }
      return handle
    })

    systemRuntime().timer(1_000, () => {}, { background: true })()
    systemRuntime().timer(1_000, () => {})()

    vi.unstubAllGlobals()
    expect(unref).toHaveBeenCalledOnce()
  })

  it('defers until what is queued in this turn has run', async () => {
    const seen: string[] = []
    systemRuntime().defer(() => seen.push('deferred'))
    void Promise.resolve().then(() => seen.push('promise'))
    process.nextTick(() => seen.push('tick'))

    await new Promise((resolve) => setImmediate(resolve))

    expect(seen.at(-1)).toBe('deferred')
    expect(seen.length).toBe(3)
  })

  it('has clocks that move forward and chance in [0, 1)', () => {
    const runtime = systemRuntime()
    const [wall, mono] = [runtime.now(), runtime.mono()]

    expect(Number.isInteger(wall)).toBe(true)
    expect(runtime.mono()).toBeGreaterThanOrEqual(mono)
    for (let n = 0; n < 1_000; n++) {
      const drawn = runtime.random()
      expect(drawn >= 0 && drawn < 1).toBe(true)
    }
  })
})

describe('sleep', () => {
  it('ends after its time', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    let awake = false
    void sleep(runtime, 1_000).then(() => {
      awake = true
    })

    await runtime.advance(999)
    expect(awake).toBe(false)
    await runtime.advance(1)

    expect(awake).toBe(true)
  })

  it('ends at once when its signal has aborted already, and sets no timer', async () => {
    const runtime = virtualRuntime({ seed: 1 })

    await sleep(runtime, 1_000, AbortSignal.abort())

    expect(runtime.timers).toBe(0)
  })

  it('ends early when its signal aborts, and leaves no timer and no listener behind', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const controller = new AbortController()
    const remove = vi.spyOn(controller.signal, 'removeEventListener')
    const sleeping = sleep(runtime, 1_000, controller.signal)

    controller.abort(new Error('stop'))

    await expect(sleeping).resolves.toBeUndefined()
    expect(runtime.timers).toBe(0)
    expect(remove).toHaveBeenCalledOnce()
  })

  it('leaves no listener behind when it ends by itself, a thousand times on one signal', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const { signal } = new AbortController()
    let listeners = 0
    vi.spyOn(signal, 'addEventListener').mockImplementation(() => void listeners++)
    vi.spyOn(signal, 'removeEventListener').mockImplementation(() => void listeners--)

    for (let n = 0; n < 1_000; n++) {
      const sleeping = sleep(runtime, 1, signal)
      await runtime.advance(1)
      await sleeping
    }

    expect(listeners).toBe(0)
  })

  it('passes on that it need not keep the process alive', () => {
    const timer = vi.fn(() => () => {})

    void sleep({ timer } as unknown as Runtime, 5, undefined, { background: true })

    expect(timer).toHaveBeenCalledWith(5, expect.any(Function), { background: true })
  })
})

describe('uuids', () => {
  const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  const fill = (bytes: Uint8Array<ArrayBuffer>): void => {
    globalThis.crypto.getRandomValues(bytes)
  }

  it('are of version 7 and carry the time in front', () => {
    const uuid = uuidSource(() => 0x0123_4567_89ab, fill)

    const made = uuid()

    expect(made).toMatch(V7)
    expect(made.slice(0, 13)).toBe('01234567-89ab')
  })

  it('differ a million times, in increasing order, although the clock stands still', () => {
    const uuid = uuidSource(() => 1_800_000_000_000, fill)
    let [last, ordered] = ['', true]
    const seen = new Set<string>()

    for (let n = 0; n < 1_000_000; n++) {
      const made = uuid()
      ordered &&= made > last
      last = made
      seen.add(made)
    }

    expect([ordered, seen.size]).toEqual([true, 1_000_000])
    expect(last).toMatch(V7)
  })

  it('go on increasing when the clock goes back, and follow it when it comes forward', () => {
    let now = 1_800_000_000_000
    const uuid = uuidSource(() => now, fill)
    const made: string[] = []
    for (const jump of [0, -1, -3_600_000, 0, 5, 7_200_000, -7_200_000, 1]) {
      now += jump
      for (let n = 0; n < 5_000; n++) made.push(uuid())
    }

    expect(made).toEqual(made.toSorted())
    now += 100 * DAY
    expect(uuid().slice(0, 13).replace('-', '')).toBe(now.toString(16).padStart(12, '0'))
  })

  it('cannot be guessed from one another: only time and counter are alike', () => {
    const uuid = uuidSource(() => 1_800_000_000_000, fill)
    const tails = Array.from({ length: 10_000 }, () => uuid().slice(20))

    expect(new Set(tails).size).toBe(10_000)
    for (let at = 0; at < 15; at++) {
      const digits = new Set(tails.map((tail) => tail.replace('-', '')[at]))
      expect(digits.size).toBe(16)
    }
  })

  it('of two processes in the same millisecond differ', () => {
    const sources = [1, 2, 3].map((seed) => {
      const chance = seededRandom(seed)
      return uuidSource(
        () => 1_800_000_000_000,
        (bytes) => {
          for (let n = 0; n < bytes.length; n++) bytes[n] = chance.int(0, 255)
        },
      )
    })

    const made = sources.flatMap((uuid) => Array.from({ length: 5_000 }, () => uuid()))

    expect(new Set(made).size).toBe(15_000)
  })
})
