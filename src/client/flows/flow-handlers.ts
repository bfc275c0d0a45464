import { messageOf } from '../../core/errors.ts'
import { type NewJob, PLAIN_JOB } from '../../core/jobs/job.ts'
import { addedPriority } from '../../core/jobs/priority.ts'
import {
  DEFAULT_POLICY,
  discard,
  exponential,
  fixed,
  type Policy,
  retry,
} from '../../core/policies/policy.ts'
import { type Control, Engine, type StartOrder, UnknownVersionError } from '../../flows/control-jobs.ts'
import type { Happening, Maker } from '../../flows/next-move.ts'
import type { Position } from '../../flows/position.ts'
import type { Registry } from '../../flows/registry.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type HandlerSpec, instruction } from '../../worker/handler.ts'
import type { Run } from '../../worker/runs.ts'
import type { EnqueueOptions, Prepare } from '../enqueue/enqueue.ts'
import type { HandlerEnv } from '../queues/handlers.ts'
import type { Queue } from '../queues/queue.ts'
import { cancelMembers } from './change-runs.ts'

/** So many runs are moved on together. */
const BATCH = 100

/** After so many errors of a flow's own functions its run has failed. */
const MOST_ERRORS = 3

/** A run whose branch this worker does not have is looked at again after so long, and each time after twice that, up to a most. */
const UNKNOWN_WAIT_MS = 1_000
const UNKNOWN_WAIT_MOST_MS = 30_000

/**
 * All workers wake when it is due again, and the one that just had it would win as often as any other, in the worst case for ever.
 * So for a while those who handed something back leave each control job to the others for so long.
 */
const YIELD_MS = 250
const YIELD_FOR_MS = 2 * UNKNOWN_WAIT_MOST_MS

const POLICY: Policy = {
  ...DEFAULT_POLICY,
  onSuccess: discard(),
  // Nobody else moves the run on, so it never gives up.
  onError: { ...retry(1, exponential('1s', { max: '1m' })), retries: null },
  onLost: { ...retry(1, fixed(0)), retries: null },
}

/** What a worker runs to move the runs of its flows on: one for each of their queues. */
export function flowSpecs(registry: Registry, env: HandlerEnv): HandlerSpec[] {
  const maker = flowMaker(env)
  const engine = new Engine({ store: env.store, space: env.space, registry, maker })
  return registry.queues().map((queue) => {
    const strangers = new Strangers(env.runtime)
    return {
      space: env.space,
      queue,
      concurrency: Number.POSITIVE_INFINITY,
      batch: BATCH,
      policyOf: () => POLICY,
      encodeResult: () => null,
      call: (runs) => moveAll(engine, runs, { ...env, maker, strangers }),
      patienceMs: () => strangers.patienceMs(),
    }
  })
}

/** What a worker has met in a queue that it does not know, though others may. */
class Strangers {
  readonly #runtime: Runtime
  #yieldsUntil = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** One was met that had been handed back so often before. Returns after how long it may come again. */
  meet(before: number): number {
    this.#yieldsUntil = this.#runtime.mono() + YIELD_FOR_MS
    const waitMs = Math.min(UNKNOWN_WAIT_MOST_MS, UNKNOWN_WAIT_MS * 2 ** Math.min(before, 10))
    return waitMs * (0.75 + this.#runtime.random() / 4)
  }

  patienceMs(): number {
    const { mono, random } = this.#runtime
    return mono() < this.#yieldsUntil ? YIELD_MS * (1 + random()) : 0
  }
}

async function moveAll(
  engine: Engine,
  runs: readonly Run[],
  env: HandlerEnv & { readonly maker: Maker; readonly strangers: Strangers },
): Promise<readonly unknown[]> {
  const orders = runs.map(({ job: { id, payload } }) => ({
    id,
    order: JSON.parse(payload) as Control | StartOrder,
  }))
  const decisions = await engine.decide(orders)
  for (const decision of decisions) {
    // Before the run moves on, so that somebody does it again should this process end here.
    const leaves = 'leaves' in decision ? decision.leaves : null
    if (leaves) await cancelMembers(env, leaves, 'The step that it belonged to has been decided without it.')
  }
  const answers = decisions.map(async (decision, index): Promise<unknown> => {
    const run = runs[index] as Run
    if ('late' in decision) return null
    if ('move' in decision) {
      run.move = decision.move
      return null
    }
    const { error } = decision
    if (error instanceof UnknownVersionError) {
      env.logger.warn(error.message)
      return instruction('snooze', env.strangers.meet(run.job.snoozes), error.message)
    }
    if (decision.run === null || run.job.errors + 1 < MOST_ERRORS)
      return error instanceof Error ? error : new Error(messageOf(error))
    env.logger.warn(`Run "${decision.run.id}" of flow "${decision.run.flow}" has failed: ${messageOf(error)}`)
    run.move = await decision.giveUp()
    return null
  })
  return Promise.all(answers)
}

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
