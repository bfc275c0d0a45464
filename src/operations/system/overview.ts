import { isLiveWorker, JOB_STATES, type JobState, type WorkerView } from '../../index.ts'
import { sees } from '../authorize/authorize-output.ts'
import { type Context, operation } from '../operation.ts'
import { summariesOf } from '../queues/queues.ts'
import { receiversOf } from '../receivers.ts'
import { type Range, range } from '../schema/inputs.ts'
import {
  type Attention,
  attention,
  count,
  counts,
  deploys,
  type QueueSummary,
  said,
  series,
} from '../schema/outputs.ts'
import { all, moment, nullable, number, object, optional, type TypeOf, whole } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'
import { attentionOf, isBehind, type Snapshot } from './attention.ts'
import { seriesOf } from './series.ts'

type Overview = TypeOf<typeof overview>
const overview = object({
  attention: all(attention),
  totals: counts,
  oldest: nullable(
    object({ queue: said, ms: number('How long the oldest waiting job of all queues has been due.') }),
  ),
  unhandled: whole({ about: 'Ready jobs of queues that no live worker handles.' }),
  queues: count,
  workers: object({ live: count, running: count, slots: count }),
  receivers: count,
  series,
  deploys,
  now: moment(),
})

export const overviewGet = operation({
  name: 'overview.get',
  method: 'GET',
  path: '/overview',
  summary: 'Returns an overview: open issues and totals.',
  scope: 'read',
  input: object({ range: optional(range) }),
  output: overview,
  run: (input, context) => overviewOf(context, input),
})

/** The maximum number of schedules that are examined. */
const SCHEDULES = 200
/** The cap of a count of dead jobs. */
const MOST_DEAD = 1_000
/** The maximum number of queues that are examined further. */
const MOST_QUEUES = 20
const RECENT_MINUTES = 10
/** The maximum number of queues that are explained, and of lanes that are examined for it. */
const MOST_EXPLAINED = 10
const LANES_LOOKED = 20

async function overviewOf(context: Context, input: { readonly range?: Range }): Promise<Overview> {
  const { skep } = context
  const [{ snapshot, live }, over, deployed] = await Promise.all([
    lookAt(context),
    seriesOf(context, input),
    skep.metrics.deploys({ range: input.range ?? '1h' }),
  ])
  const { now, queues, receivers } = snapshot
  return {
    attention: attentionOf(snapshot),
    totals: totalsOf(queues),
    oldest: oldestOf(queues),
    unhandled: queues.reduce((sum, queue) => sum + queue.unhandled, 0),
    queues: queues.length,
    workers: {
      live: live.length,
      running: live.reduce((sum, { running }) => sum + running, 0),
      slots: live.reduce((sum, { concurrency }) => sum + concurrency, 0),
    },
    receivers: receivers.length,
    series: over,
    deploys: toWire(deployed),
    now: new Date(now).toISOString(),
  }
}

/** The open issues that the caller sees. */
export async function attentionIn(context: Context): Promise<readonly Attention[]> {
  const { snapshot } = await lookAt(context)
  return attentionOf(snapshot)
}

async function lookAt(
  context: Context,
): Promise<{ readonly snapshot: Snapshot; readonly live: readonly WorkerView[] }> {
  const { skep, services, caller } = context
  const now = services.runtime.now()
  const [queues, workers, receivers, schedules] = await Promise.all([
    summariesOf(context),
    skep.workers.list(),
    receiversOf(context),
    skep.schedules.list({ limit: SCHEDULES }),
  ])
  const [ends, died, explained] = await Promise.all([
    endsOf(context),
    diedOf(context, queues),
    explainedOf(context, queues),
  ])
  const mine = workers.filter(({ queues: served }) => served.some((queue) => sees(caller, queue)))
  const snapshot: Snapshot = {
    now,
    queues,
    ends,
    before: services.lookback.waited(skep, queues),
    died,
    explained,
    workers: mine.map((worker) => ({
      ...worker,
      isLive: isLiveWorker(worker, now),
      isGone: worker.life === 'gone',
    })),
    schedules: schedules.schedules
      .filter(({ queue }) => sees(caller, queue))
      .map(({ id, nextAt, paused }) => ({
        id,
        nextAt: nextAt?.getTime() ?? null,
        isPaused: paused !== null,
      })),
    receivers: receivers.map(({ oldestAt, ...receiver }) => ({
      ...receiver,
      oldestAt: oldestAt === null ? null : Date.parse(oldestAt),
    })),
    notifier: skep.notifier.health(),
  }
  return { snapshot, live: mine.filter((worker) => isLiveWorker(worker, now)) }
}

function totalsOf(queues: readonly QueueSummary[]): Record<JobState, number> {
  const sumOf = (state: JobState): number => queues.reduce((sum, queue) => sum + queue.counts[state], 0)
  return Object.fromEntries(JOB_STATES.map((state) => [state, sumOf(state)])) as Record<JobState, number>
}

function oldestOf(queues: readonly QueueSummary[]): Overview['oldest'] {
  let oldest: Overview['oldest'] = null
  for (const { queue, oldestMs } of queues) {
    if (oldestMs !== null && (oldest === null || oldestMs > oldest.ms)) oldest = { queue, ms: oldestMs }
  }
  return oldest
}

/** How jobs ended within the last ten minutes. Listing queues has cached it, so it costs nothing. */
async function endsOf({ skep, caller }: Context): Promise<Snapshot['ends']> {
  const rates = (await skep.metrics.rates()).filter(({ queue }) => sees(caller, queue))
  const sumOf = (values: readonly number[]): number =>
    values.slice(-RECENT_MINUTES).reduce((sum, one) => sum + one, 0)
  return rates.map(({ queue, spark, failures }) => {
    const failed = sumOf(failures)
    return { queue, done: sumOf(spark) - failed, failed }
  })
}

/** Why jobs wait in the queues that are behind, or of which a lane is held. */
async function explainedOf(
  { skep }: Context,
  queues: readonly QueueSummary[],
): Promise<Snapshot['explained']> {
  const standing = await skep.queues.holds()
  const withLanes = new Set(
    standing.flatMap(({ queue, lane }) => (lane === null || queue === null ? [] : [queue])),
  )
  const some = queues
    .filter((one) => one.hold === null && one.counts.ready > 0 && (withLanes.has(one.queue) || isBehind(one)))
    .sort((a, b) => b.counts.ready - a.counts.ready)
    .slice(0, MOST_EXPLAINED)
  const explanations = await Promise.all(
    some.map(
      async ({ queue }) => [queue, await skep.queues.explain(queue, { lanes: LANES_LOOKED })] as const,
    ),
  )
  return new Map(explanations)
}

/** How many jobs of each queue died within the hour: of those with the most dead ones. */
async function diedOf({ skep }: Context, queues: readonly QueueSummary[]): Promise<Snapshot['died']> {
  const some = queues
    .filter(({ counts: states }) => states.dead > 0)
    .sort((a, b) => b.counts.dead - a.counts.dead)
    .slice(0, MOST_QUEUES)
  const counted = await Promise.all(
    some.map(async ({ queue }) => {
      const query = `state:dead since:1h queue:"${queue}"`
      return [queue, await skep.jobs.count(query, { cap: MOST_DEAD })] as const
    }),
  )
  return new Map(counted)
}
