import { JOB_STATES, type Job, type JobState } from '../../core/job.ts'
import { byRank } from '../../core/transitions.ts'
import { Heap } from '../shared/heap.ts'

/** The jobs of one queue, by state, with what is next in front. */
class Queue {
  readonly ids: Record<JobState, Set<string>> = Object.fromEntries(
    JOB_STATES.map((state) => [state, new Set<string>()]),
  ) as unknown as Record<JobState, Set<string>>
  readonly ready = new Heap<Job>(byRank)
  readonly delayed = new Heap<Job>((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
}

/**
 * All jobs, found by id, by queue and state, and by what is next. Job records are never changed in place, so
 * an entry of a heap is current exactly if the table still holds that very object.
 */
export class Table {
  readonly #jobs = new Map<string, Job>()
  readonly #spaces = new Map<string, Map<string, Queue>>()
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
    if (job.state === 'ready') queue.ready.push(job)
    if (job.state === 'delayed') queue.delayed.push(job)
    this.#onChange?.(before ?? null, job)
  }

  remove(job: Job): void {
    this.#queue(job.space, job.queue).ids[job.state].delete(job.id)
    this.#jobs.delete(job.id)
    this.#onChange?.(job, null)
  }

  /** The first ready or delayed job of a queue, left in place. */
  next(space: string, name: string, state: 'ready' | 'delayed'): Job | undefined {
    const heap = this.#spaces.get(space)?.get(name)?.[state]
    for (let job = heap?.peek(); heap && job; job = heap.peek()) {
      if (this.#jobs.get(job.id) === job) return job
      heap.pop()
    }
    return undefined
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
