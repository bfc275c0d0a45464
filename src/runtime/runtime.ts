/**
 * The only source of time, timers, randomness and ids.
 *
 * Everything else receives a `Runtime`, so the whole system can run under a virtual clock with a seed. Lint
 * keeps `Date.now`, timers and randomness out of every other file.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Runtime {
  /** Wall clock in milliseconds. Never used to decide about a lease: it may jump. */
  now(): number
  /** A monotonic clock in milliseconds. Deadlines are measured with it. */
  mono(): number
  /** A number in [0, 1). */
  random(): number
  /** A UUIDv7: unique, unguessable, and increasing within the process. */
  uuid(): string
  /** Cryptographically random bytes, for tokens and secrets. */
  bytes(count: number): Uint8Array
  /** Calls `run` once after `ms`, and returns a function that cancels it. Long delays are chained. */
  timer(ms: number, run: () => void, options?: TimerOptions): () => void
  /** Calls `run` after everything already queued in this turn of the event loop. */
  defer(run: () => void): void
  /** Measures the delay of the event loop until ended. Omitted: not supported. */
  watchLag?(): LagWatch
}

export interface TimerOptions {
  /** It does not keep the process alive. @default false */
  readonly background?: boolean
  /**
   * For tests that run until no work is left: whether this timer only polls, and no work waits for it.
   * @default as `background`
   */
  readonly looksAround?: boolean
}

export interface LagWatch {
  /**
   * The 99th percentile of its delay in milliseconds since the last call; null without samples. For calls
   * that are seconds apart.
   */
  p99Ms(): number | null
  end(): void
}

// setTimeout holds a signed 32-bit delay; a longer one would fire at once.
const LONGEST_TIMER_MS = 2_000_000_000

/** Twenty samples a second cost next to nothing, and detect any noticeable delay. */
const LAG_SAMPLE_MS = 50

export function systemRuntime(): Runtime {
  const uuid = uuidSource(
    () => Date.now(),
    (bytes) => globalThis.crypto.getRandomValues(bytes),
  )

  return {
    now: () => Date.now(),
    mono: () => performance.now(),
    random: () => Math.random(),
    uuid,
    bytes: (count) => globalThis.crypto.getRandomValues(new Uint8Array(count)),
    timer(ms, run, options) {
      const endsAt = performance.now() + ms
      let handle: NodeJS.Timeout
      const arm = (): void => {
        const left = endsAt - performance.now()
        const long = left > LONGEST_TIMER_MS
        handle = setTimeout(long ? arm : run, long ? LONGEST_TIMER_MS : Math.max(0, left))
        if (options?.background) handle.unref()
      }
      arm()
      return () => clearTimeout(handle)
    },
    defer: (run) => void setImmediate(run),
    watchLag() {
      // It records the time between two samples, so an idle loop shows the resolution.
      const histogram = monitorEventLoopDelay({ resolution: LAG_SAMPLE_MS })
      histogram.enable()
      return {
        p99Ms() {
          const p99 = histogram.count === 0 ? null : histogram.percentile(99) / 1e6 - LAG_SAMPLE_MS
          histogram.reset()
          return p99 === null ? null : Math.max(0, p99)
        },
        end: () => void histogram.disable(),
      }
    },
  }
}

/** Resolves after `ms`, or as soon as `signal` aborts. It never rejects. */
export function sleep(
  runtime: Runtime,
  ms: number,
  signal?: AbortSignal,
  options?: TimerOptions,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const wake = (): void => {
      stop()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const stop = runtime.timer(ms, wake, options)
    signal?.addEventListener('abort', wake, { once: true })
  })
}

const DIGITS: readonly number[] = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const DASH = 45
const SEVEN = 55

/**
 * Creates a UUIDv7 generator: 48 bits of time, a counter that keeps ids of the same millisecond in order, and
 * 62 random bits. When the clock goes back, ids stay on the last millisecond seen.
 */
export function uuidSource(now: () => number, fill: (bytes: Uint8Array<ArrayBuffer>) => void): () => string {
  const pool = new Uint8Array(8 * 512)
  let used = pool.length
  let lastMs = 0
  let counter = 0
  // The digits of the timestamp, which many ids share.
  const time: number[] = Array.from({ length: 12 }, () => 0)

  return () => {
    if (used === pool.length) {
      fill(pool)
      used = 0
    }

    const ms = now()
    if (ms > lastMs) {
      lastMs = ms
      counter = 0
    } else if (++counter > 0xfff) {
      lastMs += 1
      counter = 0
    }

    if (counter === 0) writeTime(time, lastMs)
    const at = used
    used += 8
    return uuidOf(time, counter, pool, at)
  }
}

function writeTime(time: number[], ms: number): void {
  let rest = ms
  for (let n = 11; n >= 0; n--) {
    const next = Math.floor(rest / 16)
    time[n] = digit(rest - 16 * next)
    rest = next
  }
}

function digit(value: number): number {
  return DIGITS[value & 0xf] as number
}

/** Built as one string: a concatenated id would keep all of its pieces in memory. */
function uuidOf(time: readonly number[], counter: number, pool: Uint8Array, at: number): string {
  const r0 = pool[at] as number
  const r1 = pool[at + 1] as number
  const r2 = pool[at + 2] as number
  const r3 = pool[at + 3] as number
  const r4 = pool[at + 4] as number
  const r5 = pool[at + 5] as number
  const r6 = pool[at + 6] as number
  const r7 = pool[at + 7] as number
  // biome-ignore format: as an id is written.
  return String.fromCharCode(
    time[0] as number, time[1] as number, time[2] as number, time[3] as number,
    time[4] as number, time[5] as number, time[6] as number, time[7] as number, DASH,
    time[8] as number, time[9] as number, time[10] as number, time[11] as number, DASH,
    SEVEN, digit(counter >> 8), digit(counter >> 4), digit(counter), DASH,
    // The first digit holds the variant.
    digit(0x8 | ((r0 >> 4) & 0x3)), digit(r0), digit(r1 >> 4), digit(r1), DASH,
    digit(r2 >> 4), digit(r2), digit(r3 >> 4), digit(r3), digit(r4 >> 4), digit(r4),
    digit(r5 >> 4), digit(r5), digit(r6 >> 4), digit(r6), digit(r7 >> 4), digit(r7),
  )
}
