import { SkepError } from '../../core/errors.ts'
import { JOB_STATES, type Job, type JobState } from '../../core/jobs/job.ts'
import { timeOf } from '../../core/jobs/transitions.ts'
import { handledQueues, unhandledOf } from '../../core/jobs/unhandled.ts'
import { type HoldKind, holdsQueue } from '../../core/lanes/holds.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { LISTED_STATES, planQuery, type QueryPlan } from '../../core/query/plan.ts'
import { parseQuery } from '../../core/query/query.ts'
import type { Store, Where } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { wantedBy } from '../bulk/move.ts'
import type { BulkAction } from '../bulk/record.ts'
import { knownQueues } from '../queues/declarations.ts'
import { type HoldView, holdViews } from '../queues/holds.ts'
import { isByKey } from '../search/places.ts'
import {
  type Budget,
  type Found,
  pairsOf,
  type SearchEnv,
  searchJobs,
  type Wanted,
} from '../search/search.ts'
import { type JobView, viewOf } from './view.ts'

/**
 * Which jobs to list; all that is given must hold. Over several queues, those of one state come in its own order (finished ones
 * newest first) if there are at most fifty queues; otherwise, and for several states, one queue after the other.
 */
export interface ListOptions {
  /** In the query language, see docs/queries.md: `state:dead error:~timeout payload.user.id:42`. */
  readonly query?: string
  readonly queue?: string
  /** One state or several, one after the other. @default all */
  readonly state?: JobState | readonly JobState[]
  /** Due, started or finished (as fits the state) from this moment on. */
  readonly after?: Date
  /** And before this one. */
  readonly before?: Date
  /** This text is in the payload or in the failure. */
  readonly text?: string
  /** 1 to 200. @default 50 */
  readonly limit?: number
  /**
   * The page ends before the job with which its payloads, results, headers and failures exceed this number of bytes, and has a cursor.
   * It has at least one job. @default no bound
   */
  readonly pageBytes?: number
  /** From the page before. */
  readonly cursor?: string
}

const LIST_KEYS = optionKeys<ListOptions>('jobs.list()', {
  query: true,
  queue: true,
  state: true,
  after: true,
  before: true,
  text: true,
  limit: true,
  pageBytes: true,
  cursor: true,
})

export interface JobPage {
  readonly jobs: readonly JobView[]
  /** For the next page; null when this was the last. A page may be short, even empty, and not be the last. */
  readonly cursor: string | null
  /** How many jobs were looked at for this page. A query by content looks at about 5,000 and then leaves the rest to the next. */
  readonly searched: number
}

/** How many jobs fit. */
export interface JobCount {
  readonly count: number
  /** False: there are at least so many. */
  readonly isExact: boolean
}

/** A part of a count that goes on to the end, however many jobs there are. */
export interface CountPage {
  /** How many were found for this page. */
  readonly count: number
  /** How many jobs were looked at for it; 0 where the store could tell the number by itself. */
  readonly searched: number
  /** For the next page; null when all are counted. */
  readonly cursor: string | null
}

export interface CountOptions {
  /** To stop at so many, up to 100,000. @default 10000 */
  readonly cap?: number
}

const COUNT_KEYS = optionKeys<CountOptions>('jobs.count()', { cap: true })

/** What one page may look at, and what a count may. */
const PAGE_BUDGET: Budget = { rows: 5_000, ms: 150 }
const COUNT_BUDGET: Budget = { rows: 50_000, ms: 200 }
/** A number up to this the store may tell by itself. */
const MOST_TOLD = 100_000
/** What a store may look at for a count, over all queues. */
const MOST_LOOKED = 5_000

/** How many jobs a queue has in each state by the clock (a delayed job that is due is ready), and what keeps them back. */
export interface QueueView extends Readonly<Record<JobState, number>> {
  readonly queue: string
  /**
   * How long the job that has waited longest has been due, in milliseconds; null when none is ready. All waiting jobs count,
   * those of paused lanes and delayed ones that are due among them.
   */
  readonly oldestMs: number | null
  /**
   * How many of its ready jobs no live worker handles: all of them, or 0. They wait in their places and start when a
   * worker with a handler appears.
   */
  readonly unhandled: number
  /** Whether the queue as a whole is held. A block is shown before a pause; both must be gone. */
  readonly hold: HoldKind | null
  /** What is behind that: all holds on it, by its name, a pattern, its space or everywhere. */
  readonly holds: readonly HoldView[]
}

/** Where to look. */
export interface InspectEnv extends SearchEnv {
  readonly store: Store
}

