import type { Job } from '../../core/jobs/job.ts'
import { EVERY_KEY, type KeyRange, SLICES, sliceOf, slicesOf } from '../../core/lanes/key-range.ts'
import {
  activated,
  byKey,
  type ChangedJob,
  DEFAULT_LANE,
  entry,
  isEligible,
  type Lane,
  type LaneLimit,
  type Limit,
  laneLimit,
  type Meter,
  NEVER,
  newLane,
  occupied,
  portion,
  type QueueLimits,
  rateStartsAt,
  revisited,
  roomIn,
  served,
  UNUSED,
  vacated,
  wakesAt,
} from '../../core/lanes/lanes.ts'
import { Heap } from '../../runtime/heap.ts'

export interface SharedLimit {
  readonly limit: Limit
  readonly meter: Meter
  charge(cost: number, now: number): void
}

export interface LineJobs {
  get(id: string): Job | undefined
  first(lane: string): Job | undefined
}

/**
 * One limited queue: its lanes, and the current usage of its limits. Lanes are immutable, so an entry of a
 * heap is current exactly if it is the same object as the stored lane.
 */
export class Line {
  limits: QueueLimits
  laneLimitOf: (key: string) => LaneLimit
  meter: Meter = UNUSED
  #clock = 0
  readonly #jobs: LineJobs
  readonly #lanes = new Map<string, Lane>()
  /** The keys of lanes that were eligible when they were stored. */
  readonly #next = new Set<string>()
  /** One heap for all lanes; from the first claim with a key range on, one per slice. */
  #eligible: Heap<Lane>[] = [new Heap<Lane>(byTurn)]
  #waiting = new Heap<Lane>((a, b) => wakesAt(a) - wakesAt(b))

  constructor(jobs: LineJobs, limits: QueueLimits, laneLimitOf: (key: string) => LaneLimit) {
    this.#jobs = jobs
    this.limits = limits
    this.laneLimitOf = laneLimitOf
  }

