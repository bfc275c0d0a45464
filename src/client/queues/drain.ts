import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError, StoreError } from '../../core/errors.ts'
import { assertName } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Hint } from '../../notifier/notifier.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import { type HoldEnv, type HoldOptions, type HoldView, hold } from './holds.ts'

/** Looks again this often even if no hint came: hints may be lost. */
const LOOK_AGAIN_MS = 2_000
/** How many running jobs an error names. */
const NAMED = 10

export interface DrainOptions extends Pick<HoldOptions, 'reason' | 'by'> {
  /** How long to wait. @default for as long as a job runs */
  readonly timeout?: Duration
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

const KEYS = optionKeys<DrainOptions>('queues.drain()', {
  reason: true,
  by: true,
  timeout: true,
  signal: true,
})

export interface DrainSummary {
  /** How many ran after the pause was put, and have ended: for good, or to be tried again later. */
  readonly ended: number
  /** What waits. It stays where it is. */
  readonly ready: number
  readonly delayed: number
  /** What keeps the queue back, the pause among it. */
  readonly holds: readonly HoldView[]
}

export interface DrainEnv extends HoldEnv {
  readonly runtime: Runtime
}

/** Pauses a queue and waits until nothing of it runs. */
export async function drainQueue(
  env: DrainEnv,
  queue: string | { readonly name: string },
  options: DrainOptions,
): Promise<DrainSummary> {
  assertOptions(KEYS, options)
  const { timeout, signal, ...said } = options
  const name = typeof queue === 'string' ? queue : queue?.name
  assertName('Queue', name)
  const timeoutMs = timeout === undefined ? null : toMs('timeout', timeout)
  signal?.throwIfAborted()
  const { holds } = await hold(env, 'pause', name, said)
  const ends = signal === undefined ? env.closed : AbortSignal.any([signal, env.closed])
  return { ...(await untilDrained(env, name, timeoutMs, ends)), holds }
}

async function untilDrained(
  env: DrainEnv,
  queue: string,
  timeoutMs: number | null,
  signal: AbortSignal,
): Promise<Omit<DrainSummary, 'holds'>> {
  const { store, notifier, runtime, space } = env
  const giveUpAt = timeoutMs === null ? Infinity : runtime.mono() + timeoutMs
  let atFirst: number | null = null
  /** Ends the present nap. */
  let nap = new AbortController()
  const subscription = notifier.subscribe((hints) => {
    if (hints.some((hint) => concerns(hint, space, queue))) nap.abort()
  })
  const wake = (): void => nap.abort()
  signal.addEventListener('abort', wake, { once: true })
  try {
    for (;;) {
      nap = new AbortController()
      signal.throwIfAborted()
      try {
        const { queues } = await store.counts({ space, queues: [queue] })
        const { running = 0, ready = 0, delayed = 0 } = queues[0]?.states ?? {}
        atFirst ??= running
        if (running === 0) return { ended: atFirst, ready, delayed }
      } catch (error) {
        // A store that is away for a moment is no reason to stop waiting.
        if (!(error instanceof StoreError) || !error.transient) throw error
      }
      const leftMs = giveUpAt - runtime.mono()
      if (leftMs <= 0) throw await timeoutError(env, queue, timeoutMs as number)
      if (!nap.signal.aborted) await sleep(runtime, Math.min(LOOK_AGAIN_MS, leftMs), nap.signal)
    }
  } finally {
    signal.removeEventListener('abort', wake)
    subscription.end()
  }
}

/** A run may have ended: for good (`settled`), or the job waits again (`work`). */
function concerns(hint: Hint, space: string, queue: string): boolean {
  if (hint.kind === 'sync') return true
  return (hint.kind === 'settled' || hint.kind === 'work') && hint.space === space && hint.queue === queue
}

async function timeoutError({ store, space }: HoldEnv, queue: string, timeoutMs: number): Promise<SkepError> {
  const running = await store
    .list({ space, queue, state: 'running', limit: NAMED, cursor: null })
    .catch(() => ({ jobs: [] }))
  const ids = running.jobs.map(({ id }) => id)
  return new SkepError(
    'DRAIN_TIMEOUT',
    `Jobs of queue "${queue}" still run after ${timeoutMs} ms. It stays paused, so no other starts: wait on, or cancel them.`,
    { facts: { queue, timeoutMs, running: ids } },
  )
}
