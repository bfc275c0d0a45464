import { flowOfQueue, type Skep, SkepError, showValue } from '../../index.ts'
import type { Context } from '../operation.ts'
import type { Coming } from '../services.ts'

/**
 * Refuses a queue that moves the runs of a flow on. A job there could start runs, which no quota counts, or move one on before its time:
 * flows are for code.
 */
export function assertNoFlow(queue: string): void {
  if (flowOfQueue(queue) === null) return
  const message = `Queue ${showValue(queue)} moves the runs of a flow on. Start the flow in code, or enqueue a job that does.`
  throw new SkepError('NAME_INVALID', message, { facts: { queue } })
}

/** Enqueues jobs, unless the space may not have them. */
export async function withinQuota<T>(
  { skep, services }: Context,
  coming: readonly Coming[],
  enqueue: () => Promise<T>,
): Promise<T> {
  await services.quotas.assertEnqueue(skep.space, coming, skep)
  return enqueue()
}

/** Refuses one schedule too many. One that is there already may be changed. */
export function assertScheduleQuota({ skep, services }: Context): Promise<void> {
  return services.quotas.assertSchedule(skep.space, async (most) => {
    let found = 0
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Skep['schedules']['list']>> = await skep.schedules.list({
        limit: 200,
        ...(cursor === null ? {} : { cursor }),
      })
      found += page.schedules.length
      cursor = page.cursor
    } while (cursor !== null && found < most)
    return found
  })
}
