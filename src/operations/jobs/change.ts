import type { ChangeSummary, Target } from '../../index.ts'
import { sees } from '../authorize/authorize-output.ts'
import { type Context, operation } from '../operation.ts'
import {
  action,
  at,
  filterOf,
  filters,
  filterWords,
  id,
  priority,
  priorityMode,
  queueName,
  reason,
} from '../schema/inputs.ts'
import { type ChangeOutput, changed } from '../schema/outputs.ts'
import { invalid, list, object, optional, type TypeOf, whole } from '../schema/schema.ts'

const change = object({
  action,
  ids: optional(list(id('a job'), { min: 1, max: 1_000, about: 'The jobs. Without ids, give queue.' })),
  queue: optional(queueName),
  ...filters,
  limit: optional(whole({ min: 1, about: 'With queue: change at most this number of jobs.' })),
  reason: optional(reason),
  priority: optional(priority),
  priorityMode: optional(priorityMode),
  at: optional(at),
})
type Change = TypeOf<typeof change>

export const jobsChange = operation({
  name: 'jobs.change',
  method: 'POST',
  path: '/jobs/change',
  summary:
    'Retries, cancels, buries, promotes, reschedules, removes or prioritizes jobs by id, or those of a queue that match.',
  scope: 'operate',
  input: change,
  output: changed,
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  target({ action: what, ids = [], queue, ...rest }) {
    if (queue !== undefined) return `${what}: queue ${queue}${filterWords(rest)}`
    const more = ids.length > 5 ? ` and ${ids.length - 5} more` : ''
    return `${what}: ${ids.slice(0, 5).join(', ')}${more}`
  },
  async run(input, context) {
    const { ids, queue, limit } = input
    if (queue !== undefined) {
      if (ids !== undefined) throw invalid('input.ids', 'left out where queue is given')
      const target = { queue, ...filterOf(input), ...(limit === undefined ? {} : { limit }) }
      return apply(context, input, target, queue)
    }
    if (ids === undefined) throw invalid('input.ids', 'given, or else queue')
    if (input.text !== undefined || input.after !== undefined || input.before !== undefined) {
      throw invalid('input.ids', 'left out where a filter other than states is given')
    }
    return changeIds(context, input, ids)
  },
})

/** Changes jobs by id. Jobs that the caller does not see, or that are in another state, are refused. */
async function changeIds(context: Context, input: Change, ids: readonly string[]): Promise<ChangeOutput> {
  const { skep, caller } = context
  const byQueue = new Map<string, string[]>()
  const refused: { id: string; reason: string }[] = []
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const part = ids.slice(from, from + AT_ONCE)
    const jobs = await Promise.all(part.map((one) => skep.jobs.get(one)))
    for (const [index, job] of jobs.entries()) {
      if (job === null || !sees(caller, job.queue)) {
        refused.push({ id: part[index] as string, reason: 'unknown' })
      } else if (input.states?.includes(job.state) === false) refused.push({ id: job.id, reason: 'state' })
      else {
        // Only the priority mode depends on the queue: other changes keep the order of the ids.
        const key = input.action === 'prioritize' ? job.queue : ''
        byQueue.set(key, [...(byQueue.get(key) ?? []), job.id])
      }
    }
  }
  let sum: ChangeOutput = { changed: 0, requested: 0, refused }
  for (const [queue, found] of byQueue) sum = added(sum, await apply(context, input, found, queue))
  return sum
}

const AT_ONCE = 50

async function apply(
  { skep, services }: Context,
  { action: what, reason: why, at: when, priority: number, priorityMode: mode }: Change,
  target: Target,
  queue: string,
): Promise<ChangeSummary> {
  const options = why === undefined ? {} : { reason: why }
  switch (what) {
    case 'cancel':
    case 'bury':
      return skep.jobs[what](target, options)
    case 'reschedule':
      return skep.jobs.reschedule(target, whenOf(when))
    case 'prioritize': {
      if (number === undefined) throw invalid('input.priority', 'given for the action prioritize')
      const declared = mode ?? (await services.cards.of(skep, queue))?.priorityMode
      return skep.jobs.prioritize(target, number, { priorityMode: declared ?? 'head-start' })
    }
    default:
      return skep.jobs[what](target)
  }
}

/** The time that a reschedule needs. */
export function whenOf(given: string | undefined): Date {
  if (given === undefined) throw invalid('input.at', 'given for the action reschedule')
  return new Date(given)
}

function added(a: ChangeOutput, b: ChangeOutput): ChangeOutput {
  return {
    changed: a.changed + b.changed,
    requested: a.requested + b.requested,
    refused: [...a.refused, ...b.refused],
  }
}
