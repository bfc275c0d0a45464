import type { WorkerView } from '../index.ts'
import { notFound, sees, seesAll } from './authorize/authorize-output.ts'
import { operation, type ServerOperation } from './operation.ts'
import { id, nothing } from './schema/inputs.ts'
import { count, said, saidOrNull } from './schema/outputs.ts'
import { all, flag, moment, nullable, number, object, oneOf, type Schema } from './schema/schema.ts'
import type { WorkerSummary } from './schema/wire-types.ts'

const worker: Schema<WorkerSummary> = object({
  id: said,
  host: said,
  pid: number(),
  queues: all(said),
  concurrency: count,
  running: count,
  startedAt: moment(),
  seenAt: moment(),
  life: oneOf(['here', 'gone', 'unsure']),
  version: saidOrNull,
  node: saidOrNull,
  memoryBytes: nullable(number()),
  lagMs: nullable(number()),
  order: nullable(oneOf(['quiet', 'stop'])),
  quiet: flag(),
})

export const workersList: ServerOperation<'workers.list'> = operation({
  name: 'workers.list',
  method: 'GET',
  path: '/workers',
  summary: 'The workers of this space, on all machines.',
  scope: 'read',
  input: nothing,
  output: object({ workers: all(worker) }),
  async run(_input, { skep, caller }) {
    const workers = await skep.workers()
    const mine = workers.filter(
      ({ queues }) => seesAll(caller) || queues.some((queue) => sees(caller, queue)),
    )
    return { workers: mine.map((one) => summaryOf(one, (queue) => sees(caller, queue))) }
  },
})

export const workersOrder: ServerOperation<'workers.order'> = operation({
  name: 'workers.order',
  method: 'POST',
  path: '/workers/:id/order',
  summary: 'Tells a worker to take no more jobs, to go on, or to stop.',
  scope: 'operate',
  input: object({ id: id('a worker'), order: oneOf(['quiet', 'stop', 'none']) }),
  output: worker,
  target: (input) => `${input.order} to worker ${input.id}`,
  async run(input, { skep, caller }) {
    const found = (await skep.workers()).find((one) => one.id === input.id)
    // Who does not see all of its queues would stop others' jobs with it.
    const isMine = found?.queues.every((queue) => sees(caller, queue)) ?? false
    const told = isMine ? await skep.order(input.id, input.order, { by: caller.name }) : null
    if (told === null) throw notFound(`worker "${input.id}"`)
    return summaryOf(told, () => true)
  },
})

function summaryOf(one: WorkerView, isSeen: (queue: string) => boolean): WorkerSummary {
  const { space: _space, startedAt, seenAt, queues, ...rest } = one
  return {
    id: rest.id,
    host: rest.host,
    pid: rest.pid,
    queues: queues.filter(isSeen),
    concurrency: rest.concurrency,
    running: rest.running,
    startedAt: new Date(startedAt).toISOString(),
    seenAt: new Date(seenAt).toISOString(),
    life: rest.life,
    version: rest.version,
    node: rest.node,
    memoryBytes: rest.memoryBytes,
    lagMs: rest.lagMs,
    order: rest.order,
    quiet: rest.quiet,
  }
}
