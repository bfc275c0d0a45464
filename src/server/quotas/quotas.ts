/**
 * What each space may use up, so that one of them cannot take all there is. Counted by each server for itself.
 *
 * Nothing here asks the store for every job: what a space has stored is counted once in two seconds, and what comes in since then is
 * added. So a quota may be passed by what other servers and programs put in within these two seconds, and by what is on its way into
 * the store while it is counted.
 */
import { JOB_STATES, type Runtime, SkepError } from '../../index.ts'
import type { Coming, QueueLister } from '../../operations/services.ts'
import { Rates } from './rates.ts'

/** What one space may use. What is left out has no bound. */
export interface Quota {
  /** Jobs that it may enqueue through this server each second; twice as many at once after a rest. */
  readonly enqueuePerSecond?: number
  /** Jobs that may be stored, in all queues and states. With them unique keys are bounded: each is held by a job. */
  readonly storedJobs?: number
  /** Bytes of one payload as JSON. */
  readonly payloadBytes?: number
  /** Names of queues that have jobs. */
  readonly queues?: number
  /** Schedules. It is looked at when one is made. */
  readonly schedules?: number
  /** Receivers that may be connected to this server. */
  readonly receivers?: number
  /** Jobs that its receivers may hold at once, all together. They get no more until some are acked. */
  readonly inFlight?: number
}

export type Quotas = Readonly<Record<string, Quota>> | ((space: string) => Quota | undefined)

const COUNT_MS = 2_000
const AGAIN_MS = 5_000
const MOST_SPACES = 10_000

interface Counted {
  readonly at: number
  /** With what was enqueued here since. */
  jobs: number
  readonly queues: Set<string>
}

export class QuotaKeeper {
  readonly #quotas: Quotas
  readonly #runtime: Runtime
  readonly #rates = new Map<string, { readonly perSecond: number; readonly rates: Rates }>()
  readonly #counted = new Map<string, Counted>()
  readonly #counting = new Map<string, Promise<Counted>>()

