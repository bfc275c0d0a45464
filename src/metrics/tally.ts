import { countOf, Histogram, packHistogram, unpackInto } from './histogram.ts'

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
