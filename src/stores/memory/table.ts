import { JOB_STATES, type Job, type JobState, rankOf } from '../../core/job.ts'
import { DEFAULT_LANE } from '../../core/lanes.ts'
import { Heap } from '../shared/heap.ts'

/** A ready job with its place, which it keeps in the heap although it may be gone by now. */
interface Ready {
  readonly place: number
  readonly job: Job
}

/** The jobs of one queue, by state, with what is next in front. */
class Queue {
  readonly ids: Record<JobState, Set<string>> = Object.fromEntries(
    JOB_STATES.map((state) => [state, new Set<string>()]),
  ) as unknown as Record<JobState, Set<string>>
  /** By lane. */
  readonly ready = new Map<string, Heap<Ready>>()
  readonly delayed = new Heap<Job>((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
}

/**
 * All jobs, found by id, by queue and state, and by what is next. Job records are never changed in place, so
 * an entry of a heap is current exactly if the table still holds that very object.
 */
export class Table {
  readonly #jobs = new Map<string, Job>()
  readonly #spaces = new Map<string, Map<string, Queue>>()
  /** When each job of a strict lane arrived, as a number that only grows. */
  readonly #arrivals = new Map<string, number>()
  #arrived = 0
  readonly #onChange: ((before: Job | null, after: Job | null) => void) | undefined

  constructor(onChange?: (before: Job | null, after: Job | null) => void) {
    this.#onChange = onChange
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id)
  }

  all(): Iterable<Job> {
    return this.#jobs.values()
  }

  put(job: Job): void {
    const before = this.#jobs.get(job.id)
    const queue = this.#queue(job.space, job.queue)
    if (before) queue.ids[before.state].delete(job.id)
    queue.ids[job.state].add(job.id)
    this.#jobs.set(job.id, job)
    if (job.strict && before?.generation !== job.generation) this.#arrivals.set(job.id, ++this.#arrived)
    if (job.state === 'ready') heapOf(queue, job.lane ?? DEFAULT_LANE).push({ place: this.placeOf(job), job })
    if (job.state === 'delayed') queue.delayed.push(job)
    this.#onChange?.(before ?? null, job)
  }

  remove(job: Job): void {
    this.#queue(job.space, job.queue).ids[job.state].delete(job.id)
    this.#jobs.delete(job.id)
    this.#arrivals.delete(job.id)
    this.#onChange?.(job, null)
  }

  /** The first delayed job of a queue, left in place. */
  nextDelayed(space: string, name: string): Job | undefined {
    const heap = this.#spaces.get(space)?.get(name)?.delayed
    return heap && this.#first(heap, (job) => job)
  }

  /** The first ready job of a lane, left in place. */
  nextReady(space: string, name: string, lane: string): Job | undefined {
    const heap = this.#spaces.get(space)?.get(name)?.ready.get(lane)
    return heap && this.#first(heap, ({ job }) => job)
  }

  /** When the first of the jobs that are next in their lanes became due; null when none is ready. */
  oldestDueAt(space: string, name: string): number | null {
    const lanes = this.#spaces.get(space)?.get(name)?.ready.keys() ?? []
    const dues = Array.from(lanes, (lane) => this.nextReady(space, name, lane)?.dueAt ?? Infinity)
    const oldest = Math.min(...dues)
    return oldest === Infinity ? null : oldest
  }

  #first<T>(heap: Heap<T>, jobOf: (item: T) => Job): Job | undefined {
    for (let item = heap.peek(); item !== undefined; item = heap.peek()) {
      const job = jobOf(item)
      if (this.#jobs.get(job.id) === job) return job
      heap.pop()
    }
    return undefined
  }

  /** Where a ready job stands in its lane, lowest first: by arrival if the lane is strict, otherwise by rank. */
  placeOf(job: Job): number {
    return job.strict ? (this.#arrivals.get(job.id) as number) : rankOf(job.dueAt, job.priority)
  }

  inState(space: string, name: string, state: JobState): Job[] {
    const ids = this.#spaces.get(space)?.get(name)?.ids[state] ?? []
    return Array.from(ids, (id) => this.#jobs.get(id) as Job)
  }

  queues(space: string): string[] {
    return [...(this.#spaces.get(space)?.keys() ?? [])].sort()
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

function heapOf({ ready }: Queue, lane: string): Heap<Ready> {
  const known = ready.get(lane)
  if (known) return known
  const heap = new Heap<Ready>((a, b) => a.place - b.place || (a.job.id < b.job.id ? -1 : 1))
  ready.set(lane, heap)
  return heap
}
