import { messageOf } from '../core/errors.ts'
import type { Logger } from './logger.ts'
import { type Runtime, sleep } from './runtime.ts'

/** The state of a loop, for health reports. */
export interface LoopHealth {
  readonly name: string
  /** Turns completed without an error. */
  readonly ticks: number
  /** Milliseconds since the last of them. */
  readonly quietMs: number
  readonly lastError: string | null
}

export interface Loop {
  health(): LoopHealth
  /** Starts the next turn now. */
  wake(): void
  /** Resolves when the loop has ended; a turn in progress is awaited. */
  stop(): Promise<void>
}

/**
 * Runs `turn` repeatedly until stopped, waiting as long as each turn returns. An error ends a turn, never the
 * loop: it is logged once per distinct message, and followed by an exponential backoff with jitter.
 */
export function supervise(
  name: string,
  {
    runtime,
    logger,
    keepsAlive = false,
  }: {
    readonly runtime: Runtime
    readonly logger: Logger
    /** Whether this loop keeps the process alive. */
    readonly keepsAlive?: boolean
  },
  turn: (signal: AbortSignal) => Promise<number>,
): Loop {
  const stopping = new AbortController()
  let waking = new AbortController()
  let ticks = 0
  let lastTick = runtime.mono()
  let lastError: string | null = null
  let failures = 0

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let waitMs: number
      // Created before the turn, so that a wake during it is not lost.
      waking = new AbortController()
      try {
        waitMs = await turn(stopping.signal)
        ticks++
        lastTick = runtime.mono()
        if (lastError !== null) logger.info(`The ${name} loop has recovered.`)
        lastError = null
        failures = 0
      } catch (error) {
        failures++
        const message = messageOf(error)
        if (message !== lastError) logger.warn(`The ${name} loop failed and will retry: ${message}`)
        lastError = message
        waitMs = retryDelayMs(failures, runtime.random())
      }
      const end = (): void => waking.abort()
      stopping.signal.addEventListener('abort', end, { once: true })
      if (!stopping.signal.aborted)
        await sleep(runtime, waitMs, waking.signal, { background: !keepsAlive, looksAround: true })
      stopping.signal.removeEventListener('abort', end)
    }
  }
  const ended = run()

  return {
    health: () => ({ name, ticks, quietMs: Math.round(runtime.mono() - lastTick), lastError }),
    wake: () => waking.abort(),
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** Waits until a promise is settled, at most `ms`. Returns whether it was; never rejects. */
export async function atMost(runtime: Runtime, ms: number, promise: Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const settled = promise.then(
    () => true,
    () => true,
  )
  const inTime = await Promise.race([settled, sleep(runtime, ms, over.signal).then(() => false)])
  over.abort()
  return inTime
}

/** The maximum backoff: every loop retries within this time of a store's recovery. */
export const LONGEST_RETRY_MS = 7_500

/** The backoff after `failures` consecutive failures: 0.1 to 5 seconds, with jitter. */
export function retryDelayMs(failures: number, random: number): number {
  return Math.min(LONGEST_RETRY_MS / 1.5, 100 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random)
}
