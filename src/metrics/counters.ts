import type { JobState } from '../core/jobs/job.ts'
import { countOf, Histogram, packHistogram, unpackInto } from './histogram.ts'

/** So many queues are told apart; what happens in others is counted together. Names may be made from data. */
export const QUEUES_TOLD_APART = 1_000

/** Where the rest is counted. No queue can have this name. */
export const OTHER_QUEUES = '(other)'

/** What happened in one queue of this process: all of it, and what nobody has collected yet. */
export class QueueMeter {
  readonly queue: string
  /** What was collected. */
  readonly total: Tally = new Tally()
  /** What happened since. */
  readonly recent: Tally = new Tally()
  readonly #onChange: (meter: QueueMeter) => void
  /** Whether it is on the list of those to collect. */
  isChanged = false

  constructor(queue: string, onChange: (meter: QueueMeter) => void) {
    this.queue = queue
    this.#onChange = onChange
  }

  enqueued(jobs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.enqueued += jobs
  }

  /** A handler got a job that was due so long ago. */
  started(waitMs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.wait.add(waitMs)
  }

  done(runMs: number): void {
    if (!this.isChanged) this.#onChange(this)
    this.recent.done += 1
    this.recent.run.add(runMs)
  }

  /** A run ended badly, and `state` is what became of the job. */
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
 * Counts what one process does. Counting is an addition in memory: no clock is read and nothing is written. Somebody
 * collects from time to time, and hears with `onFirst` that there is something to collect.
 */
export class Meter {
  readonly #queues = new Map<string, QueueMeter>()
  #changed: QueueMeter[] = []
  /** Called when something happens after nothing did. */
  onFirst: (() => void) | null = null

  /** The meter of a queue. It stays the same, so whoever counts often may keep it. */
  of(queue: string): QueueMeter {
    return this.#queues.get(queue) ?? this.#make(queue)
  }

  /** Everything since the process began, by queue. */
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

  /** Gives what happened since the last time, queue by queue. What it gives is cleared when the callback returns. */
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

/** What is counted of a queue. */
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
 * `failed` are runs that ended badly, by an error, a timeout or a death; of these some were `retried`, some made the job
 * `dead`, and `lost` are those whose worker died.
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
  /** From start to end. */
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

  /** How much happened, to choose what is worth keeping in detail. */
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

/** Adds what was stored to a tally. */
export function unpackTally(tally: Tally, packed: unknown): void {
  if (!Array.isArray(packed)) return
  COUNTS.forEach((name, index) => {
    tally[name] += countOf(packed[index])
  })
  unpackInto(tally.wait, packed[COUNTS.length])
  unpackInto(tally.run, packed[COUNTS.length + 1])
}