  /** A record has the quotas of spaces by name, and under `'*'` those of all others. */
  constructor(quotas: Quotas | undefined, runtime: Runtime) {
    this.#quotas = quotas ?? {}
    if (typeof this.#quotas !== 'function') Object.values(this.#quotas).forEach(assertQuota)
    this.#runtime = runtime
  }

  /**
   * Throws `QUOTA_EXCEEDED` unless the space may enqueue these now. `stored` lists its queues.
   */
  async assertEnqueue(space: string, coming: readonly Coming[], stored: QueueLister): Promise<void> {
    const { enqueuePerSecond, storedJobs, queues } = this.#of(space)
    this.assertPayloads(space, coming)
    const isCounted = storedJobs !== undefined || queues !== undefined
    const counted = isCounted ? await this.#count(space, stored) : null
    // From here on nothing is awaited: what is counted is taken in the same moment.
    if (counted !== null && storedJobs !== undefined && counted.jobs + coming.length > storedJobs) {
      throw exceeded('stored jobs', storedJobs, 'Remove jobs, or let workers catch up', AGAIN_MS)
    }
    const fresh = new Set(coming.map(({ queue }) => queue).filter((queue) => !counted?.queues.has(queue)))
    if (
      counted !== null &&
      queues !== undefined &&
      fresh.size > 0 &&
      counted.queues.size + fresh.size > queues
    ) {
      throw exceeded('queues', queues, 'Use fewer names, or remove the jobs of one')
    }
    if (enqueuePerSecond !== undefined) {
      const waitMs = this.#ratesOf(space, enqueuePerSecond).take(space, coming.length)
      if (waitMs > 0) throw exceeded('jobs per second', enqueuePerSecond, 'Enqueue more slowly', waitMs)
    }
    if (counted !== null) {
      counted.jobs += coming.length
      for (const queue of fresh) counted.queues.add(queue)
    }
  }

  /** Throws `QUOTA_EXCEEDED` if a payload is larger than those of the space may be. */
  assertPayloads(space: string, coming: readonly Partial<Coming>[]): void {
    const { payloadBytes } = this.#of(space)
    if (payloadBytes === undefined) return
    for (const { payload } of coming) {
      const bytes = Buffer.byteLength(jsonOf(payload))
      if (bytes <= payloadBytes) continue
      throw exceeded('bytes of a payload', payloadBytes, `This one has ${bytes}: keep the data elsewhere`)
    }
  }

  /** Throws `QUOTA_EXCEEDED` if the space has as many schedules as it may. `count` counts them, up to so many. */
  async assertSchedule(space: string, count: (most: number) => Promise<number>): Promise<void> {
    const { schedules } = this.#of(space)
    if (schedules === undefined || (await count(schedules)) < schedules) return
    throw exceeded('schedules', schedules, 'Remove one')
  }

  /** Throws `QUOTA_EXCEEDED` if the space has as many receivers as it may. */
  assertReceiver(space: string, connected: number): void {
    const { receivers } = this.#of(space)
    if (receivers !== undefined && connected >= receivers) {
      throw exceeded('receivers', receivers, 'Disconnect one', AGAIN_MS)
    }
  }

  /** How many jobs the receivers of a space may hold. */
  inFlight(space: string): number {
    return this.#of(space).inFlight ?? Infinity
  }

  #of(space: string): Quota {
    if (typeof this.#quotas === 'function') return assertQuota(this.#quotas(space) ?? {})
    return (Object.hasOwn(this.#quotas, space) ? this.#quotas[space] : this.#quotas['*']) ?? {}
  }

  #ratesOf(space: string, perSecond: number): Rates {
    const known = this.#rates.get(space)
    if (known?.perSecond === perSecond) return known.rates
    const rates = new Rates({ perSecond, burst: perSecond * 2 }, this.#runtime, 1)
    if (this.#rates.size >= MOST_SPACES) this.#rates.clear()
    this.#rates.set(space, { perSecond, rates })
    return rates
  }

  /** What was counted lately. However many ask when that is too old, one looks. */
  #count(space: string, stored: QueueLister): Promise<Counted> | Counted {
    const known = this.#counted.get(space)
    if (known && this.#runtime.mono() - known.at < COUNT_MS) return known
    const under = this.#counting.get(space)
    if (under) return under
    const counting = this.#look(space, stored).finally(() => this.#counting.delete(space))
    this.#counting.set(space, counting)
    return counting
  }

  async #look(space: string, stored: QueueLister): Promise<Counted> {
    const at = this.#runtime.mono()
    const filled = (await stored.queues.list())
      .map((one) => ({ queue: one.queue, jobs: JOB_STATES.reduce((sum, state) => sum + one[state], 0) }))
      .filter(({ jobs }) => jobs > 0)
    const jobs = filled.reduce((sum, one) => sum + one.jobs, 0)
    const counted = { at, jobs, queues: new Set(filled.map(({ queue }) => queue)) }
    if (this.#counted.size >= MOST_SPACES) this.#counted.clear()
    this.#counted.set(space, counted)
    return counted
  }
}

const QUOTAS: Readonly<Record<keyof Quota, true>> = {
  enqueuePerSecond: true,
  storedJobs: true,
  payloadBytes: true,
  queues: true,
  schedules: true,
  receivers: true,
  inFlight: true,
}

/** A quota that is no number, as `Number(undefined)`, or has a wrong name would bound nothing, and nobody would notice. */
function assertQuota(quota: Quota): Quota {
  if (typeof quota !== 'object' || quota === null) {
    throw new SkepError(
      'OPTION_INVALID',
      'The quotas of a space are an object: { acme: { storedJobs: 10_000 } }.',
    )
  }
  for (const [name, limit] of Object.entries(quota)) {
    if (!Object.hasOwn(QUOTAS, name)) {
      const known = Object.keys(QUOTAS).join(', ')
      throw new SkepError('OPTION_INVALID', `There is no quota "${name}". Possible: ${known}.`)
    }
    if (limit === undefined || (typeof limit === 'number' && limit >= 0)) continue
    throw new SkepError('OPTION_INVALID', `The quota ${name} must be a number of 0 or more, or be left out.`)
  }
  return quota
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/** Where waiting does not help there is no word on when to come again. */
function exceeded(quota: string, limit: number, advice: string, retryAfterMs?: number): SkepError {
  const message = `The space has used up its quota of ${limit} ${quota}. ${advice}.`
  return new SkepError('QUOTA_EXCEEDED', message, {
    facts: { quota, limit, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  })
}
