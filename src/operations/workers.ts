import type { WorkerView } from '../index.ts'
import { notFound, sees, seesAll } from './authorize/authorize-output.ts'
import { operation } from './operation.ts'
import { id, nothing } from './schema/inputs.ts'
import { type WorkerSummary, worker } from './schema/outputs.ts'
import { all, object, oneOf } from './schema/schema.ts'

export const workersList = operation({
  name: 'workers.list',
  method: 'GET',
  path: '/workers',
  summary: 'Lists the workers of the space, on all machines.',
  scope: 'read',
  input: nothing,
  output: object({ workers: all(worker) }),
  async run(_input, { skep, caller }) {
    const workers = await skep.workers.list()
    const mine = workers.filter(
      ({ queues }) => seesAll(caller) || queues.some((queue) => sees(caller, queue)),
    )
    return { workers: mine.map((one) => summaryOf(one, (queue) => sees(caller, queue))) }
  },
})

export const workersCommand = operation({
  name: 'workers.command',
  method: 'POST',
  path: '/workers/:id/command',
  summary: 'Pauses, resumes or stops a worker.',
  scope: 'operate',
  input: object({ id: id('a worker'), command: oneOf(['pause', 'resume', 'stop']) }),
  output: worker,
  target: (input) => `${input.command} worker ${input.id}`,
  async run(input, { skep, caller }) {
    const found = (await skep.workers.list()).find((one) => one.id === input.id)
    // A worker may serve queues that the caller does not see.
    const isMine = found?.queues.every((queue) => sees(caller, queue)) ?? false
    const commanded = isMine ? await skep.workers[input.command](input.id, { by: caller.name }) : null
    if (commanded === null) throw notFound(`worker "${input.id}"`)
    return summaryOf(commanded, () => true)
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
    command: rest.command,
    paused: rest.paused,
  }
}
