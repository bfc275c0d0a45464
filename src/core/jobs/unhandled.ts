/**
 * Unhandled work: ready jobs of a queue that no live worker handles (a connected receiver counts as one). A
 * condition, not a state: derived from the list of workers on demand and never written. The jobs keep their
 * order, obey holds and limits, can be cancelled, never expire, and start as soon as a worker appears.
 */

/** A worker known only by its heartbeats counts as live for this long after the last one. */
export const UNSEEN_MS = 30_000

/** What the list of workers records about one. */
export interface Attendance {
  readonly queues: readonly string[]
  readonly life: 'here' | 'gone' | 'unsure'
  readonly seenAt: number
}

/** Whether a worker is live, as far as the store and its heartbeats show. */
export function isLiveWorker({ life, seenAt }: Pick<Attendance, 'life' | 'seenAt'>, now: number): boolean {
  return life === 'here' || (life === 'unsure' && seenAt > now - UNSEEN_MS)
}

export function handledQueues(workers: readonly Attendance[], now: number): ReadonlySet<string> {
  return new Set(workers.filter((worker) => isLiveWorker(worker, now)).flatMap(({ queues }) => queues))
}

/** The number of unhandled jobs of a queue: all that are ready, or none. */
export function unhandledOf(
  { queue, ready }: { readonly queue: string; readonly ready: number },
  handled: ReadonlySet<string>,
): number {
  return handled.has(queue) ? 0 : ready
}
