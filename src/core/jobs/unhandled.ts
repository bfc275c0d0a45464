/**
 * Unhandled work: ready jobs of a queue that no live worker handles (a connected receiver counts as one). It is a
 * condition and not a state. It is derived from the list of workers whenever somebody looks, and nothing is written: the
 * jobs keep their order, obey holds and limits, can be cancelled, never expire, and start as soon as a worker appears.
 */

/** A worker that only its heartbeats prove alive counts as live for this long after the last one. */
export const UNSEEN_MS = 30_000

/** What the list of workers says about one. */
export interface Attendance {
  readonly queues: readonly string[]
  readonly life: 'here' | 'gone' | 'unsure'
  readonly seenAt: number
}

/** Whether a worker is live, as far as the store and its heartbeats show. */
export function isLiveWorker({ life, seenAt }: Pick<Attendance, 'life' | 'seenAt'>, now: number): boolean {
  return life === 'here' || (life === 'unsure' && seenAt > now - UNSEEN_MS)
}

/** The queues that a live worker handles. */
export function handledQueues(workers: readonly Attendance[], now: number): ReadonlySet<string> {
  return new Set(workers.filter((worker) => isLiveWorker(worker, now)).flatMap(({ queues }) => queues))
}

/** How many jobs of a queue are unhandled: all that are ready, or none. */
export function unhandledOf(
  { queue, ready }: { readonly queue: string; readonly ready: number },
  handled: ReadonlySet<string>,
): number {
  return handled.has(queue) ? 0 : ready
}
