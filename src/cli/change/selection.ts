import { JOB_STATES, type JobState, LIMITS, type ListOptions, type Target } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Flags } from '../command.ts'
import type { Counterpart } from '../connect/backend.ts'
import { usage } from '../exit.ts'
import { readStates } from '../format/states.ts'

/** The flags that choose jobs. */
export const SELECTION_FLAGS: Flags = {
  queue: { kind: 'text', value: 'name', help: 'Only jobs of this queue' },
  state: { kind: 'text', value: 'state,…', help: `Only jobs in these states: ${JOB_STATES.join(', ')}` },
  text: { kind: 'text', value: 'text', help: 'Only jobs with this text in the payload or the failure' },
  after: { kind: 'text', value: 'date|2h', help: 'Due, started or finished since then, or within so long' },
  before: { kind: 'text', value: 'date|2h', help: 'Due, started or finished before then, or longer ago' },
  limit: { kind: 'text', value: 'n', help: 'At most this many' },
}

/** What changes jobs may take besides a selection. */
export const CHANGE_FLAGS: Flags = {
  all: { kind: 'switch', help: 'All of them: a change without ids and filters needs this word' },
  'dry-run': { kind: 'switch', help: 'Only say how many jobs it would be' },
}

export interface Selection {
  readonly queue?: string
  readonly state?: readonly JobState[]
  readonly after?: Date
  readonly before?: Date
  readonly text?: string
  readonly limit?: number
}

export function readSelection(args: Arguments, { maxLimit }: { readonly maxLimit: number }): Selection {
  const queue = args.text('queue')
  const state = readStates(args.names('state'))
  const after = args.moment('after', { ago: true })
  const before = args.moment('before', { ago: true })
  const text = args.text('text')
  const limit = args.whole('limit', { min: 1, max: maxLimit })
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(state === undefined ? {} : { state }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(text === undefined ? {} : { text }),
    ...(limit === undefined ? {} : { limit }),
  }
}

export type Action = 'cancel' | 'retry' | 'promote' | 'remove' | 'bury' | 'prioritize' | 'reschedule'

/** Which states an action takes when nobody names one; the library has the same rule. */
export const USUAL_STATES: Readonly<Record<Action, readonly JobState[]>> = {
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
    `Which jobs shall skep ${action}?`,
    'Give ids, a filter such as --queue mail.send, or --all for every job it can take.',
  )
}

/** The queues a selection is about. A change is always about one queue at a time. */
export async function queuesOf(skep: Counterpart, { queue }: Selection): Promise<readonly string[]> {
  return queue === undefined ? (await skep.queues.list()).map((one) => one.queue) : [queue]
}

export interface Tally {
  readonly jobs: number
  /** False when counting stopped early: there are at least this many. */
  readonly exact: boolean
}

const MOST_COUNTED = 10_000

/** How many jobs a change would take: from the counters if they can tell, else by looking at every one. */
export async function tally(skep: Counterpart, action: Action, selection: Selection): Promise<Tally> {
  const { queue, state = USUAL_STATES[action], after, before, text, limit = Infinity } = selection
  if (after === undefined && before === undefined && text === undefined) {
    const queues = await skep.queues.list(queue === undefined ? undefined : [queue])
    const jobs = queues.reduce((sum, one) => sum + state.reduce((part, name) => part + one[name], 0), 0)
    return { jobs: Math.min(jobs, limit), exact: true }
  }
  let jobs = 0
  let cursor: string | null = null
  do {
    const page: ListOptions = {
      ...selection,
      state,
      limit: LIMITS.pageJobs,
      ...(cursor === null ? {} : { cursor }),
    }
    const found = await skep.jobs.list(page)
    jobs += found.jobs.length
    cursor = found.cursor
  } while (cursor !== null && jobs < Math.min(limit, MOST_COUNTED))
  return { jobs: Math.min(jobs, limit), exact: cursor === null || jobs >= limit }
}

/** The part of a selection that is about one queue, as the library takes it. */
export function targetIn(queue: string, selection: Selection, left: number): Target {
  const { limit: _, ...filters } = selection
  return { ...filters, queue, ...(Number.isFinite(left) ? { limit: left } : {}) }
}
