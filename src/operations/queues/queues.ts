import {
  isLiveWorker,
  JOB_STATES,
  type JobState,
  type LimitView,
  type QueueCard,
  type QueueLimitOptions,
  type QueueView,
} from '../../index.ts'
import { notFound, sees, seesAll } from '../authorize/authorize-output.ts'
import { type Context, operation } from '../operation.ts'
import { filterOf, filters, filterWords, laneName, paged, queueName, range } from '../schema/inputs.ts'
import {
  type QueueCard as Card,
  count,
  lane,
  limit,
  nextPage,
  type QueueDetail,
  type QueueSummary,
  queueDetail,
  queueSummary,
} from '../schema/outputs.ts'
import { all, flag, invalid, json, list, object, optional, record, text } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'
import { seriesOf } from '../system/series.ts'

export const queuesList = operation({
  name: 'queues.list',
  method: 'GET',
  path: '/queues',
  summary: 'Lists queues with their jobs by state, their holds, their workers and their rates.',
  scope: 'read',
  input: object({
    queues: optional(list(queueName, { about: 'Only these queues, also those without jobs.' })),
  }),
  output: object({ queues: all(queueSummary) }),
  queuesOf: ({ queues = [] }) => queues,
  async run(input, context) {
    return { queues: await summariesOf(context, input.queues) }
  },
})

export const queuesGet = operation({
  name: 'queues.get',
  method: 'GET',
  path: '/queues/:queue',
  summary: 'Returns a queue with its limits, its rates over time and its declaration.',
  scope: 'read',
  input: object({ queue: queueName, range: optional(range) }),
  output: queueDetail,
  queuesOf: ({ queue }) => [queue],
  async run(input, context): Promise<QueueDetail> {
    const { skep, services } = context
    const [[summary], limits, series, declaration, explanation, holds, deploys] = await Promise.all([
      summariesOf(context, [input.queue]),
      skep.limits.list(input.queue),
      seriesOf(context, input),
      services.cards.of(skep, input.queue),
      skep.queues.explain(input.queue),
      skep.queues.holds(),
      skep.metrics.deploys({ range: input.range ?? '1h' }),
    ])
    if (summary === undefined) throw notFound(`queue "${input.queue}"`)
    return {
      ...summary,
      // Also the holds on its lanes.
      holds: [
        ...summary.holds,
        ...toWire(holds.filter(({ queue, lane }) => lane !== null && queue === input.queue)),
      ],
      limits: toWire(limits),
      series,
      deploys: toWire(deploys),
      card: declaration && cardOf(declaration),
      explanation: toWire(explanation),
    }
  },
})

export const queuesLanes = operation({
  name: 'queues.lanes',
  method: 'GET',
  path: '/queues/:queue/lanes',
  summary: 'Lists the lanes of a queue that have jobs, optionally by prefix.',
  scope: 'read',
  input: object({
    queue: queueName,
    prefix: optional(text({ max: 512, about: 'Only lanes whose keys begin with this string.' })),
    ...paged,
  }),
  output: object({ lanes: all(lane), cursor: nextPage }),
  queuesOf: ({ queue }) => [queue],
  run: async ({ queue, ...page }, { skep }) => toWire(await skep.queues.lanes(queue, page)),
})

function cardOf({ queue, schema, policy, timeoutMs, priority, hasLanes, tellsUnique }: QueueCard): Card {
  return { queue, schema, policy, timeoutMs, priority, hasLanes, tellsUnique }
}

export const limitsList = operation({
  name: 'limits.list',
  method: 'GET',
  path: '/limits',
  summary:
    'Lists the limits declared in code and changed at run time, of all queues or of one with its lanes.',
  scope: 'read',
  input: object({ queue: optional(queueName) }),
  output: object({ limits: all(limit) }),
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  async run(input, { skep, caller }) {
    const limits = await skep.limits.list(input.queue)
    // A shared limit belongs to no queue, so only callers that see all queues see it.
    const mine = limits.filter(({ target }) =>
      'queue' in target ? sees(caller, target.queue) : seesAll(caller),
    )
    return { limits: toWire(mine) }
  },
})

const limitInput = { queue: queueName, lane: optional(laneName) } as const

