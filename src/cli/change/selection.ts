import { JOB_STATES, type JobState, LIMITS } from '../../index.ts'
import type { JobAction } from '../../operations/schema/inputs.ts'
import type { JobList } from '../../operations/schema/outputs.ts'
import { type Arguments, given } from '../arguments.ts'
import type { Flags } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { usage } from '../exit.ts'
import { readStates } from '../format/states.ts'

/** The flags that choose jobs. */
export const SELECTION_FLAGS: Flags = {
  queue: { kind: 'text', value: 'name', help: 'Only jobs of this queue' },
  state: { kind: 'text', value: 'state,…', help: `Only jobs in these states: ${JOB_STATES.join(', ')}` },
  text: { kind: 'text', value: 'text', help: 'Only jobs with this text in the payload or the failure' },
  after: {
    kind: 'text',
    value: 'date|2h',
    help: 'Due, started or finished since this time, or within this duration',
  },
  before: {
    kind: 'text',
    value: 'date|2h',
    help: 'Due, started or finished before this time, or longer ago',
  },
  limit: { kind: 'text', value: 'n', help: 'At most this many' },
}

/** The flags of changes beside a selection. */
export const CHANGE_FLAGS: Flags = {
  all: { kind: 'switch', help: 'Required to change all jobs' },
  'dry-run': { kind: 'switch', help: 'Dry run: print the number of jobs without changing them' },
}

/** Which jobs, as operations take it. */
export interface Selection {
  readonly queue?: string
  readonly states?: readonly JobState[]
  readonly after?: string
  readonly before?: string
  readonly text?: string
  readonly limit?: number
}

export function readSelection(args: Arguments, { maxLimit }: { readonly maxLimit: number }): Selection {
  return given({
    queue: args.text('queue'),
    states: readStates(args.names('state')),
    after: args.moment('after', { ago: true })?.toISOString(),
    before: args.moment('before', { ago: true })?.toISOString(),
    text: args.text('text'),
    limit: args.whole('limit', { min: 1, max: maxLimit }),
  })
}

/** The states that an action applies to by default; the library has the same rule. */
export const USUAL_STATES: Readonly<Record<JobAction, readonly JobState[]>> = {
  cancel: ['delayed', 'ready', 'running'],
  bury: ['delayed', 'ready'],
  retry: ['dead'],
  promote: ['delayed'],
  prioritize: ['delayed', 'ready'],
  reschedule: ['delayed', 'ready'],
  remove: ['done', 'failed', 'dead', 'cancelled'],
}

/** Refuses a change that could mean everything by accident. */
export function assertMeant(selection: Selection, args: Arguments, action: string): void {
  const { limit: _, ...filters } = selection
  if (Object.keys(filters).length > 0 || args.on('all')) return
  throw usage(
    `Which jobs should skep ${action}?`,
    'Give ids, a filter such as --queue mail.send, or --all for every job it can take.',
  )
}

/** The queues of a selection. A change is always about one queue at a time. */
export async function queuesOf(backend: Backend, { queue }: Selection): Promise<readonly string[]> {
  if (queue !== undefined) return [queue]
  const { queues } = await backend.call('queues.list', {})
  return queues.map((one) => one.queue)
}

export interface Tally {
  readonly jobs: number
  /** False when counting stopped early: there are at least this many. */
  readonly exact: boolean
}

const MOST_COUNTED = 10_000

/** How many jobs a change would apply to: from the counters if possible, else by listing them. */
export async function tally(backend: Backend, action: JobAction, selection: Selection): Promise<Tally> {
  const { limit = Infinity, ...filters } = selection
  const { queue, states = USUAL_STATES[action], after, before, text } = filters
  if (after === undefined && before === undefined && text === undefined) {
    const { queues } = await backend.call('queues.list', queue === undefined ? {} : { queues: [queue] })
    const jobs = queues.reduce(
      (sum, { counts }) => sum + states.reduce((part, one) => part + counts[one], 0),
      0,
    )
    return { jobs: Math.min(jobs, limit), exact: true }
  }
  let jobs = 0
  let cursor: string | null = null
  do {
    const page: JobList = await backend.call('jobs.list', {
      ...filters,
      states,
      limit: LIMITS.pageJobs,
      ...(cursor === null ? {} : { cursor }),
    })
    jobs += page.jobs.length
    cursor = page.cursor
  } while (cursor !== null && jobs < Math.min(limit, MOST_COUNTED))
  return { jobs: Math.min(jobs, limit), exact: cursor === null || jobs >= limit }
}
