import type { KeyRange, RelayedJob, RelayLine } from '../../index.ts'
import type { Delivery } from './in-flight-job.ts'
import type { Receiver } from './receiver.ts'

/** What the lines of a hub have in common. */
export interface LineEnv {
  /** Raised whenever a receiver may have more room than before. */
  readonly changes: () => number
  /** How many more jobs all receivers together may have: 0 when they hold as many bytes as they may. */
  readonly left: () => number
  readonly nextTurn: () => number
  readonly onGiven: (delivery: Delivery) => void
}

/**
 * One queue, or a range of its keys, and the receivers that take its jobs. The least busy one comes first.
 *
 * To find that one is asked for every job, so those with room are kept as a heap, which is built anew when one of them may have
 * got more room. Less room needs no such thing: whoever comes to the top of the heap is looked at again.
 */
export class Line implements RelayLine<Delivery> {
  readonly queue: string
  readonly keys?: KeyRange
  readonly receivers: Set<Receiver> = new Set()
  /** Since when nobody has taken its jobs, by the monotonic clock; null while somebody does. */
  emptySince: number | null = null
  isOpen = false
  isOpening = false
  /** Jobs for which nobody had room after all. They come first. */
  parked: RelayedJob<Delivery>[] = []
  readonly #env: LineEnv
  #heap: Receiver[] = []
  /** How busy each of the heap was when it came to its place. */
  #loads: number[] = []
  #changes = -1

  constructor(queue: string, keys: KeyRange | null, env: LineEnv) {
    this.queue = queue
    if (keys !== null) this.keys = keys
    this.#env = env
  }

  readonly concurrency = (): number => {
    let all = 0
    for (const receiver of this.receivers) if (receiver.blockedSince === null) all += receiver.credits
    return all
  }

  readonly room = (): number => {
    const left = this.#env.left()
    if (left <= 0) return 0
    let all = 0
    for (const receiver of this.receivers) all += receiver.room
    return Math.max(0, Math.min(all, left) - this.parked.length)
  }

  readonly hasRoom = (): boolean => this.parked.length === 0 && this.#least() !== null

  readonly take = (job: RelayedJob<Delivery>): void => {
    const receiver = this.#least()
    if (receiver === null) this.parked.push(job)
    else this.#env.onGiven(receiver.give(job, this.#env.nextTurn()))
  }

  /** Gives out what is parked, as far as there is room. */
  unpark(): void {
    if (this.parked.length === 0) return
    const jobs = this.parked.filter((job) => job.isOpen)
    this.parked = []
    for (const job of jobs) this.take(job)
  }

  /** The least busy of those who have room. */
  #least(): Receiver | null {
    if (this.#env.left() <= 0) return null
    if (this.#changes !== this.#env.changes()) this.#build()
    while (this.#heap.length > 0) {
      const top = this.#heap[0] as Receiver
      if (top.room === 0) this.#removeTop()
      else if (top.load === this.#loads[0]) return top
      else {
        this.#loads[0] = top.load
        this.#sink(0)
      }
    }
    return null
  }

  #build(): void {
    this.#changes = this.#env.changes()
    this.#heap = [...this.receivers].filter((receiver) => receiver.room > 0)
    this.#loads = this.#heap.map((receiver) => receiver.load)
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at--) this.#sink(at)
  }

  #removeTop(): void {
    const last = this.#heap.pop() as Receiver
    const load = this.#loads.pop() as number
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#loads[0] = load
    this.#sink(0)
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      let least = at
      if (left < this.#heap.length && this.#isBefore(left, least)) least = left
      if (left + 1 < this.#heap.length && this.#isBefore(left + 1, least)) least = left + 1
      if (least === at) return
      this.#swap(at, least)
      at = least
    }
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#loads[a] as number) - (this.#loads[b] as number)
    if (difference !== 0) return difference < 0
    return (this.#heap[a] as Receiver).turn < (this.#heap[b] as Receiver).turn
  }

  #swap(a: number, b: number): void {
    const receiver = this.#heap[a] as Receiver
    const load = this.#loads[a] as number
    this.#heap[a] = this.#heap[b] as Receiver
    this.#loads[a] = this.#loads[b] as number
    this.#heap[b] = receiver
    this.#loads[b] = load
  }
}
