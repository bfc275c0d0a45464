import { type Duration, FOREVER_MS } from '../duration.ts'
import { archive, buried, discard, exponential, fixed, never, type Policy, retry } from './policy.ts'

/** What a preset sets: the policy of a queue, and the lease and drain time of its workers. */
export interface Preset {
  readonly queue: Policy
  readonly worker: { readonly lease: Duration; readonly drain: Duration }
}

const MINUTE = 60_000
const HOUR = 3_600_000

/** The numbers of the systems Skep descends from, for users who migrate from one of them. */
export const presets: Readonly<Record<'dark' | 'darkEvents' | 'vitess' | 'guild' | 'bee', Preset>> =
  Object.freeze({
    /**
     * Dark: errors are retried after 5 minutes, twice, then discarded; after 5 lost attempts the job is dead.
     */
    dark: {
      queue: {
        onSuccess: discard(),
        onError: retry(2, fixed('5m'), { ending: discard() }),
        onTimeout: retry(2, fixed('5m'), { ending: discard() }),
        onLost: retry(5, fixed(0), { ending: buried('1w') }),
        keepCancelledMs: 0,
        timeoutMs: null,
      },
      worker: { lease: '5m', drain: '28s' },
    },

    /** Dark's older system: errors retried after 5 minutes, twice; rows kept; lost jobs retried at once. */
    darkEvents: {
      queue: {
        onSuccess: archive('forever'),
        onError: retry(2, fixed('5m'), { ending: archive('forever') }),
        onTimeout: retry(2, fixed('5m'), { ending: archive('forever') }),
        onLost: retry(Infinity, fixed(0)),
        keepCancelledMs: FOREVER_MS,
        timeoutMs: null,
      },
      worker: { lease: '30s', drain: '28s' },
    },

    /**
     * Vitess: unlimited retries, 30 s after the first attempt, then doubling, jitter 1/3; history for a day.
     */
    vitess: {
      queue: {
        onSuccess: archive('1d'),
        onError: retry(Infinity, exponential('30s', { max: '1d', jitter: 0.333 })),
        onTimeout: retry(Infinity, exponential('30s', { max: '1d', jitter: 0.333 })),
        onLost: retry(Infinity, exponential('30s', { max: '1d', jitter: 0.333 })),
        keepCancelledMs: 24 * HOUR,
        timeoutMs: 30_000,
      },
      worker: { lease: '30s', drain: '30s' },
    },

    /** Guild: no retries unless asked for, 3 minutes per attempt, everything kept for a day. */
    guild: {
      queue: {
        onSuccess: archive('24h'),
        onError: never(archive('24h')),
        onTimeout: never(archive('24h')),
        onLost: never(archive('24h')),
        keepCancelledMs: 24 * HOUR,
        timeoutMs: 3 * MINUTE,
      },
      worker: { lease: '182s', drain: '28s' },
    },

    /** haskell-bee: done deleted, errors archived, timeouts (10 s) retried twice; archives are kept. */
    bee: {
      queue: {
        onSuccess: discard(),
        onError: never(archive('forever')),
        onTimeout: retry(2, fixed(0), { ending: archive('forever') }),
        onLost: retry(2, fixed(0), { ending: archive('forever') }),
        keepCancelledMs: 0,
        timeoutMs: 10_000,
      },
      worker: { lease: '13s', drain: '28s' },
    },
  })
