import {
  type ChangeSummary,
  type EnqueueOptions,
  type JobView,
  queue as queueOf,
  type Skep,
} from '../../index.ts'
import type { EnqueueInput, InputOf } from '../api.ts'
import { action, id, paged, priority, queryText, queueName, reason } from '../inputs.ts'
import {
  all,
  flag,
  invalid,
  json,
  list,
  moment,
  number,
  object,
  optional,
  record,
  type Schema,
  text,
  whole,
} from '../schema.ts'
import { changed, explanation, jobDetail, jobList, logPage, said } from '../shapes.ts'
import { notFound, seen, sees, shownJob, shownLogs } from '../visible.ts'
import { toWire } from '../wire.ts'
import { type Context, operation, type ServerOperation } from './define.ts'
import { durationOf } from './durations.ts'
import { detailOf } from './job-detail.ts'

export const jobsList: ServerOperation<'jobs.list'> = operation({
  name: 'jobs.list',
  method: 'GET',
  path: '/jobs',
  summary: 'Jobs, page by page: those that fit a query, or all.',
  scope: 'read',
  input: object({ query: optional(queryText), ...paged }),
  output: jobList,
  async run(input, { skep, caller }) {
    const page = await skep.list(input)
    // A page may be short and still have a cursor, so what is not for this caller is simply left out.
    const jobs = page.jobs.filter(({ queue }) => sees(caller, queue)).map((job) => shownJob(caller, job))
    return toWire({ jobs, cursor: page.cursor, searched: page.jobs.length })
  },
})

export const jobsGet: ServerOperation<'jobs.get'> = operation({
  name: 'jobs.get',
  method: 'GET',
  path: '/jobs/:id',
  summary: 'One job: what happened to it, why it is where it is, and what it belongs to.',
  scope: 'read',
  input: object({ id: id('a job') }),
  output: jobDetail,
  async run(input, context) {
    return detailOf(context, await visibleJob(context, input.id))
  },
})

export const jobsExplain: ServerOperation<'jobs.explain'> = operation({
  name: 'jobs.explain',
  method: 'GET',
  path: '/jobs/:id/explain',
  summary:
    'Why a job is not running, or what became of it. By the id of a run or a group: what it waits for.',
  scope: 'read',
  input: object({ id: id('a job, a run or a group') }),
  output: explanation,
  async run(input, { skep, caller }) {
    const found = await skep.explain(input.id)
    const name = found.queue ?? found.flow
    if (name === null ? !sees(caller, '*') : !sees(caller, name)) throw notFound(`job "${input.id}"`)
    return toWire(found)
  },
})

export const jobsLogs: ServerOperation<'jobs.logs'> = operation({
  name: 'jobs.logs',
  method: 'GET',
  path: '/jobs/:id/logs',
  summary: 'The lines that the handlers of a job wrote, oldest first, and how far it is.',
  scope: 'read',
  input: object({
    id: id('a job'),
    after: optional(whole({ about: 'Only lines after this place: the cursor of the page before.' })),
    limit: optional(whole({ min: 1, max: 1_000 })),
  }),
  output: logPage,
  async run({ id: job, ...page }, context) {
    await visibleJob(context, job)
    return toWire(shownLogs(context.caller, await context.skep.logs(job, page)))
  },
})

/** A job that the caller sees, in full: what of it is shown is decided where it is answered. */
export async function visibleJob({ skep, caller }: Context, job: string): Promise<JobView> {
  return seen(caller, `job "${job}"`, await skep.get(job))
}

// ── enqueue ──────────────────────────────────────────────────────────────────────────────────────

const enqueueFields = {
  queue: queueName,
  payload: json('What the handler gets.'),
  id: optional(text({ max: 64, about: 'A UUID. Enqueuing the same one again does nothing.' })),
  delay: optional(text({ max: 32, about: 'Starts not earlier than so long from now: 30s, 5m.' })),
  runAt: optional(moment('Starts not earlier than this moment.')),
  priority: optional(priority),
  lane: optional(text({ max: 512 })),
  cost: optional(number('How much of a rate it takes.')),
  unique: optional(
    text({ max: 512, about: 'At most one job of the queue with this key, until it has ended.' }),
  ),
  headers: optional(record(text({ max: 8_192 }))),
} as const
const enqueueInput: Schema<EnqueueInput> = object(enqueueFields)
const enqueued = object({
  id: said,
  duplicate: flag('Its unique key was held by another, and id is that one.'),
})

