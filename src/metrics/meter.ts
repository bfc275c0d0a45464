import type { JobState } from '../core/job.ts'
import { Tally } from './tally.ts'

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
