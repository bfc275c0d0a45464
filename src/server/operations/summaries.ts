import { isLiveWorker, JOB_STATES, type JobState, type QueueView } from '../../index.ts'
import type { QueueSummary } from '../api.ts'
import { sees } from '../visible.ts'
import { toWire } from '../wire.ts'
import type { Context } from './define.ts'

/** The queues that the caller sees, or the one that is named, as they are listed. */
export async function summariesOf(context: Context, queue?: string): Promise<readonly QueueSummary[]> {
  const { skep, caller, services } = context
  const [queues, workers, limits, rates] = await Promise.all([
    skep.counts(queue === undefined ? undefined : [queue]),
    skep.workers(),
    skep.limits.list(queue),
    skep.metrics.rates(),
  ])
  const pace = new Map(rates.map((rate) => [rate.queue, rate]))
  const limited = new Set(limits.flatMap(({ target }) => ('queue' in target ? [target.queue] : [])))
  const live = workers.filter((worker) => isLiveWorker(worker, services.runtime.now()))
  return queues
    .filter((one) => sees(caller, one.queue))
    .map((one) => {
      const serving = live.filter((worker) => worker.queues.includes(one.queue))
      return {
        queue: one.queue,
        counts: countsOf(one),
        oldestMs: one.oldestMs,
        unhandled: one.unhandled,
        hold: one.hold,
        holds: toWire(one.holds),
        enqueuedRate: pace.get(one.queue)?.enqueued ?? 0,
        doneRate: pace.get(one.queue)?.done ?? 0,
        failedRate: pace.get(one.queue)?.failed ?? 0,
        workers: serving.length,
        slots: serving.reduce((sum, { concurrency }) => sum + concurrency, 0),
        limited: limited.has(one.queue),
        spark: pace.get(one.queue)?.spark ?? [],
      }
    })
}

export function countsOf(queue: QueueView): Record<JobState, number> {
  return Object.fromEntries(JOB_STATES.map((state) => [state, queue[state]])) as Record<JobState, number>
}