export const jobsEnqueue: ServerOperation<'jobs.enqueue'> = operation({
  name: 'jobs.enqueue',
  method: 'POST',
  path: '/jobs',
  summary:
    'Enqueues a job. With an answer it is in the store, durably; send the same id again if there was none.',
  scope: 'enqueue',
  input: enqueueInput,
  output: enqueued,
  queuesOf: ({ queue }) => [queue],
  target: ({ queue }) => `queue ${queue}`,
  run: (input, { skep }) => enqueueOne(skep, input),
})

export const jobsEnqueueMany: ServerOperation<'jobs.enqueueMany'> = operation({
  name: 'jobs.enqueueMany',
  method: 'POST',
  path: '/jobs/batch',
  summary:
    'Enqueues up to 1,000 jobs, each as if alone: give them ids, and sending them again does nothing twice.',
  scope: 'enqueue',
  input: object({ jobs: list(enqueueInput, { min: 1, max: 1_000 }) }),
  output: object({ jobs: all(enqueued) }),
  queuesOf: ({ jobs }) => [...new Set(jobs.map(({ queue }) => queue))],
  target: ({ jobs }) => `${jobs.length} jobs of ${[...new Set(jobs.map(({ queue }) => queue))].join(', ')}`,
  async run({ jobs }, { skep }) {
    // All in the same tick share one insert.
    return { jobs: await Promise.all(jobs.map((one) => enqueueOne(skep, one))) }
  },
})

async function enqueueOne(skep: Skep, input: EnqueueInput): Promise<{ id: string; duplicate: boolean }> {
  const { queue, payload, delay, runAt, ...rest } = input
  const options: EnqueueOptions = {
    ...rest,
    ...(delay === undefined ? {} : { delay: durationOf('delay', delay) }),
    ...(runAt === undefined ? {} : { runAt: new Date(runAt) }),
  }
  const handle = await skep.enqueue(queueOf(queue), payload, options)
  return { id: handle.id, duplicate: handle.duplicate }
}

// ── change ───────────────────────────────────────────────────────────────────────────────────────

export const jobsChange: ServerOperation<'jobs.change'> = operation({
  name: 'jobs.change',
  method: 'POST',
  path: '/jobs/change',
  summary: 'Retries, cancels, buries, promotes, removes or prioritizes jobs by their ids.',
  scope: 'operate',
  input: object({
    action,
    ids: list(id('a job'), { min: 1, max: 1_000 }),
    reason: optional(reason),
    priority: optional(priority),
  }),
  output: changed,
  target: ({ action: what, ids }) =>
    `${what}: ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`,
  async run(input, { skep, caller }) {
    const found = await Promise.all(input.ids.map(async (one) => skep.get(one)))
    const [mine, others]: [string[], string[]] = [[], []]
    for (const [index, one] of input.ids.entries()) {
      const job = found[index]
      if (job && !sees(caller, job.queue)) others.push(one)
      else mine.push(one)
    }
    const summary = await change(skep, input, mine)
    const hidden = others.map((one) => ({ id: one, reason: 'unknown' }))
    return { ...summary, refused: [...summary.refused, ...hidden] }
  },
})

async function change(
  skep: Skep,
  input: InputOf<'jobs.change'>,
  ids: readonly string[],
): Promise<ChangeSummary> {
  const why = input.reason === undefined ? {} : { reason: input.reason }
  if (ids.length === 0) return { changed: 0, requested: 0, refused: [] }
  switch (input.action) {
    case 'retry':
      return skep.redrive(ids)
    case 'cancel':
      return skep.cancel(ids, why)
    case 'bury':
      return skep.bury(ids, why)
    case 'promote':
      return skep.promote(ids)
    case 'remove':
      return skep.remove(ids)
    case 'prioritize':
      if (input.priority === undefined) throw invalid('priority', 'given for the action prioritize')
      return skep.prioritize(ids, input.priority, { priorityMode: 'head-start' })
  }
}
