import type { WorkerPresence } from '../../index.ts'
import type { WorkerSummary } from '../api.ts'
import { nothing } from '../inputs.ts'
import { all, flag, moment, nullable, number, object, oneOf, type Schema } from '../schema.ts'
import { count, said, saidOrNull } from '../shapes.ts'
import { sees, seesAll } from '../visible.ts'
import { operation, type ServerOperation } from './define.ts'

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

function summaryOf(one: WorkerPresence, isSeen: (queue: string) => boolean): WorkerSummary {
  return {
    id: one.id,
    host: one.host,
    pid: one.pid,
    queues: one.queues.filter(isSeen),
    concurrency: one.concurrency,
    running: one.running,
    startedAt: new Date(one.startedAt).toISOString(),
    seenAt: new Date(one.seenAt).toISOString(),
    life: one.life,
    version: null,
    node: null,
    memoryBytes: null,
    lagMs: null,
    order: null,
    quiet: false,
  }
}
