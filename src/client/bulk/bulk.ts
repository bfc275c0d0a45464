import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { clean } from '../../core/jobs/failure.ts'
import type { PriorityMode } from '../../core/jobs/priority.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { parseQuery, printQuery } from '../../core/query/query.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import type { Logger } from '../../runtime/logger.ts'
import { atMost, supervise } from '../../runtime/supervise.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { dueMoment } from '../jobs/change.ts'
import { type CountPage, countFound, countOnwards, planText } from '../jobs/list.ts'
import { assertPriorityMode } from '../queues/queue.ts'
import { patiently } from '../retry-calls.ts'
import { wantedBy } from './move.ts'
import {
  BULK_ACTIONS,
  type BulkAction,
  type BulkBook,
  type BulkRecord,
  type BulkView,
  bulkView,
} from './record.ts'
import { type BulkEnv, BulkRunner } from './runner.ts'

export interface BulkOptions {
  readonly action: BulkAction
  /** Which jobs, in the query language. It must say something. */
  readonly query: string
  /** How people call it. @default the action and the query */
  readonly name?: string
  /** Who starts it. */
  readonly by?: string
  /** For `cancel` and `bury`: kept with the jobs. */
  readonly reason?: string
  /** For `prioritize`: -100 to 100. */
  readonly priority?: number
  /** For `prioritize`: how the queues of these jobs count priorities. @default 'head-start' */
  readonly priorityMode?: PriorityMode
  /** For `reschedule`: when they are due. */
  readonly when?: Date | { readonly delay: Duration }
  /** For `move`: the queue that they go to. They get new ids there. Jobs of flows, groups and chains are refused. */
  readonly queue?: string
  /** How many jobs these are, for the progress, if they were counted before: {@link Bulk.count}. Used where a short count does not say. */
  readonly expected?: number
  /** Changes nothing before this time is over, so that a stop undoes it. @default 0 */
  readonly delay?: Duration
  /** At most so many jobs per second, 1 to 100,000. @default as fast as the store goes */
  readonly perSecond?: number
}

const KEYS = optionKeys<BulkOptions>('bulk.start()', {
  action: true,
  query: true,
  name: true,
  by: true,
  reason: true,
  priority: true,
  priorityMode: true,
  when: true,
  queue: true,
  delay: true,
  perSecond: true,
  expected: true,
})

/** Expected jobs are counted up to here. */
const EXPECTED_CAP = 100_000

/** A list has no more than these. */
const SHOWN = 200

/** How many times a stop is tried against a runner that keeps writing. */
const TRIES = 20

/** How long a close waits for that. */
const RELEASE_MS = 2_000

const COUNT_KEYS = optionKeys<Parameters<Bulk['count']>[0]>('bulk.count()', {
  action: true,
  query: true,
  cursor: true,
})

interface ManagedBulkEnv extends BulkEnv {
  readonly logger: Logger
  readonly ready: () => Promise<unknown>
  /** The store and the book with the patience of an enqueue, see {@link patientStore}, and the check before their first call. */
  readonly patient: Store
  readonly patientBook: BulkBook
  readonly readyToWrite: () => Promise<unknown>
  /** How long these repeat a call. */
  readonly patienceMs: number
  readonly closed: AbortSignal
}

/**
 * Bulk actions: one thing done to all jobs that fit a query. They are records in the store, so they outlive the process that
 * started them, and are worked off by workers, and by whoever calls {@link Bulk.serve}.
 */
export class Bulk {
  readonly #env: ManagedBulkEnv
  /** For workers, as one of their duties. */
  readonly runner: BulkRunner
  /** How to end each loop that {@link Bulk.serve} began. */
  readonly #served = new Set<() => Promise<void>>()
  #isClosed = false

  constructor(env: ManagedBulkEnv) {
    this.#env = env
    this.runner = new BulkRunner(env)
  }

