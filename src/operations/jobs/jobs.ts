import { type JobView, LIMITS } from '../../index.ts'
import { notFound, seen, sees, shownExplanation, shownJob, shownLogs } from '../authorize/authorize-output.ts'
import { scopedQuery } from '../authorize/scoped-query.ts'
import { type Context, operation } from '../operation.ts'
import { bulkAction, filterOf, filters, id, matchingQuery, paged, queueName } from '../schema/inputs.ts'
import { count, explanation, jobDetail, jobList, logPage, nextPage } from '../schema/outputs.ts'
import { flag, invalid, object, optional, whole } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'
import { detailOf } from './detail.ts'

export const jobsList = operation({
  name: 'jobs.list',
  method: 'GET',
  path: '/jobs',
  summary: 'Lists jobs that match a query and filters, or all jobs.',
  scope: 'read',
  input: object({ query: optional(matchingQuery), queue: optional(queueName), ...filters, ...paged }),
  output: jobList,
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  async run(input, context) {
    const { skep, caller } = context
    const query = scopedQuery(caller, input.query ?? '')
    const { states: _states, text: _text, after: _after, before: _before, ...rest } = input
    // Parsing, redacting and serializing a page blocks the process, so its size is bounded.
    const page = await skep.jobs.list({ ...rest, ...filterOf(input), query, pageBytes: LIMITS.pageBytes })
    const jobs = await context.services.turns.map(page.jobs, (job) => toWire(shownJob(context, job)))
    return { ...toWire({ ...page, jobs: [] }), jobs }
  },
})

export const jobsCount = operation({
  name: 'jobs.count',
  method: 'GET',
  path: '/jobs-count',
  summary: 'Counts the jobs that match a query, exactly or up to a cap.',
  scope: 'read',
  input: object({
    query: optional(matchingQuery),
    // With an action the count goes on to the end, page by page: what is about to be done to jobs is said exactly.
    action: optional(bulkAction),
    cursor: paged.cursor,
  }),
  output: object({
    count,
    isExact: flag('False: there are at least this many.'),
    cursor: optional(nextPage),
    searched: optional(count),
  }),
  async run(input, { skep, caller }) {
    const query = scopedQuery(caller, input.query ?? '')
    if (input.action === undefined) {
      if (input.cursor !== undefined) throw invalid('cursor', 'left out where no action is given')
      return skep.jobs.count(query)
    }
    const { action, cursor } = input
    const page = await skep.bulk.count({ action, query, ...(cursor === undefined ? {} : { cursor }) })
    return { ...page, isExact: page.cursor === null && cursor === undefined }
  },
})

export const jobsGet = operation({
  name: 'jobs.get',
  method: 'GET',
  path: '/jobs/:id',
  summary:
    'Returns a job with its timeline, its attempts, an explanation of its state and what it belongs to.',
  scope: 'read',
  input: object({ id: id('a job') }),
  output: jobDetail,
  async run(input, context) {
    return detailOf(context, await visibleJob(context, input.id))
  },
})

export const jobsExplain = operation({
  name: 'jobs.explain',
  method: 'GET',
  path: '/jobs/:id/explain',
  summary: 'Explains why a job, a run or a group is waiting, or how it ended.',
  scope: 'read',
  input: object({ id: id('a job, a run or a group') }),
  output: explanation,
  async run(input, context) {
    const { skep, caller } = context
    const found = await skep.jobs.explain(input.id)
    const name = found.queue ?? found.flow
    if (name === null ? !sees(caller, '*') : !sees(caller, name)) throw notFound(`job "${input.id}"`)
    return toWire(shownExplanation(context, found))
  },
})

export const jobsLogs = operation({
  name: 'jobs.logs',
  method: 'GET',
  path: '/jobs/:id/logs',
  summary: 'Returns the log of a job, oldest line first, and its progress.',
  scope: 'read',
  input: object({
    id: id('a job'),
    after: optional(whole({ about: 'Only lines after this position: the cursor of the previous page.' })),
    limit: optional(whole({ min: 1, max: 1_000 })),
  }),
  output: logPage,
  async run({ id: job, ...page }, context) {
    await visibleJob(context, job)
    return toWire(shownLogs(context, await context.skep.jobs.logs(job, page)))
  },
})

/** A job that the caller sees, in full: what of it is shown is decided where it is answered. */
export async function visibleJob({ skep, caller }: Context, job: string): Promise<JobView> {
  return seen(caller, `job "${job}"`, await skep.jobs.get(job))
}
