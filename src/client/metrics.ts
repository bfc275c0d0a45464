import { SkepError } from '../core/errors.ts'
import { handledQueues, unhandledOf } from '../core/jobs/unhandled.ts'
import { assertName, show } from '../core/names.ts'
import { assertOptions, optionKeys } from '../core/options.ts'
import type { Meter, Tally } from '../metrics/counters.ts'
import { readDeploys } from '../metrics/deploys.ts'
import { exposition } from '../metrics/prometheus.ts'
import { type QueueRates, RANGES, type Range, readRates, readSeries } from '../metrics/series.ts'
import type { Notifier } from '../notifier/notifier.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Store } from '../store/store.ts'
import { knownQueues } from './queues/declarations.ts'
import { listWorkers } from './workers/list.ts'

/** What happened, one value for each bucket of time, as told by all processes. */
export interface SeriesView {
  /** The beginning of the first bucket, and the length of each. */
  readonly from: Date
  readonly stepMs: number
  readonly enqueued: readonly number[]
  readonly done: readonly number[]
  /** Runs that ended badly, whether or not the job was tried again. */
  readonly failed: readonly number[]
  readonly retried: readonly number[]
  readonly dead: readonly number[]
  /** In milliseconds, to within a fifth; null where nothing happened. From due to start, and from start to end. */
  readonly waitP50: readonly (number | null)[]
  readonly waitP95: readonly (number | null)[]
  readonly waitP99: readonly (number | null)[]
  readonly runP50: readonly (number | null)[]
  readonly runP95: readonly (number | null)[]
  readonly runP99: readonly (number | null)[]
  /** False: so many processes told something that the oldest of it was not read. */
  readonly isWhole: boolean
}

const RANGE_MS: Readonly<Record<Range, number>> = {
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
}

/** Rates are read again after this time. */
const RATES_MS = 2_000

interface MetricsEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
  readonly meter: Meter
  readonly ready: () => Promise<unknown>
  /** Writes what this process has counted. */
  readonly flush: () => Promise<unknown>
}

const SERIES_KEYS = optionKeys<{ queue?: string; range: Range }>('metrics.series()', {
  queue: true,
  range: true,
})
const DEPLOYS_KEYS = optionKeys<{ range: Range }>('metrics.deploys()', { range: true })

/**
 * How much happened, and how long it took. Every process writes what it counts to the store, every few seconds and only if
 * something happened, so any of them can tell of all. Other processes are seen up to 10 s late.
 */
export class Metrics {
  readonly #env: MetricsEnv
  #rates: { readonly at: number; readonly read: Promise<readonly QueueRates[]> } | null = null

  constructor(env: MetricsEnv) {
    this.#env = env
  }

  /** What happened in a queue, or in all, in the last 15 minutes to 7 days. */
  async series(options: { readonly queue?: string; readonly range: Range }): Promise<SeriesView> {
    assertOptions(SERIES_KEYS, options ?? null)
    const { queue, range } = options
    if (queue !== undefined) assertName('Queue', queue)
    assertRange(range)
    const now = await this.#begin()
    const { store, space } = this.#env
    const asked = { range, now, ...(queue === undefined ? {} : { queue }) }
    const { from, stepMs, buckets, isWhole } = await readSeries(store, space, asked)
    const counts = (of: (tally: Tally) => number): number[] =>
      buckets.map((tally) => (tally === null ? 0 : of(tally)))
    const quantiles = (of: 'wait' | 'run', share: number): (number | null)[] =>
      buckets.map((tally) => rounded(tally?.[of].quantile(share) ?? null))
    return {
      from: new Date(from),
      stepMs,
      enqueued: counts(({ enqueued }) => enqueued),
      done: counts(({ done }) => done),
      failed: counts(({ failed }) => failed),
      retried: counts(({ retried }) => retried),
      dead: counts(({ dead }) => dead),
      waitP50: quantiles('wait', 0.5),
      waitP95: quantiles('wait', 0.95),
      waitP99: quantiles('wait', 0.99),
      runP50: quantiles('run', 0.5),
      runP95: quantiles('run', 0.95),
      runP99: quantiles('run', 0.99),
      isWhole,
    }
  }

  /** How fast each queue is. Those in which nothing happened for 15 minutes are left out. */
  async rates(): Promise<readonly QueueRates[]> {
    await this.#begin()
    return this.#readRates()
  }

  /** Many who look share one read: rates are of whole slots of 10 s, and do not change faster than they are read here. */
  #readRates(): Promise<readonly QueueRates[]> {
    const { store, space, runtime } = this.#env
    if (this.#rates !== null && runtime.mono() - this.#rates.at < RATES_MS) return this.#rates.read
    const read = readRates(store, space, runtime.now())
    const rates = { at: runtime.mono(), read }
    this.#rates = rates
    read.catch(() => {
      if (this.#rates === rates) this.#rates = null
    })
    return read
  }

  /** When workers of another version appeared, oldest first, for marks in charts. */
  async deploys(options: {
    readonly range: Range
  }): Promise<readonly { readonly at: Date; readonly version: string }[]> {
    assertOptions(DEPLOYS_KEYS, options ?? null)
    assertRange(options.range)
    const { store, space, runtime, ready } = this.#env
    await ready()
    const deploys = await readDeploys(store, space, runtime.now() - RANGE_MS[options.range])
    return deploys.map(({ at, version }) => ({ at: new Date(at), version }))
  }

  /**
   * Everything in the text format of Prometheus, to be served as `text/plain; version=0.0.4`. Counters and histograms are of
   * this process; the rest is of the whole space.
   */
  async prometheus(): Promise<string> {
    await this.#begin()
    const { store, notifier, space, runtime, meter } = this.#env
    const [{ queues: counted, now }, workers, rates] = await Promise.all([
      store.counts({ space }),
      listWorkers(this.#env),
      this.#readRates(),
    ])
    const handled = handledQueues(workers, now)
    const queues = await knownQueues(store, space, counted, handled)
    const listed = new Set(queues.map(({ queue }) => queue))
    const { status } = notifier.health()
    const { user, system } = process.cpuUsage()
    return exposition({
      space,
      queues: queues.map(({ queue, states, oldestDueAt }) => ({
        queue,
        states,
        oldestMs: oldestDueAt === null ? null : Math.max(0, now - oldestDueAt),
        unhandled: unhandledOf({ queue, ready: states.ready }, handled),
      })),
      rates: rates.filter(({ queue }) => listed.has(queue)),
      totals: new Map([...meter.totals()].filter(([queue]) => listed.has(queue))),
      workers,
      isNotifierUp: status === 'off' ? null : status === 'up',
      process: {
        memoryBytes: process.memoryUsage.rss(),
        cpuSeconds: (user + system) / 1e6,
        startSeconds: Math.round(runtime.now() / 1_000 - process.uptime()),
      },
    })
  }

  async #begin(): Promise<number> {
    await this.#env.ready()
    await this.#env.flush()
    return this.#env.runtime.now()
  }
}

function assertRange(range: Range): void {
  if (RANGES.includes(range)) return
  throw new SkepError('OPTION_INVALID', `range is ${show(range)}; use one of: ${RANGES.join(', ')}.`)
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100
}
