/**
 * How durations are counted: in buckets that grow by a quarter of a doubling each. So a value is known to within a fifth,
 * whatever its size, and histograms of several processes are merged by adding.
 *
 * Bucket 0 holds up to 1/16 ms, bucket `i` up to `2^(i/4) / 16` ms, and the last all that is longer than 24 days.
 */
export const BUCKETS = 142

const PER_DOUBLING = 4
const FIRST_MS = 1 / 16

export class Histogram {
  readonly counts: Float64Array = new Float64Array(BUCKETS)
  count = 0
  /** Of all values, in milliseconds. */
  sumMs = 0

  add(ms: number): void {
    const bucket = bucketOf(ms)
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.count += 1
    // The store's clock and ours may differ: nothing takes less than no time.
    if (ms > 0) this.sumMs += ms
  }

  /** Adds what another has counted. */
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

  /** What this share of the values is not longer than, in milliseconds; null if there are none. */
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

/** The bucket of a duration. */
export function bucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0
  return Math.min(BUCKETS - 1, Math.ceil(PER_DOUBLING * Math.log2(ms / FIRST_MS)))
}

/** The longest duration in a bucket, in milliseconds. */
export function boundMs(bucket: number): number {
  return FIRST_MS * 2 ** (bucket / PER_DOUBLING)
}

/** As it is stored: pairs of a bucket's distance from the one before and its count. Most buckets are empty. */
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

/** Adds what was stored. What makes no sense is passed over: it was written by some other version, or by hand. */
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

/** A stored number of things. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}
