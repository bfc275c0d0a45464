import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import type { StartOrder } from '../../flows/control-jobs.ts'
import type { Flow } from '../flows/flow.ts'
import { type Attributes, attributesOf } from '../flows/runs.ts'
import { controlQueue, type Queue } from '../queues/queue.ts'
import type { SlotContext } from './schedule.ts'

/** What of a schedule is about the runs that it starts. */
export interface FlowTarget {
  readonly flow: Pick<Flow, 'tree'>
  readonly input?: unknown
  readonly attributes?: Attributes
  readonly priority?: number
}

/** What these say about is the job that starts a run, and that has ended when the run begins. */
const OF_JOBS = ['unique', 'headers', 'timeout', 'retention', 'payload', 'queue'] as const

/**
 * A schedule that starts runs, as one that makes jobs: each is a job of the flow's own queue that says with what to start. Its
 * run has the job's id, so however often the job is tried there is one run.
 */
export function flowTarget(
  id: string,
  options: FlowTarget & Readonly<Record<string, unknown>>,
): { readonly queue: Queue<StartOrder>; readonly payload: unknown } {
  const { flow, input, attributes = {}, priority = 0, overlap = 'allow', from = 'grid' } = options
  const { tree } = flow
  if (typeof tree?.queue !== 'string') throw invalid(id, 'flow is no flow; use flow(name, …).')
  if (overlap !== 'allow') {
    throw invalid(
      id,
      `overlap is ${show(overlap)}, and it would look at the job that starts a run, not at the run. Leave it out, and give ` +
        'the queue of the first step a unique key: a run that is too much fails there.',
    )
  }
  if (from !== 'grid')
    throw invalid(id, `from is ${show(from)}, and the end of a run is not known here. Use 'grid'.`)
  const other = OF_JOBS.find((name) => options[name] !== undefined)
  if (other !== undefined) throw invalid(id, `${other} is for jobs; a run has an input and attributes.`)
  const { name, version } = tree
  const found = attributesOf(attributes)
  const orderOf = (state: unknown): StartOrder => ({
    start: { flow: name, version, state: state ?? {}, attributes: found, priority },
  })
  return {
    queue: controlQueue<StartOrder>(tree.queue),
    payload:
      typeof input === 'function'
        ? async (slot: SlotContext) => orderOf(await (input as (slot: SlotContext) => unknown)(slot))
        : orderOf(input),
  }
}

function invalid(id: string, message: string): SkepError {
  return new SkepError('SCHEDULE_INVALID', `Schedule ${show(id)}: ${message}`, { facts: { id } })
}