  changed(limits: QueueLimits, laneLimitOf: (key: string) => LaneLimit, now: number): void {
    this.limits = limits
    this.laneLimitOf = laneLimitOf
    // Replacing an entry of a Map keeps its position, so each lane is visited once.
    for (const lane of this.#lanes.values()) this.#stay({ ...lane }, now)
  }

  lane(key: string): Lane | undefined {
    return this.#lanes.get(key)
  }

  lanes(): Iterable<Lane> {
    return this.#lanes.values()
  }

  /** A job of this lane may be ready. */
  activate(key: string, now: number): void {
    this.#put(activated(this.#laneOf(key)), now)
  }

  /** Counts a lease from before the queue was limited. */
  found(key: string, now: number): void {
    const lane = this.#laneOf(key)
    this.#put({ ...lane, running: lane.running + 1 }, now)
    this.meter = { ...this.meter, running: this.meter.running + 1 }
  }

  /** A lease has ended. `isReady`: its job is ready again. */
  vacate(key: string, job: ChangedJob, isReady: boolean, now: number): void {
    const left = activated(vacated(this.#laneOf(key), job))
    if (isReady) this.#put(left, now)
    else this.#stay(left, now)
    this.meter = { ...this.meter, running: this.meter.running - 1 }
  }

  revisit(key: string, job: ChangedJob, now: number): void {
    this.#put(revisited(this.#laneOf(key), job), now)
  }

  wait(key: string, until: number, now: number): void {
    const lane = this.#laneOf(key)
    this.#put({ ...lane, waitUntil: Math.max(lane.waitUntil, until) }, now)
  }

  hold(key: string, until: number, now: number): void {
    this.#put({ ...this.#laneOf(key), heldUntil: until }, now)
  }

  /** When the next waiting lane may become eligible. */
  nextWake(): number {
    return this.#first(this.#waiting) ? wakesAt(this.#waiting.peek() as Lane) : NEVER
  }

  /**
   * Takes up to `room` jobs, each portion from the lane whose turn it is, within the key range if there is
   * one. If a rate of the queue stopped it, returns when the next job may start.
   */
  serve(
    room: number,
    shared: SharedLimit | null,
    keys: KeyRange | null,
    now: number,
    take: (job: Job) => void,
  ): number | null {
    if (keys) this.#divide(now)
    this.#wake(now)
    const common = this.#eligible.length > 1 && this.#lanes.get(DEFAULT_LANE)
    if (common) this.#put({ ...common }, now)
    const heaps = this.#heapsOf(keys ?? EVERY_KEY)
    let key = DEFAULT_LANE
    let left = 0
    for (let taken = 0; taken < room; ) {
      if (roomIn(this.limits, this.meter) === 0) return null
      if (shared && roomIn(shared.limit, shared.meter) === 0) return null
      const served = left > 0 ? this.#lanes.get(key) : undefined
      const goesOn = served !== undefined && isEligible(served, this.laneLimitOf(key), now)
      const lane = goesOn ? served : this.#nextLane(heaps, now)
      if (!lane) return null
      if (!goesOn) {
        key = lane.key
        left = portion(room)
      }
      const job = this.#head(lane, now)
      if (!job) continue
      const at = this.#startsAt(job, shared)
      if (at > now) return at
      if (!goesOn) this.#clock = Math.max(this.#clock, lane.turn)
      this.#start(lane, job, shared, now)
      take(job)
      taken++
      left--
    }
    return null
  }

  /** Takes a named job, if all limits allow it. It starts out of turn, so the clock stays. */
  takeNamed(job: Job, shared: SharedLimit | null, now: number): boolean {
    this.#wake(now)
    const lane = this.#put(activated(this.#laneOf(job.lane ?? DEFAULT_LANE)), now)
    const limit = this.laneLimitOf(lane.key)
    if (roomIn(this.limits, this.meter) === 0 || (shared && roomIn(shared.limit, shared.meter) === 0))
      return false
    if (!isEligible(lane, limit, now) || rateStartsAt(limit, lane, job.cost) > now) return false
    if (limit.strict && this.#head(lane, now)?.id !== job.id) return false
    if (this.#startsAt(job, shared) > now) return false
    this.#start(this.#laneOf(lane.key), job, shared, now)
    return true
  }

  /** Removes lanes without any state. */
  prune(now: number): void {
    for (const lane of this.#lanes.values()) {
      const isBlank = !lane.active && lane.running === 0 && lane.occupant === null && wakesAt(lane) <= now
      if (isBlank && lane.fullAtUs <= now * 1_000 && lane.turn <= entry(this.#clock))
        this.#lanes.delete(lane.key)
    }
  }

  #start(lane: Lane, job: Job, shared: SharedLimit | null, now: number): void {
    this.#put(served(lane, this.laneLimitOf(lane.key), job, now), now)
    this.meter = occupied(this.limits, this.meter, job.cost, now)
    shared?.charge(job.cost, now)
  }

  #startsAt(job: Job, shared: SharedLimit | null): number {
    const own = rateStartsAt(this.limits, this.meter, job.cost)
    return shared ? Math.max(own, rateStartsAt(shared.limit, shared.meter, job.cost)) : own
  }

  /** The job that a lane would start now. If there is none, the lane becomes idle or waits. */
  #head(lane: Lane, now: number): Job | undefined {
    if (lane.occupant === null || !this.laneLimitOf(lane.key).strict) return this.#firstOf(lane, now)
    const occupant = this.#jobs.get(lane.occupant)
    if (occupant?.state === 'ready') return this.#onTime(lane, occupant, now)
    if (occupant?.state !== 'delayed') return this.#firstOf(this.#put({ ...lane, occupant: null }, now), now)
    this.#put({ ...lane, headAt: occupant.dueAt }, now)
    return undefined
  }

  #firstOf(lane: Lane, now: number): Job | undefined {
    const job = this.#jobs.first(lane.key)
    if (job) return this.#onTime(lane, job, now)
    this.#put({ ...lane, active: false }, now)
    return undefined
  }

  #onTime(lane: Lane, job: Job, now: number): Job | undefined {
    const at = rateStartsAt(this.laneLimitOf(lane.key), lane, job.cost)
    if (at <= now) return job
    this.#put({ ...lane, waitUntil: Math.max(lane.waitUntil, at) }, now)
    return undefined
  }

  /** The lane whose turn it is, among these heaps. */
  #nextLane(heaps: readonly Heap<Lane>[], now: number): Lane | undefined {
    let next: Lane | undefined
    for (const heap of heaps) {
      for (let lane = this.#first(heap); lane; lane = this.#first(heap)) {
        if (isEligible(lane, this.laneLimitOf(lane.key), now)) {
          if (!next || byTurn(lane, next) < 0) next = lane
          break
        }
        // The clock went back, so it is not eligible any more.
        heap.pop()
        this.#next.delete(lane.key)
        this.#waiting.push(lane)
      }
    }
    return next
  }

  /** Splits the eligible lanes by slice, so that a claim does not visit lanes of other ranges. */
  #divide(now: number): void {
    if (this.#eligible.length > 1) return
    this.#eligible = Array.from({ length: SLICES }, () => new Heap<Lane>(byTurn))
    for (const lane of this.#lanes.values()) if (this.#hasRoom(lane)) this.#queue(lane, now)
  }

  #heapOf({ key }: Lane): Heap<Lane> {
    return this.#eligible[this.#eligible.length > 1 ? sliceOf(key) : 0] as Heap<Lane>
  }

  #heapsOf(keys: KeyRange): readonly Heap<Lane>[] {
    if (this.#eligible.length === 1) return this.#eligible
    const { first, end } = slicesOf(keys)
    return this.#eligible.slice(first, end)
  }

  #wake(now: number): void {
    for (
      let lane = this.#first(this.#waiting);
      lane && wakesAt(lane) <= now;
      lane = this.#first(this.#waiting)
    ) {
      this.#waiting.pop()
      this.#put({ ...lane }, now)
    }
  }