export const queuesLimit = operation({
  name: 'queues.limit',
  method: 'PUT',
  path: '/queues/:queue/limits',
  summary: 'Changes limits of a queue or a lane at run time, over those declared in code.',
  scope: 'operate',
  input: object({
    ...limitInput,
    limits: json(
      'concurrency, rate { limit, per, burst }, lanes, shared; of a lane: concurrency, rate, weight.',
    ),
  }),
  output: limit,
  queuesOf: ({ queue }) => [queue],
  target: ({ queue, lane: one }) => wordsOf(queue, one),
  async run(input, { skep }) {
    if (typeof input.limits !== 'object' || input.limits === null) throw invalid('limits', 'an object')
    // Skep validates every field.
    const limits = input.limits as QueueLimitOptions
    return toWire(await skep.limits.set(limitTarget(input) as { queue: string }, limits)) as LimitWire
  },
})

export const queuesUnlimit = operation({
  name: 'queues.unlimit',
  method: 'DELETE',
  path: '/queues/:queue/limits',
  summary: 'Discards limits changed at run time and uses those declared in code.',
  scope: 'operate',
  input: object(limitInput),
  output: limit,
  queuesOf: ({ queue }) => [queue],
  target: ({ queue, lane: one }) => wordsOf(queue, one),
  run: async (input, { skep }) => toWire(await skep.limits.reset(limitTarget(input))),
})

type LimitWire = ReturnType<typeof toWire<LimitView>>

function limitTarget({ queue, lane: one }: { readonly queue: string; readonly lane?: string }): {
  readonly queue: string
  readonly lane?: string
} {
  return one === undefined ? { queue } : { queue, lane: one }
}

function wordsOf(queue: string, one: string | undefined): string {
  return one === undefined ? `queue ${queue}` : `lane "${one}" of queue ${queue}`
}

export const queuesPurge = operation({
  name: 'queues.purge',
  method: 'POST',
  path: '/queues/:queue/purge',
  summary:
    'Removes jobs of a queue that are not running, all or those that match; with dryRun it only counts them.',
  scope: 'operate',
  input: object({
    queue: queueName,
    ...filters,
    dryRun: optional(flag('Only count.')),
    confirm: optional(text({ max: 128, about: 'The name of the queue again, as a confirmation.' })),
  }),
  output: object({ removed: count, running: count, counts: record(count) }),
  queuesOf: ({ queue }) => [queue],
  target: ({ queue, dryRun, ...rest }) =>
    `${dryRun ? 'a dry run on ' : ''}queue ${queue}${filterWords(rest)}`,
  async run({ queue, dryRun = false, confirm, ...rest }, { skep, caller }) {
    if (!sees(caller, queue)) throw notFound(`queue "${queue}"`)
    if (!dryRun && confirm !== queue) {
      throw invalid('confirm', `the name of the queue, "${queue}", because a purge cannot be undone`)
    }
    const summary = await skep.queues.purge(queue, { ...filterOf(rest), dryRun })
    return { removed: dryRun ? 0 : summary.jobs, running: summary.running, counts: summary.states }
  },
})

export const queuesDrop = operation({
  name: 'queues.drop',
  method: 'POST',
  path: '/queues/:queue/drop',
  summary:
    'Removes an unused queue with its finished jobs, limits, holds and declaration; with force also its waiting jobs.',
  scope: 'admin',
  input: object({
    queue: queueName,
    force: optional(flag('Also remove waiting jobs.')),
    dryRun: optional(flag('Only count.')),
    confirm: optional(text({ max: 128, about: 'The name of the queue again, as a confirmation.' })),
  }),
  output: object({
    queue: queueName,
    dryRun: flag('Nothing was changed.'),
    known: flag('Whether anything was stored under this name.'),
    jobs: count,
    states: record(count),
    limits: count,
    holds: count,
  }),
  queuesOf: ({ queue }) => [queue],
  target: ({ queue, force, dryRun }) =>
    `${dryRun ? 'dry run: ' : ''}queue ${queue}${force ? ' with its waiting jobs' : ''}`,
  async run({ queue, force = false, dryRun = false, confirm }, { skep, caller }) {
    if (!sees(caller, queue)) throw notFound(`queue "${queue}"`)
    if (!dryRun && confirm !== queue) {
      throw invalid('confirm', `the name of the queue, "${queue}", because a drop cannot be undone`)
    }
    return skep.queues.drop(queue, { force, dryRun })
  },
})

/** The queues that the caller sees, or those of them that are named. */
export async function summariesOf(
  context: Context,
  named?: readonly string[],
): Promise<readonly QueueSummary[]> {
  const { skep, caller, services } = context
  const [queues, workers, limits, rates] = await Promise.all([
    skep.queues.list(named),
    skep.workers.list(),
    skep.limits.list(named?.length === 1 ? named[0] : undefined),
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