  /**
   * Begins an action. Jobs that come to fit later are left alone. When the promise resolves it is in the store, and goes on
   * whatever becomes of this process, as long as some process works bulk actions off.
   */
  async start(options: BulkOptions): Promise<BulkView> {
    assertOptions(KEYS, options ?? null)
    const { runtime, book, notifier, patient, patienceMs, closed, readyToWrite } = this.#env
    const startedAt = runtime.now()
    const draft = recordOf(options, startedAt)
    await readyToWrite()
    const env = { ...this.#env, store: patient }
    const plan = await planText(env, draft.query, startedAt)
    const { count, isExact } = await countFound(env, wantedBy(draft.action, plan, Infinity), EXPECTED_CAP)
    const expected = isExact ? count : (options.expected ?? null)
    const record: BulkRecord = { ...draft, startedAt, expected }
    const id = runtime.uuid()
    const revision = runtime.uuid()
    // Nothing else has this id and nothing removes what runs: it can be repeated regardless of the reply. One that is refused
    // then has happened, and a runner has taken it up.
    const patience = { runtime, patienceMs, isClosed: () => closed.aborted }
    await patiently(patience, () => book.put(id, record, revision, null))
    notifier.publish([{ kind: 'sync' }])
    return bulkView({ id, record })
  }

  /**
   * How many jobs an action would come to now: one page of a count that goes on to the end. Add the counts of all pages, until there is no
   * cursor.
   */
  async count(options: {
    readonly action: BulkAction
    readonly query: string
    readonly cursor?: string
  }): Promise<CountPage> {
    assertOptions(COUNT_KEYS, options ?? null)
    await this.#env.ready()
    const { query, ...rest } = options
    return countOnwards(this.#env, query, rest)
  }

  /** An action by its id; null if there is none, or it ended more than a week ago. */
  async get(id: string): Promise<BulkView | null> {
    await this.#env.ready()
    const kept = await this.#env.book.get(id)
    return kept && bulkView(kept)
  }

  /** The actions that run, or ended within a week, newest first: 200 at most. */
  async list(): Promise<readonly BulkView[]> {
    await this.#env.ready()
    return (await this.#env.book.list(SHOWN)).map(bulkView)
  }

  /** Stops an action: the page that is under way is its last. One that has ended stays as it is. Null if there is none. */
  async stop(id: string): Promise<BulkView | null> {
    await this.#env.readyToWrite()
    const { patientBook: book, runtime } = this.#env
    for (let tries = 0; tries < TRIES; tries++) {
      const kept = await book.get(id)
      if (kept === null) return null
      if (kept.record.status !== 'running') return bulkView(kept)
      // Its holder stays in the record: it may still have a page to add.
      const record: BulkRecord = { ...kept.record, status: 'stopped', endedAt: runtime.now() }
      if (await book.put(id, record, runtime.uuid(), kept.revision)) return bulkView({ id, record })
    }
    throw new SkepError('STORE_REJECTED', `Bulk action "${id}" changes too fast to be stopped. Try again.`)
  }

  /** Works bulk actions off in this process, as workers do. For processes without a worker, such as a server. */
  serve(): { stop(): Promise<void> } {
    if (this.#isClosed) throw new SkepError('CLOSED', 'This Skep is closed. Make a new one with createSkep.')
    const { runtime, logger, notifier, ready } = this.#env
    const loop = supervise('bulk', { runtime, logger }, async (signal) => {
      await ready()
      return this.runner.turn(signal)
    })
    const subscription = notifier.subscribe((hints) => {
      if (hints.some((hint) => this.runner.concerns(hint))) loop.wake()
    })
    const stop = async (): Promise<void> => {
      this.#served.delete(stop)
      subscription.end()
      await loop.stop()
    }
    this.#served.add(stop)
    return { stop }
  }

  /** Ends what this process works off, and lets others go on with it. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#served].map((stop) => stop()))
    // If the store is away, others see in a while that nobody goes on.
    await atMost(this.#env.runtime, RELEASE_MS, this.runner.release())
    this.runner.close()
  }
}

/** Judges what was asked for, before anything is written. */
function recordOf(options: BulkOptions, now: number): Omit<BulkRecord, 'startedAt' | 'expected'> {
  const {
    action,
    name,
    by = '',
    reason,
    priority,
    priorityMode = 'head-start',
    perSecond,
    delay = 0,
  } = options
  if (!BULK_ACTIONS.includes(action)) {
    throw new SkepError(
      'OPTION_INVALID',
      `${show(action)} is not a bulk action. Use one of: ${BULK_ACTIONS.join(', ')}.`,
    )
  }
  const query = printQuery(parseQuery(options.query))
  if (query === '') {
    throw new SkepError(
      'QUERY_INVALID',
      'The query of a bulk action must say which jobs; an empty one means all there are.',
    )
  }
  if (action === 'prioritize') assertWhole('priority', priority as number, -LIMITS.priority, LIMITS.priority)
  assertPriorityMode(priorityMode)
  if (options.expected !== undefined) assertWhole('expected', options.expected, 0, Number.MAX_SAFE_INTEGER)
  if (perSecond !== undefined) assertWhole('perSecond', perSecond, 1, 100_000)
  const delayMs = toMs('delay', delay)
  assertWhole('delay', delayMs, 0, LIMITS.delayMs)
  const queue = action === 'move' ? queueOf(options) : null
  return {
    name: clean(name ?? (queue === null ? `${action} ${query}` : `${action} ${query} to ${queue}`), 256),
    action,
    query,
    by: clean(by, 256),
    status: 'running',
    searched: 0,
    changed: 0,
    refused: 0,
    endedAt: null,
    error: null,
    reason: reason === undefined ? null : clean(reason, LIMITS.reasonBytes),
    priority: priority ?? 0,
    priorityMode,
    dueAt: action === 'reschedule' ? dueOf(options, now) : null,
    queue,
    moving: null,
    beginsAt: now + delayMs,
    perSecond: perSecond ?? null,
    cursor: null,
    bound: null,
    holder: null,
  }
}

function dueOf({ when }: BulkOptions, now: number): number {
  if (when === undefined)
    throw new SkepError('OPTION_INVALID', 'A reschedule needs `when`: a Date, or a delay.')
  return dueMoment(when, now)
}

function queueOf({ queue }: BulkOptions): string {
  if (queue === undefined) throw new SkepError('OPTION_INVALID', 'A move needs the `queue` that jobs go to.')
  assertName('Queue', queue)
  if (flowOfQueue(queue) === null) return queue
  throw new SkepError(
    'OPTION_INVALID',
    `Queue ${show(queue)} moves the runs of a flow on; no other job can go there.`,
  )
}
