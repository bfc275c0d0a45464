import { type Keep, keepToMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { CHAIN_LENGTH, chained } from '../../core/flows/chains.ts'
import { isOpen, type Membership, NEEDS_ALL, type NewGroup } from '../../core/flows/groups.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertOptions, type OptionKeys, optionKeys } from '../../core/options.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type EnqueueOptions, type Prepare, prepareAll } from '../enqueue/enqueue.ts'
import { all, assertJoin, cancelsRest, type JoinRule } from '../flows/joins.ts'
import type { AnyQueue, Queue } from '../queues/queue.ts'

/** The header that tells a job which group enqueued it. */
export const GROUP_HEADER = 'skep-group'

/** Beside it: before the job's handler is called, the members of that group that have not ended are cancelled. */
export const REST_HEADER = 'skep-rest'

/** A job that is to be: made by `queue.job`. */
export interface JobDraft<Result = unknown> {
  readonly queue: AnyQueue
  readonly payload: unknown
  readonly options: DraftOptions
  /** Only for the compiler. */
  types?(result: Result): void
}

/** Without an id: a job that exists already would not become a member, and its group would wait for it for ever. */
export type DraftOptions = Omit<EnqueueOptions, 'tx' | 'id'>

const DRAFT_KEYS = optionKeys<DraftOptions>('queue.job()', {
  delay: true,
  runAt: true,
  priority: true,
  unique: true,
  headers: true,
  timeout: true,
  retention: true,
  lane: true,
  cost: true,
})

export interface GroupOptions {
  /** When it succeeds. @default all */
  readonly join?: JoinRule
  /** Runs when it has succeeded; its handler gets what became of the members by `results()`. */
  readonly next?: JobDraft
  /** Runs when it has failed, as its join says. */
  readonly onFailure?: JobDraft
  /** Runs when all have ended, in whatever way. */
  readonly onComplete?: JobDraft
  /** How long it is kept after all have ended. @default '3d' */
  readonly keep?: Keep
}

/** For groups that are enqueued by a handler. */
export const GROUP_KEYS: OptionKeys = optionKeys<GroupOptions>('spawn()', {
  join: true,
  next: true,
  onFailure: true,
  onComplete: true,
  keep: true,
})

export interface GroupEnv {
  readonly space: string
  readonly runtime: Runtime
  readonly prepare: Prepare
}

export interface MadeGroup {
  readonly group: NewGroup
  readonly jobs: readonly NewJob[]
}

/** Makes a group and its members. Nothing is written. */
export async function makeGroup(
  env: GroupEnv,
  drafts: readonly JobDraft[],
  options: GroupOptions,
): Promise<MadeGroup> {
  if (drafts.length > LIMITS.batchJobs) {
    throw new SkepError(
      'BATCH_TOO_LARGE',
      `A group got ${drafts.length} jobs; at most ${LIMITS.batchJobs} go in one. Use a group of groups.`,
    )
  }
  assertFollowed(drafts.length, options)
  const id = env.runtime.uuid()
  // Both read all payloads before they return.
  const [group, jobs] = await Promise.all([
    groupOf(env, id, drafts.length, options),
    makeMembers(env, id, drafts),
  ])
  return { group, jobs }
}

/** The jobs of a group, with numbers from 0. */
export function makeMembers(
  env: GroupEnv,
  group: string,
  drafts: readonly JobDraft[],
): Promise<readonly NewJob[]> {
  return prepareAll(drafts, (draft, n) => make(env, draft, { group, n }))
}