/** One page of jobs. Pages are by key, so they neither skip nor repeat while jobs come and go. */
export async function listJobs(env: InspectEnv, options: ListOptions): Promise<JobPage> {
  assertOptions(LIST_KEYS, options)
  const limit = options.limit ?? 50
  assertWhole('limit', limit, 1, LIMITS.pageJobs)
  const { pageBytes = Infinity } = options
  if (pageBytes !== Infinity) assertWhole('pageBytes', pageBytes, 1, 1_073_741_824)
  const wanted = await wantedOf(env, options)
  const page = { limit, cursor: options.cursor ?? null, budget: PAGE_BUDGET }
  let found = await searchJobs(env, wanted, page)
  const most = fittingJobs(found.jobs, pageBytes)
  // Only the search can give the cursor behind an earlier job. Nothing has been parsed yet.
  if (most < found.jobs.length) found = await searchJobs(env, wanted, { ...page, limit: most })
  return { jobs: found.jobs.map(viewOf), cursor: found.cursor, searched: found.searched }
}

/** The bytes of the strings of a job; all other fields are small. */
function stringBytesOf({
  payload,
  headers,
  overrides,
  lane,
  uniqueKey,
  cancelReason,
  result,
  failure,
}: Job): number {
  const strings = [payload, headers, overrides, lane, uniqueKey, cancelReason, result, failure]
  return strings.reduce<number>((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
}

/** The number of jobs from the first on whose content is within these bytes, at least one. */
function fittingJobs(jobs: readonly Job[], pageBytes: number): number {
  let bytes = 0
  const first = jobs.findIndex((job) => {
    bytes += stringBytesOf(job)
    return bytes > pageBytes
  })
  return first === -1 ? jobs.length : Math.max(1, first)
}

/** What a list was asked for, as it is looked for. */
async function wantedOf(env: InspectEnv, options: ListOptions): Promise<Wanted> {
  if (options.queue !== undefined) assertName('Queue', options.queue)
  const plan = await planText(env, options.query ?? '')
  const states = statesOf(options.state)
  const where = whereOf(options)
  const { queue } = options
  const named = queue === undefined ? plan.queues : plan.fitsQueue(queue) ? [queue] : []
  const { after = -Infinity, before = Infinity } = where
  return {
    states: plan.saysStates ? plan.states.filter((state) => states.includes(state)) : states,
    queues: named,
    fitsQueue: plan.fitsQueue,
    ids: plan.ids,
    where: narrowed(plan.where, where),
    rest: plan.rest,
    // By id nothing of it was asked of the store.
    fits: (job) =>
      plan.fits(job) &&
      states.includes(job.state) &&
      (queue === undefined || job.queue === queue) &&
      timeOf(job) >= after &&
      timeOf(job) < before &&
      (options.text === undefined || `${job.payload}\n${job.failure}`.includes(options.text)),
  }
}

/** Both must hold. */
function narrowed(one: Where, other: Where): Where {
  const after = Math.max(one.after ?? -Infinity, other.after ?? -Infinity)
  const before = Math.min(one.before ?? Infinity, other.before ?? Infinity)
  const { after: _after, before: _before, ...rest } = { ...one, ...other }
  return {
    ...rest,
    ...(after === -Infinity ? {} : { after }),
    ...(before === Infinity ? {} : { before }),
  }
}

/** Reads a query, with what has to be known for it. */
export async function planText(
  env: InspectEnv,
  query: string,
  now: number = env.runtime.now(),
): Promise<QueryPlan> {
  const parsed = parseQuery(query)
  if (!parsed.terms.some(({ field }) => field === 'worker')) return planQuery(parsed, { now })
  const { workers } = await env.store.workers({ space: env.space })
  const hosts = new Map(workers.map(({ id, host }) => [id, host]))
  return planQuery(parsed, { now, hostOf: (id) => hosts.get(id) })
}

/** How many jobs fit a query. States and queues alone are told by counters; everything else is counted up to a cap. */
export async function countFitting(env: InspectEnv, query: string, options: CountOptions): Promise<JobCount> {
  assertOptions(COUNT_KEYS, options)
  const { cap = 10_000 } = options
  assertWhole('cap', cap, 1, 100_000)
  const plan = await planText(env, query)
  if (plan.isCounted) {
    const { store, space } = env
    const { queues } = await store.counts(plan.queues === null ? { space } : { space, queues: plan.queues })
    const fitting = queues.filter(({ queue }) => plan.fitsQueue(queue))
    const count = fitting.reduce(
      (sum, { states }) => sum + plan.states.reduce((all, one) => all + states[one], 0),
      0,
    )
    return { count, isExact: true }
  }
  return countFound(env, plan, cap)
}

/**
 * Counts what a bulk action would come to, to the end and page by page; the sum of the pages is the number. Each page costs the same however many jobs there are, and the
 * first is the last if the store can tell the number.
 */
export async function countOnwards(
  env: InspectEnv,
  query: string,
  { action, cursor = null }: { readonly action: BulkAction; readonly cursor?: string | null },
): Promise<CountPage> {
  const plan = await planText(env, query)
  const wanted = wantedBy(action, plan, Infinity)
  if (cursor === null) {
    const told = await countFound(env, wanted, MOST_TOLD)
    if (told.isExact) return { count: told.count, searched: 0, cursor: null }
  }
  return countOn(env, wanted, cursor)
}

/** Counts what fits, up to a cap: in the store if it can tell what fits, otherwise here. Both look at so many jobs at most. */
export async function countFound(env: InspectEnv, wanted: Wanted, cap: number): Promise<JobCount> {
  const { ids, rest, where } = wanted
  const isInStore = ids === null && rest === null && where.text === undefined
  return isInStore ? countInStore(env, wanted, cap) : countLooking(env, wanted, cap)
}

async function countInStore(env: InspectEnv, wanted: Wanted, cap: number): Promise<JobCount> {
  const { store, space } = env
  const { where } = wanted
  const endsAt = env.runtime.mono() + COUNT_BUDGET.ms
  let count = 0
  let left = MOST_LOOKED
  let isExact = true
  for (const { queue, state, isEmpty } of await pairsOf(env, wanted)) {
    if (isEmpty) continue
    const limit = cap + 1 - count
    if (isByKey(where, state)) {
      count += (await store.count({ space, queue, state, where, limit })).count
    } else {
      const isOver = left === 0 || env.runtime.mono() >= endsAt
      const found = isOver ? null : await store.count({ space, queue, state, where, limit, look: left })
      count += found?.count ?? 0
      left -= found?.looked ?? 0
      if (found === null || left === 0) isExact = false
    }
    if (count > cap) return { count: cap, isExact: false }
  }
  return { count, isExact }
}

async function countLooking(env: InspectEnv, wanted: Wanted, cap: number): Promise<JobCount> {
  const { count, cursor } = await countOn(env, wanted, null, cap)
  return { count: Math.min(count, cap), isExact: cursor === null && count <= cap }
}

/** Looks at jobs one after the other, as far as one call may. */
async function countOn(
  env: InspectEnv,
  wanted: Wanted,
  from: string | null,
  cap = Infinity,
): Promise<CountPage> {
  const endsAt = env.runtime.mono() + COUNT_BUDGET.ms
  let count = 0
  let searched = 0
  let cursor = from
  do {
    const budget: Budget = { rows: COUNT_BUDGET.rows - searched, ms: endsAt - env.runtime.mono() }
    const found: Found = await searchJobs(env, wanted, { limit: LIMITS.pageJobs, cursor, budget })
    count += found.jobs.length
    searched += found.searched
    cursor = found.cursor
  } while (cursor !== null && count < cap && searched < COUNT_BUDGET.rows && env.runtime.mono() < endsAt)
  return { count, searched, cursor }
}

export function whereOf({ after, before, text }: Pick<ListOptions, 'after' | 'before' | 'text'>): Where {
  return {
    ...(after === undefined ? {} : { after: msOf('after', after) }),
    ...(before === undefined ? {} : { before: msOf('before', before) }),
    ...(text === undefined ? {} : { text }),
  }
}

function msOf(what: string, moment: Date): number {
  const ms = moment instanceof Date ? moment.getTime() : Number.NaN
  if (Number.isFinite(ms)) return ms
  throw new SkepError('OPTION_INVALID', `${what} is ${show(moment)}; use a valid Date.`)
}

/** The states of a queue in columns. */
export async function countJobs(
  store: Store,
  space: string,
  names?: readonly string[],
): Promise<QueueView[]> {
  const [{ queues, now }, standing, { workers }] = await Promise.all([
    store.counts(names === undefined ? { space } : { space, queues: names }),
    store.holds({ space }),
    store.workers({ space }),
  ])
  const handled = handledQueues(workers, now)
  const listed = names === undefined ? await knownQueues(store, space, queues, handled) : queues
  return listed.map(({ queue, states, oldestDueAt }) => {
    const holds = holdViews(standing.holds.filter((hold) => holdsQueue(hold, space, queue)))
    return {
      queue,
      ...states,
      oldestMs: oldestDueAt === null ? null : Math.max(0, now - oldestDueAt),
      unhandled: unhandledOf({ queue, ready: states.ready }, handled),
      hold: holds[0]?.kind ?? null,
      holds,
    }
  })
}

/** A space that has jobs. */
export interface SpaceView {
  readonly space: string
  /** How many of its queues have jobs. */
  readonly queues: number
  /** Jobs that are ready or delayed. */
  readonly waiting: number
  readonly running: number
  /** Jobs that are done, failed or cancelled. */
  readonly finished: number
  readonly dead: number
}

/** All spaces of a store that have jobs, by name. */
export async function listSpaces(store: Store, space: string): Promise<SpaceView[]> {
  const { spaces = [] } = await store.counts({ space, queues: [], spaces: true })
  return spaces.map(({ space: name, queues, states }) => ({
    space: name,
    queues,
    waiting: states.delayed + states.ready,
    running: states.running,
    finished: states.done + states.failed + states.cancelled,
    dead: states.dead,
  }))
}

export function statesOf(state: ListOptions['state']): readonly JobState[] {
  const states = state === undefined ? LISTED_STATES : typeof state === 'string' ? [state] : state
  for (const one of states) {
    if (!JOB_STATES.includes(one)) {
      throw new SkepError(
        'OPTION_INVALID',
        `${show(one)} is not a state. Use one of: ${JOB_STATES.join(', ')}.`,
      )
    }
  }
  return states
}