  #first(heap: Heap<Lane>): Lane | undefined {
    for (let lane = heap.peek(); lane; lane = heap.peek()) {
      if (this.#lanes.get(lane.key) === lane) return lane
      heap.pop()
    }
    return undefined
  }

  #laneOf(key: string): Lane {
    return this.#lanes.get(key) ?? newLane(key, this.#clock)
  }

  /** Stores a lane in a new state. If it is eligible, its turn is moved up to the clock. */
  #put(lane: Lane, now: number): Lane {
    const isNext = this.#hasRoom(lane) && wakesAt(lane) <= now
    return this.#keep(isNext ? { ...lane, turn: Math.max(lane.turn, entry(this.#clock)) } : lane, now)
  }

  /** Stores a lane in a new state. If it was eligible, its turn stays. */
  #stay(lane: Lane, now: number): void {
    if (this.#next.has(lane.key)) this.#keep(lane, now)
    else this.#put(lane, now)
  }

  #keep(lane: Lane, now: number): Lane {
    const { key } = lane
    this.#lanes.set(key, lane)
    const hasRoom = this.#hasRoom(lane)
    if (hasRoom && wakesAt(lane) <= now) this.#next.add(key)
    else this.#next.delete(key)
    if (hasRoom) this.#queue(lane, now)
    return lane
  }

  #hasRoom(lane: Lane): boolean {
    return lane.active && roomIn(laneLimit(this.laneLimitOf(lane.key)), lane) > 0
  }

  #queue(lane: Lane, now: number): void {
    ;(wakesAt(lane) <= now ? this.#heapOf(lane) : this.#waiting).push(lane)
  }
}

function byTurn(a: Lane, b: Lane): number {
  return a.turn - b.turn || byKey(a.key, b.key)
}
