import { type NewJob, PLAIN_JOB } from '../core/job.ts'
import { addedPriority } from '../core/priority.ts'
import type { Happening, Maker } from '../flows/advance.ts'
import type { Control } from '../flows/engine.ts'
import type { Position } from '../flows/position.ts'
import type { Runtime } from '../runtime.ts'
import type { EnqueueOptions, Prepare } from './enqueue.ts'
import type { Queue } from './queue.ts'

/** How long ended runs are kept unless they say otherwise. */
const KEEP_RUNS_MS = 3 * 86_400_000

/** Makes the jobs of flows: those of their steps as an enqueue would, and those that move runs on. */
export function flowMaker(env: {
  readonly space: string
  readonly runtime: Runtime
  readonly prepare: Prepare
  readonly payloadBytes: number
}): Maker {
  const { space, runtime, prepare, payloadBytes } = env
  return {
    uuid: () => runtime.uuid(),
    keepMs: KEEP_RUNS_MS,
    stateBytes: payloadBytes,
    job: async ({ queue, payload, options }, priority) =>
      prepare(queue as Queue, payload, shifted(queue as Queue, options, priority)),
    control: (where, run, what, delayMs) =>
      controlJob({ space, id: runtime.uuid(), where, run, what, delayMs }),
  }
}

/** A job's own options with the priority of its run. Where jobs run in strict order none has a priority. */
function shifted({ priority, lanes }: Queue, options: EnqueueOptions, by: number): EnqueueOptions {
  if (by === 0 || lanes.strict) return options
  return { ...options, priority: addedPriority(options.priority ?? priority, by) }
}

function controlJob(of: {
  readonly space: string
  readonly id: string
  readonly where: Pick<Position, 'queue' | 'priority'>
  readonly run: string
  readonly what: Happening
  readonly delayMs: number
}): NewJob {
  const control: Control = { run: of.run, event: of.what.event, id: of.what.id }
  return {
    ...PLAIN_JOB,
    id: of.id,
    space: of.space,
    queue: of.where.queue,
    payload: JSON.stringify(control),
    priority: of.where.priority,
    delayMs: of.delayMs,
  }
}
