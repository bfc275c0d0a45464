import type { JobState } from '../core/jobs/job.ts'
import { countOf, Histogram, packHistogram, unpackInto } from './histogram.ts'

/** The limit of distinct queues, as names may be made from data. All others are counted together. */
export const QUEUES_TOLD_APART = 1_000

/** The queue name for the rest, which is not a valid name. */
export const OTHER_QUEUES = '(other)'

/** The metrics of one queue in this process: in total, and since the last collection. */
export class QueueMeter {
  readonly queue: string
  /** Collected. */
  readonly total: Tally = new Tally()
  /** Since the last collection. */
  readonly recent: Tally = new Tally()
  readonly #onChange: (meter: QueueMeter) => void
  /** Whether it is on the list of meters to collect. */
  isChanged = false

  constructor(queue: string, onChange: (meter: QueueMeter) => void) {
    this.queue = queue
    this.#onChange = onChange
  }

  enqueued(jobs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.enqueued += jobs
  }

  /** A handler received a job that had been due for this long. */
  started(waitMs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.wait.add(waitMs)
  }

  done(runMs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.done += 1
    this.recent.run.add(runMs)
  }

  /** An attempt failed; `state` is the new state of the job. */
  failed(state: JobState, isLost: boolean, runMs: number | null): void {
    if (!this.isChanged) this.#onChange(this)
    const { recent } = this
    recent.failed += 1
    if (isLost) recent.lost += 1
    if (state === 'dead') recent.dead += 1
    else if (state === 'cancelled') recent.cancelled += 1
    else if (state === 'ready' || state === 'delayed') recent.retried += 1
    if (runMs !== null) recent.run.add(runMs)
  }

  snoozed(runMs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.snoozed += 1
    this.recent.run.add(runMs)
  }

  cancelled(runMs: number | null): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.cancelled += 1
    if (runMs !== null) this.recent.run.add(runMs)
  }
}

/**
 * Counts what one process does. Counting is an addition in memory: no clock is read and nothing is written. A
 * collector reads it from time to time; `onFirst` notifies it that there is something to collect.
 */
export class Meter {
  readonly #queues = new Map<string, QueueMeter>()
  #changed: QueueMeter[] = []
  /** Called for the first event after a collection. */
  onFirst: (() => void) | null = null

  /** The meter of a queue. It never changes, so callers may keep it. */
  of(queue: string): QueueMeter {
    return this.#queues.get(queue) ?? this.#make(queue)
  }

  /** Everything since the process started, by queue. */
  totals(): ReadonlyMap<string, Tally> {
    const totals = new Map<string, Tally>()
    for (const { queue, total, recent } of this.#queues.values()) {
      const all = new Tally()
      all.merge(total)
      all.merge(recent)
      totals.set(queue, all)
    }
    return totals
  }

  /**
   * Passes the events since the last call, queue by queue. Each tally is cleared when the callback returns.
   */
  collect(take: (queue: string, recent: Tally) => void): void {
    const changed = this.#changed
    this.#changed = []
    for (const meter of changed) {
      meter.isChanged = false
      take(meter.queue, meter.recent)
      meter.total.merge(meter.recent)
      meter.recent.clear()
    }
  }

  #make(queue: string): QueueMeter {
    const isFull = this.#queues.size >= QUEUES_TOLD_APART
    if (isFull && queue !== OTHER_QUEUES) return this.of(OTHER_QUEUES)
    const meter = new QueueMeter(queue, this.#onChange)
    this.#queues.set(queue, meter)
    return meter
  }

  readonly #onChange = (meter: QueueMeter): void => {
    meter.isChanged = true
    const isFirst = this.#changed.length === 0
    this.#changed.push(meter)
    if (isFirst) this.onFirst?.()
  }
}

export const COUNTS = [
  'enqueued',
  'done',
  'failed',
  'retried',
  'dead',
  'lost',
  'snoozed',
  'cancelled',
] as const

export type CountName = (typeof COUNTS)[number]

/**
 * What happened to the jobs of a queue in some span of time.
 *
 * `failed` are attempts that ended by an error, a timeout or a lost worker; of these some were `retried`,
 * some made the job `dead`, and `lost` are those whose worker died.
 */
export class Tally {
  enqueued = 0
  done = 0
  failed = 0
  retried = 0
  dead = 0
  lost = 0
  snoozed = 0
  cancelled = 0
  /** From due to start. */
  readonly wait: Histogram = new Histogram()
  /** From start to completion. */
  readonly run: Histogram = new Histogram()

  merge(other: Tally): void {
    for (const name of COUNTS) this[name] += other[name]
    if (other.wait.count > 0) this.wait.merge(other.wait)
    if (other.run.count > 0) this.run.merge(other.run)
  }

  clear(): void {
    for (const name of COUNTS) this[name] = 0
    if (this.wait.count > 0) this.wait.clear()
    if (this.run.count > 0) this.run.clear()
  }

  get isEmpty(): boolean {
    return this.wait.count === 0 && this.run.count === 0 && COUNTS.every((name) => this[name] === 0)
  }

  /** The number of events, to choose which queues are kept in detail. */
  get weight(): number {
    return this.enqueued + this.done + this.failed + this.snoozed + this.cancelled
  }
}

/** The counts in the order of {@link COUNTS}, then the two histograms. Without detail: the counts alone. */
export type PackedTally = readonly (number | readonly number[])[]

export function packTally(tally: Tally, detail: boolean): PackedTally {
  const counts = COUNTS.map((name) => tally[name])
  return detail ? [...counts, packHistogram(tally.wait), packHistogram(tally.run)] : counts
}

export function unpackTally(tally: Tally, packed: unknown): void {
  if (!Array.isArray(packed)) return
  COUNTS.forEach((name, index) => {
    tally[name] += countOf(packed[index])
  })
  unpackInto(tally.wait, packed[COUNTS.length])
  unpackInto(tally.run, packed[COUNTS.length + 1])
}
