import { type EnqueueOptions, type Queue, type QueueCard, queue as queueOf, SkepError } from '../../index.ts'
import { type Context, operation } from '../operation.ts'
import { durationOf, id, laneName, priority, queueName } from '../schema/inputs.ts'
import { said } from '../schema/outputs.ts'
import {
  all,
  flag,
  json,
  list,
  moment,
  number,
  object,
  optional,
  record,
  type TypeOf,
  text,
} from '../schema/schema.ts'
import { visibleJob } from './jobs.ts'
import { assertNoFlow, withinQuota } from './quota.ts'

type EnqueueInput = TypeOf<typeof one>
const one = object({
  queue: queueName,
  payload: json('The payload.'),
  id: optional(text({ max: 64, about: 'A UUID. Enqueuing the same one again does nothing.' })),
  delay: optional(text({ max: 32, about: 'Start not earlier than this duration from now: 30s, 5m.' })),
  runAt: optional(moment('Start not earlier than this time.')),
  priority: optional(priority),
  lane: optional(laneName),
  cost: optional(number('Its cost against a rate limit.')),
  unique: optional(
    text({ max: 512, about: 'Unique key: at most one job of the queue with it until it has ended.' }),
  ),
  headers: optional(record(text({ max: 8_192 }))),
})

type EnqueueOutput = TypeOf<typeof enqueued>
export const enqueued = object({
  id: said,
  duplicate: flag('Nothing was enqueued: another job holds its unique key or has its id. id is that job.'),
})

export const jobsEnqueue = operation({
  name: 'jobs.enqueue',
  method: 'POST',
  path: '/jobs',
  summary: 'Enqueues a job. After a response it is stored durably; without one, retry with the same id.',
  scope: 'enqueue',
  input: one,
  output: enqueued,
  queuesOf: ({ queue }) => [queue],
  target: ({ queue }) => `queue ${queue}`,
  async run(input, context) {
    assertNoFlow(input.queue)
    return withinQuota(context, [input], () => enqueue(context, input))
  },
})

export const jobsEnqueueMany = operation({
  name: 'jobs.enqueueMany',
  method: 'POST',
  path: '/jobs/batch',
  summary: 'Enqueues up to 1,000 jobs. Without a response, or after an error, retry with the same ids.',
  scope: 'enqueue',
  input: object({ jobs: list(one, { min: 1, max: 1_000 }) }),
  output: object({ jobs: all(enqueued) }),
  queuesOf: ({ jobs }) => [...new Set(jobs.map(({ queue }) => queue))],
  target: ({ jobs }) => `${jobs.length} jobs of ${[...new Set(jobs.map(({ queue }) => queue))].join(', ')}`,
  async run({ jobs }, context) {
    for (const { queue } of jobs) assertNoFlow(queue)
    return withinQuota(context, jobs, () => enqueueMany(context, jobs))
  },
})

export const jobsCopy = operation({
  name: 'jobs.copy',
  method: 'POST',
  path: '/jobs/:id/copy',
  summary: 'Enqueues a copy of a job, optionally with a new payload or queue.',
  scope: 'operate',
  input: object({
    id: id('a job'),
    payload: optional(json('Replaces its own.')),
    queue: optional(queueName),
  }),
  output: enqueued,
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  target: (input) =>
    `a copy of job ${input.id}${input.queue === undefined ? '' : ` into queue ${input.queue}`}`,
  async run({ id: job, ...options }, context) {
    const { queue, payload, headers, lane } = await visibleJob(context, job)
    const coming = [{ queue, payload, headers, lane, ...options }]
    const by = context.caller.name
    const handle = await withinQuota(context, coming, () => context.skep.jobs.copy(job, { ...options, by }))
    return { id: handle.id, duplicate: handle.duplicate }
  },
})

async function enqueue({ skep, services }: Context, input: EnqueueInput): Promise<EnqueueOutput> {
  const queue = declaredAs(input.queue, await services.cards.of(skep, input.queue))
  const handle = await skep.enqueue(queue, input.payload, optionsOf(input))
  return { id: handle.id, duplicate: handle.duplicate }
}

/** Queue by queue: the jobs of each are inserted atomically. Everything is validated first. */
async function enqueueMany(
  { skep, services }: Context,
  jobs: readonly EnqueueInput[],
): Promise<{ readonly jobs: readonly EnqueueOutput[] }> {
  const cards = await services.cards.all(skep)
  const options = jobs.map(optionsOf)
  const enqueued: EnqueueOutput[] = []
  for (const name of new Set(jobs.map(({ queue }) => queue))) {
    const places = jobs.flatMap(({ queue }, place) => (queue === name ? [place] : []))
    const payloads = places.map((place) => jobs[place]?.payload)
    const each = (_payload: unknown, index: number): EnqueueOptions => options[places[index] as number] ?? {}
    try {
      const handles = await skep.enqueueMany(declaredAs(name, cards.get(name) ?? null), payloads, { each })
      for (const [index, { id: one, duplicate }] of handles.entries()) {
        enqueued[places[index] as number] = { id: one, duplicate }
      }
    } catch (error) {
      throw placed(error, places)
    }
  }
  return { jobs: enqueued }
}

/** An error about an item of one queue, with its index among all jobs. */
function placed(error: unknown, places: readonly number[]): unknown {
  if (!(error instanceof SkepError) || error.code !== 'BATCH_ITEM_INVALID') return error
  const { index, code } = error.facts
  const place = places[index as number] as number
  const message = error.cause instanceof Error ? error.cause.message : error.message
  return new SkepError('BATCH_ITEM_INVALID', `jobs[${place}]: ${message}`, {
    cause: error,
    facts: { index: place, code },
  })
}

/** A queue as its workers declare it. */
function declaredAs(name: string, card: QueueCard | null): Queue<unknown> {
  if (card === null) return queueOf(name)
  const { priority: usual, priorityMode, isStrict } = card
  return queueOf(name, { priority: usual, priorityMode, ...(isStrict ? { order: 'strict' } : {}) })
}

function optionsOf({
  queue: _queue,
  payload: _payload,
  delay,
  runAt,
  ...rest
}: EnqueueInput): EnqueueOptions {
  return {
    ...rest,
    ...(delay === undefined ? {} : { delay: durationOf('delay', delay) }),
    ...(runAt === undefined ? {} : { runAt: new Date(runAt) }),
  }
}
