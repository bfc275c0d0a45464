import type { Runtime } from '../../index.ts'

export interface Rate {
  /** So many each second, in the long run. */
  readonly perSecond: number
  /** So many at once, after a rest. */
  readonly burst: number
}

interface Bucket {
  /** When it is full again, on the clock that only moves forward. One number is enough for a bucket. */
  fullAt: number
}

/**
 * How often each of many may do something. It holds at most `keys` of them in memory: whoever has rested longest is forgotten first,
 * which costs nothing once a bucket is full again. When strangers push out what is not full, those begin anew, so this bounds what one
 * caller can do and is no wall against a crowd.
 */
export class Rates {
  readonly #buckets = new Map<string, Bucket>()
  readonly #rate: Rate
  readonly #runtime: Runtime
  readonly #keys: number

  constructor(rate: Rate, runtime: Runtime, keys = 10_000) {
    this.#rate = rate
    this.#runtime = runtime
    this.#keys = keys
  }

  /** Takes `count` from the bucket of `key`: 0 if it had them, or in how many milliseconds it will; then nothing is taken. */
  take(key: string, count = 1): number {
    const wait = this.wait(key, count)
    if (wait > 0) return wait
    const now = this.#runtime.mono()
    const bucket = this.#buckets.get(key) ?? { fullAt: now }
    bucket.fullAt = Math.max(now, bucket.fullAt) + (count * 1_000) / this.#rate.perSecond
    // Moved to the end: a map keeps its order, so the first ones have rested longest.
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > this.#keys) this.#forget()
    return 0
  }

  /** In how many milliseconds `key` may do it, without taking anything. More than the burst is let through from a full bucket. */
  wait(key: string, count = 1): number {
    const { perSecond, burst } = this.#rate
    const fullAt = this.#buckets.get(key)?.fullAt ?? 0
    const mayBeFullIn = ((burst - Math.min(count, burst)) * 1_000) / perSecond
    return Math.max(0, Math.ceil(fullAt - this.#runtime.mono() - mayBeFullIn))
  }

  /** How many are held in memory. */
  get size(): number {
    return this.#buckets.size
  }

  #forget(): void {
    const [first] = this.#buckets.keys()
    if (first !== undefined) this.#buckets.delete(first)
  }
}
