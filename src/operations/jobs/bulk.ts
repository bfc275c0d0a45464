import { notFound, seesAll } from '../authorize/authorize-output.ts'
import { scopedQuery } from '../authorize/scoped-query.ts'
import { type Context, operation } from '../operation.ts'
import {
  at,
  bulkAction,
  durationOf,
  id,
  matchingQuery,
  nothing,
  priority,
  priorityMode,
  queueName,
  reason,
} from '../schema/inputs.ts'
import { type BulkView, bulk } from '../schema/outputs.ts'
import { all, object, optional, text, whole } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'
import { whenOf } from './change.ts'

export const bulkStart = operation({
  name: 'bulk.start',
  method: 'POST',
  path: '/bulk',
  summary: 'Starts a bulk action on all jobs that match a query. Count them first with jobs.count.',
  scope: 'operate',
  input: object({
    action: bulkAction,
    query: matchingQuery,
    name: optional(text({ max: 200, about: 'Its name in the list.' })),
    reason: optional(reason),
    priority: optional(priority),
    priorityMode: optional(priorityMode),
    at: optional(at),
    queue: optional(queueName),
    delay: optional(
      text({
        max: 32,
        about: 'Changes nothing before this delay, such as 5s: stopping it until then undoes it.',
      }),
    ),
    expected: optional(
      whole({ about: 'The number of jobs, if they were counted before: for the progress.' }),
    ),
    perSecond: optional(
      whole({ min: 1, max: 1_000_000, about: 'Change at most this number of jobs per second.' }),
    ),
  }),
  output: bulk,
  target({ action: what, query, queue, at: when }) {
    const to = queue === undefined ? (when === undefined ? '' : ` to ${when}`) : ` to ${queue}`
    return `${what}: ${query === '' ? 'all jobs' : query}${to}`
  },
  // Jobs are moved into that queue, so the caller must have access to it.
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  async run({ at: when, delay, ...input }, { skep, caller }) {
    const query = scopedQuery(caller, input.query)
    const started = await skep.bulk.start({
      ...input,
      query,
      by: caller.name,
      ...(input.action === 'reschedule' ? { when: whenOf(when) } : {}),
      ...(delay === undefined ? {} : { delay: durationOf('delay', delay) }),
    })
    return toWire(started)
  },
})

export const bulkList = operation({
  name: 'bulk.list',
  method: 'GET',
  path: '/bulk',
  summary: 'Lists bulk actions that are running or ended within a week, newest first.',
  scope: 'read',
  input: nothing,
  output: object({ bulks: all(bulk) }),
  async run(_input, context) {
    const bulks = await context.skep.bulk.list()
    return { bulks: toWire(bulks).filter((one) => isMine(context, one)) }
  },
})

export const bulkGet = operation({
  name: 'bulk.get',
  method: 'GET',
  path: '/bulk/:id',
  summary: 'Returns the progress of a bulk action.',
  scope: 'read',
  input: object({ id: id('a bulk action') }),
  output: bulk,
  run: async (input, context) => mine(context, input.id),
})

export const bulkStop = operation({
  name: 'bulk.stop',
  method: 'POST',
  path: '/bulk/:id/stop',
  summary: 'Stops a bulk action. Changes already made are kept.',
  scope: 'operate',
  input: object({ id: id('a bulk action') }),
  output: bulk,
  target: (input) => `bulk action ${input.id}`,
  async run(input, context) {
    await mine(context, input.id)
    const stopped = await context.skep.bulk.stop(input.id)
    if (stopped === null) throw notFound(`bulk action "${input.id}"`)
    return toWire(stopped)
  },
})

/** A query may name queues that a caller does not see, so such a caller sees its own actions only. */
function isMine({ caller }: Context, { by }: BulkView): boolean {
  return seesAll(caller) || by === caller.name
}

async function mine(context: Context, one: string): Promise<BulkView> {
  const found = await context.skep.bulk.get(one)
  if (found === null || !isMine(context, toWire(found))) throw notFound(`bulk action "${one}"`)
  return toWire(found)
}
