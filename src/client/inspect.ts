import { SkepError } from '../core/errors.ts'
import { type HoldKind, holdsQueue } from '../core/holds.ts'
import { JOB_STATES, type JobState } from '../core/job.ts'
import { LIMITS } from '../core/limits.ts'
import { assertName, show } from '../core/names.ts'
import type { Store, Where } from '../store.ts'
import { assertWhole } from '../worker/options.ts'
import { type HoldView, holdViews } from './holds.ts'
import { type JobView, viewOf } from './view.ts'

/** Which jobs to list. Without a queue, those of all queues, one queue after the other. */
export interface ListOptions {
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
  /** From the page before. */
  readonly cursor?: string
}

export interface JobPage {
  readonly jobs: readonly JobView[]
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
}

/** How many jobs a queue has in each state, and what keeps them back. */
export interface QueueView extends Readonly<Record<JobState, number>> {
  readonly queue: string
  /** How long the next ready job has been due, in milliseconds; null when none is ready. */
  readonly oldestMs: number | null
  /** Whether the queue as a whole is held. A block is shown before a pause; both must be gone. */
  readonly hold: HoldKind | null
  /** What is behind that: all holds on it, by its name, a pattern, its space or everywhere. */
  readonly holds: readonly HoldView[]
}

/** One page of jobs. Pages are by key, so they neither skip nor repeat while jobs come and go. */
export async function listJobs(store: Store, space: string, options: ListOptions): Promise<JobPage> {
  const limit = options.limit ?? 50
  assertWhole('limit', limit, 1, LIMITS.pageJobs)
  if (options.queue !== undefined) assertName('Queue', options.queue)
  const states = statesOf(options.state)
  const queues =
    options.queue === undefined
      ? (await store.counts({ space })).queues.map(({ queue }) => queue).toSorted()
      : [options.queue]
  const where = whereOf(options)

  const pairs = queues.flatMap((queue) => states.map((state) => ({ queue, state })))
  const start = options.cursor === undefined ? null : readCursor(options.cursor)
  // A queue may have vanished since the last page: then its successors follow.
  const same = pairs.findIndex(({ queue, state }) => queue === start?.queue && state === start.state)
  const next = same >= 0 ? same : pairs.findIndex(({ queue }) => start === null || queue > start.queue)
  const jobs: JobView[] = []
  for (let i = next; i >= 0 && i < pairs.length; i++) {
    const pair = pairs[i] as (typeof pairs)[number]
    const cursor = i === same && start !== null ? start.cursor : null
    const page = await store.list({ space, ...pair, where, limit: limit - jobs.length, cursor })
    jobs.push(...page.jobs.map(viewOf))
    if (page.cursor !== null) return { jobs, cursor: writeCursor({ ...pair, cursor: page.cursor }) }
    const following = pairs[i + 1]
    if (jobs.length >= limit) {
      return { jobs, cursor: following ? writeCursor({ ...following, cursor: null }) : null }
    }
  }
  return { jobs, cursor: null }
}

export function whereOf({ after, before, text }: Pick<ListOptions, 'after' | 'before' | 'text'>): Where {
  return {
    ...(after === undefined ? {} : { after: timeOf('after', after) }),
    ...(before === undefined ? {} : { before: timeOf('before', before) }),
    ...(text === undefined ? {} : { text }),
  }
}

function timeOf(what: string, moment: Date): number {
  const ms = moment.getTime()
  if (Number.isFinite(ms)) return ms
  throw new SkepError('OPTION_INVALID', `${what} is not a valid date.`)
}

/** The states of a queue in columns. */
export async function countJobs(
  store: Store,
  space: string,
  now: number,
  names?: readonly string[],
): Promise<QueueView[]> {
  const [{ queues }, standing] = await Promise.all([
    store.counts(names === undefined ? { space } : { space, queues: names }),
    store.holds({ space }),
  ])
  return queues.map(({ queue, states, oldestDueAt }) => {
    const holds = holdViews(standing.holds.filter((hold) => holdsQueue(hold, space, queue)))
    return {
      queue,
      ...states,
      oldestMs: oldestDueAt === null ? null : Math.max(0, now - oldestDueAt),
      hold: holds[0]?.kind ?? null,
      holds,
    }
  })
}

export function statesOf(state: ListOptions['state']): readonly JobState[] {
  const states = state === undefined ? JOB_STATES : typeof state === 'string' ? [state] : state
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

interface Position {
  readonly queue: string
  readonly state: JobState
  readonly cursor: string | null
}

function writeCursor({ queue, state, cursor }: Position): string {
  return Buffer.from(JSON.stringify([queue, state, cursor])).toString('base64url')
}

function readCursor(text: string): Position {
  try {
    const [queue, state, cursor] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
      string,
      JobState,
      string | null,
    ]
    statesOf(state)
    if (typeof queue !== 'string' || !(cursor === null || typeof cursor === 'string')) throw new TypeError()
    return { queue, state, cursor }
  } catch (cause) {
    throw new SkepError(
      'OPTION_INVALID',
      'The cursor is not one of ours. Use the cursor of the page before, unchanged.',
      {
        cause,
      },
    )
  }
}
