import { type Job, rankOf } from '../jobs/job.ts'

/** Jobs of a queue whose place has changed: the earliest due time and the lowest rank. */
export interface Waiting {
  readonly queue: string
  readonly dueAt: number
  readonly rank: number
}

/** One entry per queue of these jobs, by name. */
export function waitingOf(jobs: readonly Pick<Job, 'queue' | 'dueAt' | 'priority'>[]): Waiting[] {
  const queues = new Map<string, Waiting>()
  for (const { queue, dueAt, priority } of jobs) {
    const known = queues.get(queue)
    const rank = rankOf(dueAt, priority)
    queues.set(queue, {
      queue,
      dueAt: Math.min(dueAt, known?.dueAt ?? dueAt),
      rank: Math.min(rank, known?.rank ?? rank),
    })
  }
  return [...queues.values()].sort((a, b) => (a.queue < b.queue ? -1 : 1))
}