/** A group of this size, which may be `OPEN`. */
export async function groupOf(
  env: GroupEnv,
  id: string,
  size: number,
  { join = all, next, onFailure, onComplete, keep = '3d' }: GroupOptions,
): Promise<NewGroup> {
  const { need } = join.join
  const everyone = isOpen({ size }) ? NEEDS_ALL : size
  const ends = cancelsRest(join)
  const follow = async (draft: JobDraft | undefined, rest: boolean): Promise<NewJob | undefined> =>
    draft && following(await make(env, draft), id, rest)
  const [success, failure, settled] = await Promise.all([
    follow(next, ends),
    follow(onFailure, ends),
    follow(onComplete, false),
  ])
  return {
    id,
    space: env.space,
    run: null,
    size,
    need: need === 'all' ? everyone : need === 'none' ? 0 : need,
    failing: join.join.failing,
    // With `settled` nothing has to be done, so what follows waits for the end of all.
    jobs: {
      ...(success && (need === 'none' ? { settled: success } : { success })),
      ...(failure && { failure }),
      ...(settled && { settled }),
    },
    keepMs: keepToMs('keep', keep),
  }
}

/** With `settled` there is one moment for both. */
export function assertOneMoment({ join = all, next, onComplete }: GroupOptions): void {
  assertJoin('join', join)
  if (join.join.need === 'none' && next !== undefined && onComplete !== undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      'With settled, next and onComplete are for the same moment: when all have ended. Give one of them.',
    )
  }
}

/** The job that follows cancels what is left, so where something shall be cancelled there must be one. */
function assertFollowed(size: number, options: GroupOptions): void {
  assertOneMoment(options)
  const {
    kind,
    join: { need },
  } = options.join ?? all
  const { next, onFailure } = options
  if (typeof need === 'number' && need > size) {
    throw new SkepError(
      'OPTION_INVALID',
      `A group with first(${need}) got ${size} jobs, so it could never succeed. Give it at least ${need}.`,
    )
  }
  if (kind === 'first' && next === undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      'A group with first() cancels the others when its next job starts, and it has none. Give it a next, or use settled.',
    )
  }
  if (kind === 'failFast' && onFailure === undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      'A group with failFast cancels the others when its onFailure job starts, and it has none. Give it an onFailure, or use all.',
    )
  }
}

/**
 * One job after the other, see `core/chains.ts`. A long chain is cut into pieces; each is the only member of a group that
 * enqueues the next.
 */
export async function makeChain(
  env: GroupEnv,
  drafts: readonly JobDraft[],
  { keep = '3d' }: Pick<GroupOptions, 'keep'>,
): Promise<{
  readonly groups: readonly NewGroup[]
  readonly jobs: readonly NewJob[]
  readonly last: string
}> {
  const keepMs = keepToMs('keep', keep)
  const jobs = await prepareAll(drafts, (draft) => make(env, draft))
  const ids: string[] = []
  const pieces: NewJob[] = []
  for (let from = 0; from < jobs.length; from += CHAIN_LENGTH) {
    const group = env.runtime.uuid()
    const piece = chained(jobs.slice(from, from + CHAIN_LENGTH), { group, n: 0 })
    const before = ids.at(-1)
    pieces.push(before === undefined ? piece : following(piece, before, false))
    ids.push(group)
  }
  const groups = ids.map((id, index): NewGroup => {
    const next = pieces[index + 1]
    return {
      id,
      space: env.space,
      run: null,
      size: 1,
      need: 1,
      failing: 'end',
      jobs: next ? { success: next } : {},
      keepMs,
    }
  })
  return { groups, jobs: pieces.slice(0, 1), last: ids.at(-1) as string }
}

function make(
  { prepare }: GroupEnv,
  { queue, payload, options }: JobDraft,
  member?: Membership,
): NewJob | Promise<NewJob> {
  if (typeof queue?.name !== 'string') {
    throw new SkepError('OPTION_INVALID', 'A job of a group is made by a queue: queue.job(payload, options).')
  }
  if ('id' in options && options.id !== undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      'A job of a group cannot have an id of your choice: one that exists already would not be its member. Use unique.',
    )
  }
  assertOptions(DRAFT_KEYS, options)
  return prepare(queue as unknown as Queue, payload, options, member)
}

function following(job: NewJob, group: string, rest: boolean): NewJob {
  const headers = job.headers === null ? {} : (JSON.parse(job.headers) as Record<string, string>)
  const own = { [GROUP_HEADER]: group, ...(rest && { [REST_HEADER]: 'cancel' }) }
  return { ...job, headers: JSON.stringify({ ...headers, ...own }) }
}
