import type { Emitter } from '../core/emitter.ts'
import type { Failure } from '../core/job.ts'
import type { Store } from '../store.ts'
import { eventJob, type WorkerEvents } from '../worker/events.ts'

/**
 * Tells the listeners of this process of jobs that it has buried. They are read for that, and only if somebody listens; should the
 * store fail now, the jobs are dead all the same and nobody here hears of them.
 */
export function buriedListener(
  { store, space }: { readonly store: Pick<Store, 'get'>; readonly space: string },
  events: Emitter<WorkerEvents>,
): (ids: readonly string[]) => Promise<void> {
  return async (ids) => {
    if (!events.has('dead')) return
    const { jobs } = await store.get({ space, ids }).catch(() => ({ jobs: [] }))
    for (const job of jobs) {
      if (job?.state !== 'dead' || job.failure === null) continue
      const failure = JSON.parse(job.failure) as Failure
      events.emit('dead', {
        job: eventJob({ ...job, token: '' }),
        failure,
        state: 'dead',
        durationMs: 0,
      })
    }
  }
}
