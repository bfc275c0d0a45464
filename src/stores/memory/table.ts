import { JOB_STATES, type Job, type JobState, rankOf } from '../../core/jobs/job.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { Heap } from '../../runtime/heap.ts'

/** A ready job and its place at insertion, as an entry of a heap; it may be outdated. */
interface Ready {
  readonly place: number
  readonly job: Job
}

class Queue {
  readonly ids: Record<JobState, Set<string>> = Object.fromEntries(
    JOB_STATES.map((state) => [state, new Set<string>()]),
  ) as unknown as Record<JobState, Set<string>>
  /** By lane. */
  readonly ready = new Map<string, Heap<Ready>>()
  readonly delayed = new Heap<Job>(byDue)
  /** Delayed jobs that were due at the last check are moved to this heap, and counted in `due`. */
  readonly overdue = new Heap<Job>(byDue)
  readonly due = new Set<Job>()
  lookedAt = 0
  /** Ready jobs by age, across lanes and priorities. */
  readonly ages = new Heap<Job>((a, b) => a.dueAt - b.dueAt)
}

function byDue(a: Job, b: Job): number {
  return a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
}

/** Smaller heaps are not worth compacting. */
const FEW_ENTRIES = 64

/**
 * All jobs, indexed by id, by queue and state, and by order. Job records are immutable, so an entry of a heap
 * is current exactly if it is the same object as the stored job.
 */
export class Table {
  /** By space and id. */
  readonly #jobs = new Map<string, Job>()
  readonly #spaces = new Map<string, Map<string, Queue>>()
  /** The latest arrival of each job of a strict lane, as an increasing number. */
  readonly #arrivals = new Map<string, number>()
  #arrived = 0
  readonly #onChange: ((before: Job | null, after: Job | null) => void) | undefined

  constructor(onChange?: (before: Job | null, after: Job | null) => void) {
    this.#onChange = onChange
  }

  get(space: string, id: string): Job | undefined {
    return this.#jobs.get(keyOf({ space, id }))
  }

  all(): Iterable<Job> {
    return this.#jobs.values()
  }

  put(job: Job): void {
    const key = keyOf(job)
    const before = this.#jobs.get(key)
    const queue = this.#queue(job.space, job.queue)
    if (before) {
      queue.ids[before.state].delete(job.id)
      queue.due.delete(before)
    }
    queue.ids[job.state].add(job.id)
    this.#jobs.set(key, job)
    if (job.strict && before?.generation !== job.generation) this.#arrivals.set(key, this.nextArrival())
    if (job.state === 'ready') {
      heapOf(queue, job.lane ?? DEFAULT_LANE).push({ place: this.placeOf(job), job })
      this.#keep(queue.ages, job, queue.ids.ready.size)
    }
    if (job.state === 'delayed') this.#keep(queue.delayed, job, queue.ids.delayed.size)
    this.#onChange?.(before ?? null, job)
  }

  nextArrival(): number {
    this.#arrived += 1
    return this.#arrived
  }

  remove(job: Job): void {
    const queue = this.#queue(job.space, job.queue)
    queue.ids[job.state].delete(job.id)
    queue.due.delete(job)
    this.#jobs.delete(keyOf(job))
    this.#arrivals.delete(keyOf(job))
    this.#onChange?.(job, null)
  }

  /** The first delayed job of a queue, without removing it. */
  nextDelayed(space: string, name: string): Job | undefined {
    const queue = this.#spaces.get(space)?.get(name)
    if (!queue) return undefined
    const overdue = this.#first(queue.overdue, same)
    const delayed = this.#first(queue.delayed, same)
    return overdue && (!delayed || byDue(overdue, delayed) < 0) ? overdue : delayed
  }

  /** The first ready job of a lane, without removing it. */
  nextReady(space: string, name: string, lane: string): Job | undefined {
    const heap = this.#spaces.get(space)?.get(name)?.ready.get(lane)
    return heap && this.#first(heap, ({ job }) => job)
  }

  /** When the longest waiting job became due; null if none waits. */
  oldestDueAt(space: string, name: string, now: number): number | null {
    const queue = this.#spaces.get(space)?.get(name)
    if (!queue) return null
    const ready = this.#first(queue.ages, same)?.dueAt ?? Infinity
    const delayed = this.nextDelayed(space, name)?.dueAt ?? Infinity
    const oldest = Math.min(ready, delayed <= now ? delayed : Infinity)
    return oldest === Infinity ? null : oldest
  }

  /** The number of delayed jobs that are due. Each job is counted once when it becomes due. */
  overdue(space: string, name: string, now: number): number {
    const queue = this.#spaces.get(space)?.get(name)
    if (!queue) return 0
    for (let job = this.#first(queue.delayed, same); job && job.dueAt <= now; ) {
      queue.delayed.pop()
      queue.overdue.push(job)
      queue.due.add(job)
      job = this.#first(queue.delayed, same)
    }
    if (queue.overdue.size > FEW_ENTRIES + 2 * queue.due.size)
      queue.overdue.retain((job) => queue.due.has(job))
    const hasClockGoneBack = now < queue.lookedAt
    if (hasClockGoneBack) return [...queue.due].filter(({ dueAt }) => dueAt <= now).length
    queue.lookedAt = now
    return queue.due.size
  }

  /** Adds to a heap of `size` jobs, and compacts it when most of its entries are outdated. */
  #keep(heap: Heap<Job>, job: Job, size: number): void {
    heap.push(job)
    if (heap.size > FEW_ENTRIES + 2 * size) heap.retain((one) => this.#jobs.get(keyOf(one)) === one)
  }

  #first<T>(heap: Heap<T>, jobOf: (item: T) => Job): Job | undefined {
    for (let item = heap.peek(); item !== undefined; item = heap.peek()) {
      const job = jobOf(item)
      if (this.#jobs.get(keyOf(job)) === job) return job
      heap.pop()
    }
    return undefined
  }

  /** The place of a ready job in its lane, lowest first: by arrival if strict, otherwise by rank. */
  placeOf(job: Job): number {
    return job.strict ? (this.#arrivals.get(keyOf(job)) as number) : rankOf(job.dueAt, job.priority)
  }

  inState(space: string, name: string, state: JobState): Job[] {
    const ids = this.#spaces.get(space)?.get(name)?.ids[state] ?? []
    return Array.from(ids, (id) => this.get(space, id) as Job)
  }

  queues(space: string): string[] {
    return [...(this.#spaces.get(space)?.keys() ?? [])].sort()
  }

  /** All spaces that have ever had a queue. */
  spaces(): string[] {
    return [...this.#spaces.keys()].sort()
  }

  count(space: string, name: string, state: JobState): number {
    return this.#spaces.get(space)?.get(name)?.ids[state].size ?? 0
  }

  #queue(space: string, name: string): Queue {
    const queues = this.#spaces.get(space) ?? new Map<string, Queue>()
    this.#spaces.set(space, queues)
    const queue = queues.get(name) ?? new Queue()
    queues.set(name, queue)
    return queue
  }
}

function same(job: Job): Job {
  return job
}

/** The key of a job or a run across spaces. */
export function keyOf({ space, id }: { readonly space: string; readonly id: string }): string {
  return `${space}\n${id}`
}

function heapOf({ ready }: Queue, lane: string): Heap<Ready> {
  const known = ready.get(lane)
  if (known) return known
  const heap = new Heap<Ready>((a, b) => a.place - b.place || (a.job.id < b.job.id ? -1 : 1))
  ready.set(lane, heap)
  return heap
}
