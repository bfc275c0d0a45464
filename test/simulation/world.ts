import { type Runtime, uuidSource } from '../../src/runtime/runtime.ts'
import { type Random, seededRandom } from '../../src/testing.ts'

/** Something that will happen. Nobody's event (`owner` null) happens whatever becomes of processes. */
interface Happening {
  readonly at: number
  readonly tie: number
  readonly owner: Process | null
  readonly run: () => void
  /** Not the product's. */
  readonly isForeign: boolean
  cancelled: boolean
}

/**
 * Time and order for everything in a trial. One thing happens at a time; what comes next depends on the seed alone.
 * True time begins at 0; the store and every process have clocks of their own that are off by so much.
 */
export class World {
  /** Milliseconds of true time. */
  time = 0
  /** How much the store's clock is ahead of true time. */
  storeSkewMs = 0
  readonly random: Random
  readonly #heap: Happening[] = []
  readonly #soon: { readonly owner: Process | null; readonly run: () => void }[] = []
  #n = 0
  /** Steps taken. */
  steps = 0

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** The next place in the one order that covers records and audit. */
  next(): number {
    return this.#n++
  }

  storeNow(): number {
    return EPOCH + Math.floor(this.time + this.storeSkewMs)
  }

  /** Calls `run` after `ms`, unless it is cancelled or its owner has died. */
  after(ms: number, owner: Process | null, run: () => void, isForeign = false): () => void {
    const happening = {
      at: this.time + Math.max(0, ms),
      tie: this.random.next(),
      owner,
      run,
      isForeign,
      cancelled: false,
    }
    push(this.#heap, happening)
    return () => {
      happening.cancelled = true
    }
  }

  /** Calls `run` in this very moment, after what is happening now. */
  soon(owner: Process | null, run: () => void): void {
    this.#soon.push({ owner, run })
  }

  /** Lets `ms` pass, or less if `isOver` says so. */
  async pass(ms: number, isOver?: () => boolean): Promise<void> {
    const until = this.time + ms
    for (;;) {
      await turn()
      const now = this.#soon.shift()
      if (now) {
        this.#do(now.owner, now.run)
        continue
      }
      if (isOver?.()) return
      const next = this.#heap[0]
      if (!next || next.at > until) break
      pop(this.#heap)
      if (next.cancelled) continue
      this.time = Math.max(this.time, next.at)
      this.#do(next.owner, next.run)
    }
    this.time = Math.max(this.time, until)
  }

  /** Timers set by this process that are still to come. */
  timersOf(process: Process): number {
    return this.#heap.filter(
      ({ owner, cancelled, isForeign }) => owner === process && !cancelled && !isForeign,
    ).length
  }

  #do(owner: Process | null, run: () => void): void {
    this.steps++
    if (owner?.isDead) return
    if (owner && owner.stalledUntil > this.time) {
      // Its event loop stands still: what comes meanwhile happens afterwards, in order.
      if (owner.missed.push(run) === 1) this.#resume(owner)
      return
    }
    if (owner && --owner.diesAfter < 0) owner.die()
    else run()
  }

  #resume(process: Process): void {
    this.after(process.stalledUntil - this.time, null, () => {
      if (process.stalledUntil > this.time) this.#resume(process)
      else this.wake(process)
    })
  }

  /** A process that stood still goes on now, with all that it missed. */
  wake(process: Process): void {
    process.stalledUntil = Math.min(process.stalledUntil, this.time)
    for (const run of process.missed.splice(0)) this.soon(process, run)
  }
}

/** What the clocks showed when true time began. */
export const EPOCH = 1_800_000_000_000

/** A process: clocks, timers and chance of its own. It can stand still, and it can die at any moment. */
export class Process {
  readonly name: string
  readonly runtime: Runtime
  isDead = false
  stalledUntil = 0
  /** It dies before the n-th thing that it does from now on. */
  diesAfter = Infinity
  onDeath: () => void = () => {}
  /** What has to happen when it goes on. */
  readonly missed: (() => void)[] = []
  /** How much its wall clock is ahead of true time. */
  skewMs: number
  readonly #world: World

  constructor(world: World, name: string, skewMs: number) {
    this.name = name
    this.skewMs = skewMs
    this.#world = world
    const random = seededRandom(world.random.int(0, 2 ** 31))
    const booted = world.time - random.int(0, 1_000_000)
    const now = (): number => EPOCH + Math.floor(world.time + this.skewMs)
    this.runtime = {
      now,
      mono: () => world.time - booted,
      random: random.next,
      uuid: uuidSource(now, (bytes) => {
        for (let i = 0; i < bytes.length; i++) bytes[i] = random.int(0, 255)
      }),
      bytes: (count) => Uint8Array.from({ length: count }, () => random.int(0, 255)),
      timer: (ms, run) => world.after(ms, this, run),
      defer: (run) => world.soon(this, run),
    }
  }

  /** Nothing it had planned happens any more, and nothing reaches it. */
  die(): void {
    if (this.isDead) return
    this.isDead = true
    this.onDeath()
  }

  /** A timer of a handler's own, which nobody is asked to end. */
  wait(ms: number, run: () => void): void {
    this.#world.after(ms, this, run, true)
  }

  /** Its event loop stands still for so long. */
  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.#world.time + ms)
  }
}

// Every promise that can settle does so before the next thing happens.
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie)
}

function push(heap: Happening[], item: Happening): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(item, heap[parent] as Happening)) break
    heap[at] = heap[parent] as Happening
    at = parent
  }
  heap[at] = item
}

function pop(heap: Happening[]): void {
  const last = heap.pop() as Happening
  if (heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening)) child++
    if (!isBefore(heap[child] as Happening, last)) break
    heap[at] = heap[child] as Happening
    at = child
  }
  heap[at] = last
}
