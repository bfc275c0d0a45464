import { type Duration, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import { type OptionKeys, optionKeys } from '../core/options.ts'

export interface WorkerOptions {
  /** Handlers running at once in this worker, over all its queues. @default 10 */
  readonly concurrency?: number
  /** How long a lease lasts. It is renewed every third of it, for all jobs in one call. @default '30s' */
  readonly lease?: Duration
  /** How long `stop()` lets running handlers finish before it aborts their signals. @default '23s' */
  readonly drain?: Duration
  /**
   * How long a handler may take to end after its signal aborted, whatever the reason. A stop takes up to `drain` and
   * `grace` together. @default '5s'
   */
  readonly grace?: Duration
  /** How often to look for work that no hint told of. @default '5s' with hints, '1m' with notices, '250ms' without either */
  readonly poll?: Duration
  /** How long a process must be known to be gone before its jobs are taken over. @default '2s' */
  readonly rescueGrace?: Duration
  /** How often finished jobs past their retention are removed. @default '1m' */
  readonly prune?: Duration
  /** The version of your program, shown with the worker and as a mark in charts. @default what `createSkep` was given */
  readonly version?: string
}

export const WORKER_KEYS: OptionKeys = optionKeys<WorkerOptions>('worker()', {
  concurrency: true,
  lease: true,
  drain: true,
  grace: true,
  poll: true,
  rescueGrace: true,
  prune: true,
  version: true,
})

export interface ResolvedWorkerOptions {
  readonly concurrency: number
  readonly leaseMs: number
  readonly drainMs: number
  readonly graceMs: number
  readonly pollMs: number | null
  readonly rescueGraceMs: number
  readonly pruneMs: number
  readonly version: string | null
}

export function resolveWorkerOptions(options: WorkerOptions = {}): ResolvedWorkerOptions {
  const { concurrency = 10 } = options
  assertWhole('concurrency', concurrency, 1, 100_000)
  const leaseMs = toMs('lease', options.lease ?? '30s')
  assertWhole('lease', leaseMs, 1_000, 86_400_000)
  return Object.freeze({
    concurrency,
    leaseMs,
    drainMs: toMs('drain', options.drain ?? '23s'),
    graceMs: toMs('grace', options.grace ?? '5s'),
    pollMs: options.poll === undefined ? null : Math.max(10, toMs('poll', options.poll)),
    rescueGraceMs: toMs('rescueGrace', options.rescueGrace ?? '2s'),
    pruneMs: Math.max(1_000, toMs('prune', options.prune ?? '1m')),
    version: options.version === undefined ? null : String(options.version).slice(0, 128),
  })
}

/** Refuses a number that is not whole or out of bounds. */
export function assertWhole(what: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw new SkepError(
    'OPTION_INVALID',
    `${what} is ${String(value)}; use a whole number from ${least} to ${most}.`,
    {
      facts: { what, value },
    },
  )
}
