import { JOB_STATES, type JobState } from '../../index.ts'
import type { InputOf, Overview } from '../api.ts'
import { range } from '../inputs.ts'
import { all, moment, nullable, number, object, optional } from '../schema.ts'
import { attention, count, counts, said, series } from '../shapes.ts'
import { type Context, operation, type ServerOperation } from './define.ts'
import { seriesOf } from './series.ts'
import { isLive, summariesOf } from './summaries.ts'

export const overviewGet: ServerOperation<'overview.get'> = operation({
  name: 'overview.get',
  method: 'GET',
  path: '/overview',
  summary: 'How everything is at one look: what needs attention, in words, and the totals.',
  scope: 'read',
  input: object({ range: optional(range) }),
  output: object({
    attention: all(attention),
    totals: counts,
    oldest: nullable(object({ queue: said, ms: number() })),
    queues: count,
    workers: object({ live: count, running: count, slots: count }),
    receivers: count,
    series,
    deploys: all(object({ at: moment(), version: said })),
    now: moment(),
  }),
  run: (input, context) => overviewOf(context, input),
})

async function overviewOf(context: Context, input: InputOf<'overview.get'>): Promise<Overview> {
  const { skep, services } = context
  const now = services.runtime.now()
  const [queues, workers, receivers, over] = await Promise.all([
    summariesOf(context),
    skep.workers(),
    services.receivers.list(skep.space),
    seriesOf(context, input),
  ])
  const totals = Object.fromEntries(
    JOB_STATES.map((state) => [state, queues.reduce((sum, queue) => sum + queue.counts[state], 0)]),
  ) as Record<JobState, number>
  let oldest: Overview['oldest'] = null
  for (const { queue, oldestMs } of queues) {
    if (oldestMs !== null && (oldest === null || oldestMs > oldest.ms)) oldest = { queue, ms: oldestMs }
  }
  const live = workers.filter((worker) => isLive(worker, now))
  return {
    attention: [],
    totals,
    oldest,
    queues: queues.length,
    workers: {
      live: live.length,
      running: live.reduce((sum, { running }) => sum + running, 0),
      slots: live.reduce((sum, { concurrency }) => sum + concurrency, 0),
    },
    receivers: receivers.length,
    series: over,
    deploys: [],
    now: new Date(now).toISOString(),
  }
}
