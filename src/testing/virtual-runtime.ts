import { assertOptions, optionKeys } from '../core/options.ts'
import { type Runtime, uuidSource } from '../runtime/runtime.ts'
import { type Random, seededRandom } from './random.ts'

export interface VirtualRuntimeOptions {
  /** Where chance and ids come from. */
  readonly seed: number
  /** What the wall clock shows at the beginning. @default 2027-01-15T08:00:00Z */
  readonly start?: number
  /**
   * Which of several timers due in the same millisecond fires first: the one that was set first, or one
   * drawn from the seed, which finds races that the usual order hides. @default 'first-set'
   */
  readonly ties?: 'first-set' | 'seeded'
}

/** A runtime whose time stands still until it is moved. */
export interface VirtualRuntime extends Runtime {
  /** Moves time on by `ms`. Timers that come due fire in order, and promises run between them. */
  advance(ms: number): Promise<void>
  /**
   * Moves time on until nothing is left to do: no job that a worker knows of is due later, no retry is pending, no handler waits for
   * this clock. What only looks around (polls, heartbeats, schedules) does not count. Gives up with an error after `maxMs`. @default one day
   */
  runUntilIdle(options?: { readonly maxMs?: number }): Promise<void>
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>
  /** Puts the wall clock forward or back, as an administrator would. Timers and `mono` do not notice. */
  jump(ms: number): void
  /** How many timers are set, background ones included. */
  readonly timers: number
}

interface Timer {
  readonly at: number
  readonly order: number
  readonly looksAround: boolean
  readonly run: () => void
}

const DAY_MS = 86_400_000

const KEYS = optionKeys<VirtualRuntimeOptions>('virtualRuntime()', { seed: true, start: true, ties: true })
const IDLE_KEYS = optionKeys<{ maxMs?: number }>('runUntilIdle()', { maxMs: true })

/** A runtime under a virtual clock: nothing in it depends on anything but the seed and the calls made. */
export function virtualRuntime(options: VirtualRuntimeOptions): VirtualRuntime {
  assertOptions(KEYS, options ?? null)
  const random: Random = seededRandom(options.seed)
  const ties = options.ties ?? 'first-set'
  const timers = new Set<Timer>()
  let wall = options.start ?? 1_800_000_000_000
  let elapsed = 0
  let set = 0
  let deferred = 0
  let moving = false

  const now = (): number => Math.floor(wall + elapsed)
  const uuid = uuidSource(now, (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = random.int(0, 255)
  })

  // One turn of the real event loop: every promise that can settle without waiting does so before it.
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve) // boundary: promises need a real turn to run; no virtual time passes
    })
  async function settle(): Promise<void> {
    do await turn()
    while (deferred > 0)
  }

  function next(): Timer | undefined {
    let first: Timer | undefined
    for (const timer of timers) {
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer
    }
    return first
  }

  /** Fires the timers up to `until`, for as long as `goOn` says so. */
  async function move(until: number, goOn: () => boolean): Promise<void> {
    if (moving) throw new Error('Time is already being moved. Wait for the earlier call to end.')
    moving = true
    try {
      await settle()
      for (let due = next(); due && due.at <= until && goOn(); due = next()) {
        timers.delete(due)
        elapsed = Math.max(elapsed, due.at)
        due.run()
        await settle()
      }
    } finally {
      moving = false
    }
  }

  return {
    now,
    mono: () => elapsed,
    random: random.next,
    uuid,
    bytes: (count) => Uint8Array.from({ length: count }, () => random.int(0, 255)),

    timer(ms, run, { background = false, looksAround = background } = {}) {
      const order = ties === 'seeded' ? random.next() : set++
      const timer: Timer = { at: elapsed + Math.max(0, ms), order, looksAround, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },

    // It runs by itself and costs no time, as it does in a real process; its order is that of the calls.
    defer(run) {
      deferred += 1
      const call = (): void => {
        deferred -= 1
        run()
      }
      setImmediate(call) // boundary: runs after what is queued in this turn, in the order of the calls
    },

    async advance(ms) {
      const until = elapsed + ms
      await move(until, () => true)
      elapsed = Math.max(elapsed, until)
    },

    async runUntilIdle(idle = {}) {
      assertOptions(IDLE_KEYS, idle)
      const { maxMs = DAY_MS } = idle
      const until = elapsed + maxMs
      const isBusy = (): boolean => [...timers].some((timer) => !timer.looksAround)
      await move(until, isBusy)
      if (isBusy()) throw new Error(`Not idle after ${maxMs} ms: ${timers.size} timers are still set.`)
    },

    settle,
    jump(ms) {
      wall += ms
    },
    get timers() {
      return timers.size
    },
  }
}
