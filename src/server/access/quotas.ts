/** What each space may use up, so that one of them cannot take all there is. Counted by each server for itself. */
import { type Runtime, SkepError } from '../../index.ts'
import { Rates } from './rates.ts'

/** What one space may use. What is left out has no bound. */
export interface Quota {
  /** Jobs that it may enqueue through this server each second; twice as many at once after a rest. */
  readonly enqueuePerSecond?: number
  /** Jobs that may be stored, in all queues and states. It is looked at once in a few seconds, so it may be passed by a little. */
  readonly storedJobs?: number
  /** Receivers that may be connected to this server. */
  readonly receivers?: number
}

export type Quotas = Readonly<Record<string, Quota>> | ((space: string) => Quota | undefined)

const COUNT_MS = 2_000

interface Counted {
  readonly at: number
  readonly stored: number
  /** Enqueued here since. */
  since: number
}

export class QuotaKeeper {
  readonly #quotas: Quotas
  readonly #runtime: Runtime
  readonly #rates = new Map<string, { readonly perSecond: number; readonly rates: Rates }>()
  readonly #counted = new Map<string, Counted>()

  /** A record has the quotas of spaces by name, and under `'*'` those of all others. */
  constructor(quotas: Quotas | undefined, runtime: Runtime) {
    this.#quotas = quotas ?? {}
    this.#runtime = runtime
  }

  /** Throws `QUOTA_EXCEEDED` unless the space may enqueue so many jobs now. `count` tells how many it has stored. */
  async assertEnqueue(space: string, jobs: number, count: () => Promise<number>): Promise<void> {
    const { enqueuePerSecond, storedJobs } = this.#of(space)
    if (storedJobs !== undefined) {
      const counted = await this.#count(space, count)
      if (counted.stored + counted.since + jobs > storedJobs) {
        throw exceeded('stored jobs', storedJobs, 5_000, 'Remove jobs, or let workers catch up')
      }
      counted.since += jobs
    }
    if (enqueuePerSecond === undefined) return
    const waitMs = this.#ratesOf(space, enqueuePerSecond).take(space, jobs)
    if (waitMs > 0) throw exceeded('jobs per second', enqueuePerSecond, waitMs, 'Enqueue more slowly')
  }

  /** Throws `QUOTA_EXCEEDED` if the space has as many receivers as it may. */
  assertReceiver(space: string, connected: number): void {
    const { receivers } = this.#of(space)
    if (receivers !== undefined && connected >= receivers) {
      throw exceeded('receivers', receivers, 5_000, 'Disconnect one')
    }
  }

  #of(space: string): Quota {
    if (typeof this.#quotas === 'function') return this.#quotas(space) ?? {}
    return (Object.hasOwn(this.#quotas, space) ? this.#quotas[space] : this.#quotas['*']) ?? {}
  }

  #ratesOf(space: string, perSecond: number): Rates {
    const known = this.#rates.get(space)
    if (known?.perSecond === perSecond) return known.rates
    const rates = new Rates({ perSecond, burst: perSecond * 2 }, this.#runtime, 1)
    if (this.#rates.size >= 10_000) this.#rates.clear()
    this.#rates.set(space, { perSecond, rates })
    return rates
  }

  async #count(space: string, count: () => Promise<number>): Promise<Counted> {
    const known = this.#counted.get(space)
    if (known && this.#runtime.mono() - known.at < COUNT_MS) return known
    const counted = { at: this.#runtime.mono(), stored: await count(), since: 0 }
    if (this.#counted.size >= 10_000) this.#counted.clear()
    this.#counted.set(space, counted)
    return counted
  }
}

function exceeded(quota: string, limit: number, retryAfterMs: number, advice: string): SkepError {
  return new SkepError('QUOTA_EXCEEDED', `The space has used up its quota of ${limit} ${quota}. ${advice}.`, {
    facts: { quota, limit, retryAfterMs },
  })
}
