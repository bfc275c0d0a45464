import type { ChangeSummary, PriorityMode, Skep } from '../../index.ts'
import { sees } from '../authorize/authorize-output.ts'
import { type Context, operation } from '../operation.ts'
import { action, at, id, type JobAction, priority, reason } from '../schema/inputs.ts'
import { type ChangeOutput, changed } from '../schema/outputs.ts'
import { invalid, list, object, optional, type TypeOf } from '../schema/schema.ts'

const change = object({
  action,
  ids: list(id('a job'), { min: 1, max: 1_000 }),
  reason: optional(reason),
  priority: optional(priority),
  at: optional(at),
})

export const jobsChange = operation({
  name: 'jobs.change',
  method: 'POST',
  path: '/jobs/change',
  summary: 'Retries, cancels, buries, promotes, reschedules, removes or prioritizes jobs by their ids.',
  scope: 'operate',
  input: change,
  output: changed,
  target({ action: what, ids }) {
    const more = ids.length > 5 ? ` and ${ids.length - 5} more` : ''
    return `${what}: ${ids.slice(0, 5).join(', ')}${more}`
  },
  async run(input, context) {
    const { skep } = context
    const { queues, hidden } = await queuesOf(context, input.ids)
    const ids = [...queues.keys()]
    const refused = hidden.map((one) => ({ id: one, reason: 'unknown' }))
    const none: ChangeOutput = { changed: 0, requested: 0, refused }
    if (ids.length === 0) return none
    const why = input.reason === undefined ? {} : { reason: input.reason }
    if (input.action === 'prioritize') return added(none, await prioritize(context, input, queues))
    if (input.action === 'reschedule') return added(none, await skep.jobs.reschedule(ids, whenOf(input.at)))
    return added(none, await simple(skep, input.action, ids, why))
  },
})

/** The queues of these jobs, and which jobs are not there for this caller. */
async function queuesOf(
  { skep, caller }: Context,
  ids: readonly string[],
): Promise<{ readonly queues: ReadonlyMap<string, string>; readonly hidden: readonly string[] }> {
  const queues = new Map<string, string>()
  const hidden: string[] = []
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const part = ids.slice(from, from + AT_ONCE)
    const jobs = await Promise.all(part.map((one) => skep.jobs.get(one)))
    for (const [index, job] of jobs.entries()) {
      if (job !== null && sees(caller, job.queue)) queues.set(job.id, job.queue)
      else hidden.push(part[index] as string)
    }
  }
  return { queues, hidden }
}

const AT_ONCE = 50

function simple(
  skep: Skep,
  what: Exclude<JobAction, 'prioritize' | 'reschedule'>,
  ids: readonly string[],
  why: { readonly reason?: string },
): Promise<ChangeSummary> {
  switch (what) {
    case 'retry':
      return skep.jobs.retry(ids)
    case 'cancel':
      return skep.jobs.cancel(ids, why)
    case 'bury':
      return skep.jobs.bury(ids, why)
    case 'promote':
      return skep.jobs.promote(ids)
    case 'remove':
      return skep.jobs.remove(ids)
  }
}

/** The moment that a reschedule needs. */
export function whenOf(given: string | undefined): Date {
  if (given === undefined) throw invalid('input.at', 'given for the action reschedule')
  return new Date(given)
}

/** What a priority is worth is said by the queue, as its workers told. */
async function prioritize(
  { skep, services }: Context,
  input: TypeOf<typeof change>,
  queues: ReadonlyMap<string, string>,
): Promise<ChangeOutput> {
  if (input.priority === undefined) throw invalid('input.priority', 'given for the action prioritize')
  const cards = await services.cards.all(skep)
  const modes = new Map<PriorityMode, string[]>()
  for (const [one, queue] of queues) {
    const mode = cards.get(queue)?.priorityMode ?? 'head-start'
    modes.set(mode, [...(modes.get(mode) ?? []), one])
  }
  let sum: ChangeOutput = { changed: 0, requested: 0, refused: [] }
  for (const [priorityMode, ids] of modes) {
    sum = added(sum, await skep.jobs.prioritize(ids, input.priority, { priorityMode }))
  }
  return sum
}

function added(a: ChangeOutput, b: ChangeOutput): ChangeOutput {
  return {
    changed: a.changed + b.changed,
    requested: a.requested + b.requested,
    refused: [...a.refused, ...b.refused],
  }
}
