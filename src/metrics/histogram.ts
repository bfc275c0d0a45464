/**
 * A histogram of durations: each bucket is a quarter of a doubling larger than the previous one. So a value
 * is known to within a fifth at any size, and histograms of several processes are merged by addition.
 *
 * Bucket 0 holds up to 1/16 ms, bucket `i` up to `2^(i/4) / 16` ms, the last everything above 24 days.
 */
export const BUCKETS = 142

const PER_DOUBLING = 4
const FIRST_MS = 1 / 16

export class Histogram {
  readonly counts: Float64Array = new Float64Array(BUCKETS)
  count = 0
  /** The sum of all values, in milliseconds. */
  sumMs = 0

  add(ms: number): void {
    const bucket = bucketOf(ms)
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.count += 1
    // The store's clock and ours may differ: no duration is negative.
    if (ms > 0) this.sumMs += ms
  }

  merge(other: Histogram): void {
    for (let i = 0; i < BUCKETS; i++)
      this.counts[i] = (this.counts[i] as number) + (other.counts[i] as number)
    this.count += other.count
    this.sumMs += other.sumMs
  }

  clear(): void {
    this.counts.fill(0)
    this.count = 0
    this.sumMs = 0
  }

  /** The quantile for this share, in milliseconds; null without values. */
  quantile(share: number): number | null {
    if (this.count === 0) return null
    const rank = Math.min(this.count, Math.max(share * this.count, Number.MIN_VALUE))
    let before = 0
    for (let i = 0; i < BUCKETS; i++) {
      const here = this.counts[i] as number
      if (here > 0 && before + here >= rank) {
        const low = i === 0 ? 0 : boundMs(i - 1)
        return low + (boundMs(i) - low) * ((rank - before) / here)
      }
      before += here
    }
    return boundMs(BUCKETS - 1)
  }
}

export function bucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0
  return Math.min(BUCKETS - 1, Math.ceil(PER_DOUBLING * Math.log2(ms / FIRST_MS)))
}

/** The longest duration in a bucket, in milliseconds. */
export function boundMs(bucket: number): number {
  return FIRST_MS * 2 ** (bucket / PER_DOUBLING)
}

/** The stored form: the sum, then pairs of distance to the previous non-empty bucket and count. */
export function packHistogram({ counts, count, sumMs }: Histogram): readonly number[] {
  if (count === 0) return []
  const packed = [Math.round(sumMs)]
  let last = 0
  for (let i = 0; i < BUCKETS; i++) {
    const here = counts[i] as number
    if (here === 0) continue
    packed.push(i - last, here)
    last = i
  }
  return packed
}

/**
 * Adds a stored histogram. Invalid parts are skipped: another version, or an edit by hand, may write them.
 */
export function unpackInto(histogram: Histogram, packed: unknown): void {
  if (!Array.isArray(packed) || packed.length === 0) return
  histogram.sumMs += countOf(packed[0])
  let bucket = 0
  for (let i = 1; i + 1 < packed.length; i += 2) {
    bucket += countOf(packed[i])
    const count = countOf(packed[i + 1])
    if (bucket >= BUCKETS) return
    histogram.counts[bucket] = (histogram.counts[bucket] as number) + count
    histogram.count += count
  }
}

/** A stored count; 0 if it is invalid. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}
