import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import { assertOptions } from '../../core/options.ts'
import { Registry } from '../../flows/registry.ts'
import type { Duty } from '../../maintenance/background-task.ts'
import type { Meter } from '../../metrics/counters.ts'
import type { ErrorBook } from '../../metrics/error-groups.ts'
import type { Instrumentation } from '../../runtime/instrumentation.ts'
import type { Noter } from '../../worker/log-writer.ts'
import { resolveWorkerOptions, WORKER_KEYS, type WorkerOptions } from '../../worker/options.ts'
import type { ClientEnv } from '../client-env.ts'
import type { Outlines } from '../flows/definitions.ts'
import type { Flow } from '../flows/flow.ts'
import { flowSpecs } from '../flows/flow-handlers.ts'
import { ResultReader } from '../jobs/results.ts'
import { announceWorker, declareLimits } from '../queues/declarations.ts'
import { instrumentedSpec, toSpec } from '../queues/handlers.ts'
import type { Handler } from '../queues/queue.ts'
import { Relay, type RelayOptions } from '../remote-execution/relay.ts'
import { Worker } from './worker.ts'

export interface StartWorkerEnv extends ClientEnv {
  readonly noter: Noter
  readonly meter: Meter
  readonly errors: Pick<ErrorBook, 'add'>
  readonly telemetry: Instrumentation | null
  /** The version of the program. */
  readonly version: string | null
  readonly outlines: Outlines
  /** Background tasks that run inside workers. */
  readonly duties: readonly Duty[]
  readonly onStopped: (worker: Pick<Worker, 'id' | 'stop'>) => void | Promise<void>
}

/** Starts a worker for these handlers and flows. */
export function startWorker(
  env: StartWorkerEnv,
  work: readonly (Handler | Flow<never, unknown>)[],
  options: WorkerOptions,
): Worker {
  assertOptions(WORKER_KEYS, options)
  assertWork(work)
  const handlers = work.filter((one): one is Handler => 'queue' in one)
  const registry = new Registry()
  for (const one of work) if ('tree' in one) registry.add(one.tree)
  const queues = handlers.map(({ queue }) => queue)
  assertDistinct(queues.map(({ name }) => name))
  const { store, space, telemetry, version } = env
  const handlerEnv = { ...env, results: new ResultReader(env) }
  const resolved = resolveWorkerOptions({
    ...options,
    ...(options.version === undefined && version !== null ? { version } : {}),
  })
  const specs = [
    ...handlers.map((handler) => toSpec(handler, handlerEnv)),
    ...flowSpecs(registry, handlerEnv),
  ]
  const worker: Worker = new Worker({
    ...env,
    specs:
      telemetry === null ? specs : specs.map((spec) => instrumentedSpec(spec, telemetry, () => worker.id)),
    options: resolved,
    ready: async () => {
      await env.ready()
      await declareLimits(
        store,
        space,
        queues.map(({ name, lanes }) => ({ name, declared: lanes.declared })),
      )
      await env.outlines.put(registry.trees())
      await announceWorker(env, queues, resolved.version)
    },
    onStopped: () => env.onStopped(worker),
  })
  return worker
}

/** Starts a worker whose jobs run outside of this process. */
export function startRelay<Holder>(env: StartWorkerEnv, options: RelayOptions<Holder>): Relay<Holder> {
  const relay: Relay<Holder> = new Relay<Holder>(
    { ...env, results: new ResultReader(env), onStopped: () => void env.onStopped(relay) },
    options,
  )
  return relay
}

/** Rejects what would start a worker that never runs anything. */
function assertWork(work: readonly (Handler | Flow<never, unknown>)[]): void {
  if (!Array.isArray(work) || work.length === 0) {
    throw new SkepError(
      'CONFIG_INVALID',
      'A worker needs an array with at least one handler: skep.worker([mail.handle(send)]).',
    )
  }
  for (const [index, one] of (work as readonly unknown[]).entries()) {
    const { queue, run, tree, name, handle } = (one ?? {}) as Readonly<Record<string, unknown>>
    if (tree !== undefined || (queue !== undefined && typeof run === 'function')) continue
    throw new SkepError(
      'CONFIG_INVALID',
      typeof handle === 'function'
        ? `worker() got queue ${show(name)} without a handler. Use skep.worker([queue.handle(run)]).`
        : `worker() got ${show(one)} at ${index}; it takes handlers (queue.handle(run)) and flows.`,
    )
  }
}

function assertDistinct(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return
  throw new SkepError('QUEUE_DUPLICATE', `Queue ${show(twice)} has two handlers in one worker. Keep one.`)
}
