import { SkepError } from '../../core/errors.ts'
import {
  type Group,
  isOpen,
  memberCount,
  NEEDS_ALL,
  type NewGroup,
  OPEN,
  type Outcome,
} from '../../core/flows/groups.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertKey, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { keyedGroup } from '../../flows/signals.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import type { JoinRule, Settled } from '../flows/joins.ts'
import { patienceOf, type ResultOptions, readResult } from '../jobs/handle.ts'
import type { Awaiting, Results } from '../jobs/results.ts'
import type { Queue } from '../queues/queue.ts'
import {
  assertOpenable,
  type GroupFacts,
  GroupHandle,
  OPEN_KEYS,
  OpenGroup,
  type OpenGroupOptions,
} from './handle.ts'
import { type CountedEnv, insertTogether } from './insert-with-groups.ts'
import {
  type DraftOptions,
  type GroupEnv,
  type GroupOptions,
  groupOf,
  type JobDraft,
  makeChain,
  makeGroup,
} from './members.ts'

/** How a group stands. */
export interface GroupView {
  readonly id: string
  /** How many members it has, by now if it is open. */
  readonly size: number
  /** Whether members may still join it. */
  readonly isOpen: boolean
  readonly done: number
  readonly failed: number
  readonly endedAt: Date | null
}

export interface GroupsEnv extends GroupEnv, CountedEnv {
  readonly ready: () => Promise<unknown>
  readonly awaitingGroups: Awaiting<Group>
  /** The store with the patience of an enqueue. */
  readonly patient: Pick<Store, 'getGroups'>
  readonly results: Results
  /** With the patience of an enqueue. */
  readonly readyToWrite: () => Promise<unknown>
}

export interface InTransaction {
  /** Your open transaction: all of it exists if, and only if, it commits. */
  readonly tx?: unknown
}

export interface EnqueueGroupOptions extends GroupOptions, InTransaction {}

export interface MapOptions<Item> extends EnqueueGroupOptions {
  /** Options of the jobs, the same for all or by the item. */
  readonly job?: DraftOptions | ((item: Item, index: number) => DraftOptions)
}

export interface BatchOptions extends Pick<GroupOptions, 'keep'>, InTransaction {
  /** Runs when all are done. */
  readonly onSuccess?: JobDraft
  /** Runs when all have ended, in whatever way. */
  readonly onComplete?: JobDraft
  /** Runs at the first that is not done. The others go on. */
  readonly onDeath?: JobDraft
}

const GROUP_KEYS = optionKeys<EnqueueGroupOptions>('groups.group()', {
  join: true,
  next: true,
  onFailure: true,
  onComplete: true,
  keep: true,
  tx: true,
})
const CHAIN_KEYS = optionKeys<Pick<EnqueueGroupOptions, 'keep' | 'tx'>>('groups.chain()', {
  keep: true,
  tx: true,
})
const CHORD_KEYS = optionKeys<Pick<EnqueueGroupOptions, 'keep' | 'tx'>>('groups.chord()', {
  keep: true,
  tx: true,
})
const MAP_KEYS = optionKeys<MapOptions<unknown> & { readonly chunk?: number }>('groups.map()', {
  join: true,
  next: true,
  onFailure: true,
  onComplete: true,
  keep: true,
  tx: true,
  job: true,
  chunk: true,
})
const STARMAP_KEYS = optionKeys<MapOptions<unknown>>('groups.starmap()', {
  join: true,
  next: true,
  onFailure: true,
  onComplete: true,
  keep: true,
  tx: true,
  job: true,
})
const BATCH_KEYS = optionKeys<BatchOptions>('groups.batch()', {
  keep: true,
  tx: true,
  onSuccess: true,
  onComplete: true,
  onDeath: true,
})

/** A batch tells of its first death and goes on, so it is not `failFast`. */
const untilDeath: JoinRule = { kind: 'all', join: { need: 'all', failing: 'first' } }

/** What the last job of a list gives. */
export type LastResult<Drafts extends readonly JobDraft[]> = Drafts extends readonly [
  ...unknown[],
  JobDraft<infer Result>,
]
  ? Result
  : Drafts[number] extends JobDraft<infer Result>
    ? Result
    : unknown

/** Jobs that depend on jobs, without a flow: groups, chains and what is made of them. */
export class Groups {
  readonly #env: GroupsEnv

  constructor(env: GroupsEnv) {
    this.#env = env
  }

  /** Enqueues jobs at the same time, and what follows them. All or nothing; an empty group is over at once. */
  async group<Result>(
    drafts: readonly JobDraft<Result>[],
    given: EnqueueGroupOptions = {},
  ): Promise<GroupHandle<Result>> {
    assertOptions(GROUP_KEYS, given)
    const { tx, ...options } = given
    const { calls } = this.#env
    return calls.run(async () => {
      const { group, jobs } = await calls.unlessClosed(makeGroup(this.#env, drafts, options))
      await this.#env.readyToWrite()
      await insertTogether(this.#env, { jobs, groups: [group], fresh: true }, tx)
      return new GroupHandle(this, group.id, { nextId: nextOf(group) })
    })
  }

  /**
   * Opens a group that others find by its key, and that members join over time. Nothing follows before it is sealed and
   * all have ended. To open it again does nothing: what it was opened with first counts, also for `nextId`. With `tx` the `nextId`
   * is that of this call, because the transaction has not been committed.
   */
  async open<Result = unknown>(key: string, given: OpenGroupOptions = {}): Promise<OpenGroup<Result>> {
    assertOptions(OPEN_KEYS, given)
    const { tx, ...options } = given
    const group = this.keyed<Result>(key)
    assertOpenable(options)
    const { calls } = this.#env
    return calls.run(async () => {
      const made = await calls.unlessClosed(groupOf(this.#env, group.id, OPEN, options))
      await this.#env.readyToWrite()
      await insertTogether(this.#env, { jobs: [], groups: [made] }, tx)
      return new OpenGroup<Result>(this, this.#env, key, group.id, await this.#nextOfOpen(made, tx))
    })
  }

  /** An earlier call may have opened the group, and then it is followed by the job of that one. */
  async #nextOfOpen(made: NewGroup, tx: unknown): Promise<string | null> {
    // What a transaction has written is not visible to others, and it may hold the only connection.
    if (tx !== undefined) return nextOf(made)
    const { groups } = await this.#env.patient.getGroups({ space: made.space, ids: [made.id] })
    return nextOf(groups[0] ?? made)
  }

  /** The group that was opened with this key. Nothing is read, so `nextId` is null. */
  keyed<Result = unknown>(key: string): OpenGroup<Result> {
    assertKey('key', key)
    return new OpenGroup(this, this.#env, key, keyedGroup(this.#env.space, key))
  }

  /** One job after the other, each when the one before it is done, with its result by `results()`. */
  async chain<const Drafts extends readonly JobDraft[]>(
    drafts: Drafts,
    given: Pick<EnqueueGroupOptions, 'keep' | 'tx'> = {},
  ): Promise<GroupHandle<unknown, LastResult<Drafts>>> {
    assertOptions(CHAIN_KEYS, given)
    const { tx, ...options } = given
    if (drafts.length === 0) throw new SkepError('OPTION_INVALID', 'A chain needs at least one job.')
    const { calls } = this.#env
    return calls.run(async () => {
      const { groups, jobs, last } = await calls.unlessClosed(makeChain(this.#env, drafts, options))
      await this.#env.readyToWrite()
      await insertTogether(this.#env, { jobs, groups, fresh: true }, tx)
      return new GroupHandle(this, last, { gives: 'last', pieces: groups.map(({ id }) => id) })
    })
  }

  /** Many jobs, and then one with all their results. */
  async chord<Result, Given>(
    drafts: readonly JobDraft<Result>[],
    body: JobDraft<Given>,
    options: Pick<EnqueueGroupOptions, 'keep' | 'tx'> = {},
  ): Promise<GroupHandle<Result, Given>> {
    assertOptions(CHORD_KEYS, options)
    const { id, nextId } = await this.group(drafts, { ...options, next: body })
    return new GroupHandle(this, id, { nextId, gives: 'next' })
  }

  /** One job for each item. With `chunk` each gets an array of so many items, so that there are fewer jobs than items. */
  map<Item, Result, Output>(
    queue: Queue<readonly Item[] | Item[], Result, Output>,
    items: readonly NoInfer<Item>[],
    options: MapOptions<readonly NoInfer<Item>[]> & { readonly chunk: number },
  ): Promise<GroupHandle<Result>>
  map<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly NoInfer<Input>[],
    options?: MapOptions<NoInfer<Input>> & { readonly chunk?: never },
  ): Promise<GroupHandle<Result>>
  async map(
    queue: Queue,
    items: readonly unknown[],
    given: MapOptions<never> & { readonly chunk?: number } = {},
  ): Promise<GroupHandle> {
    assertOptions(MAP_KEYS, given)
    const { chunk, ...options } = given
    return this.#each(queue, chunk === undefined ? items : inChunks(items, chunk), options)
  }

  /**
   * One job for each list of arguments. `payload` makes a job's payload of the arguments; without it the list itself is
   * the payload.
   */
  starmap<Input extends readonly unknown[], Result, Output>(
    queue: Queue<Input, Result, Output>,
    lists: readonly NoInfer<Input>[],
    options?: MapOptions<NoInfer<Input>>,
  ): Promise<GroupHandle<Result>>
  starmap<Args extends readonly [unknown, ...unknown[]], Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    lists: readonly Args[],
    payload: (...args: Args) => NoInfer<Input>,
    options?: MapOptions<NoInfer<Input>>,
  ): Promise<GroupHandle<Result>>
  async starmap(
    queue: Queue,
    lists: readonly (readonly unknown[])[],
    payload: ((...args: never) => unknown) | MapOptions<never> = {},
    options: MapOptions<never> = {},
  ): Promise<GroupHandle> {
    assertOptions(STARMAP_KEYS, typeof payload === 'function' ? options : payload)
    if (typeof payload !== 'function') return this.#each(queue, lists, payload)
    const items = lists.map((list) => payload(...(list as never)))
    return this.#each(queue, items, options)
  }

  #each(
    queue: Queue,
    items: readonly unknown[],
    { job = {}, ...options }: MapOptions<never>,
  ): Promise<GroupHandle> {
    const optionsOf = typeof job === 'function' ? job : () => job
    const drafts = items.map((item, index) => queue.job(item, optionsOf(item as never, index)))
    return this.group(drafts, options)
  }

  /** Callbacks for many jobs: when all are done, when all have ended, and at the first that is not done. */
  async batch<Result>(
    drafts: readonly JobDraft<Result>[],
    given: BatchOptions = {},
  ): Promise<GroupHandle<Result>> {
    assertOptions(BATCH_KEYS, given)
    const { onSuccess, onDeath, ...options } = given
    return this.group(drafts, {
      ...options,
      join: untilDeath,
      ...(onSuccess && { next: onSuccess }),
      ...(onDeath && { onFailure: onDeath }),
    })
  }

  async get(id: string): Promise<GroupView | null> {
    await this.#env.ready()
    const group = await this.#find(id)
    if (group === null) return null
    const { done, failed, endedAt } = group
    const size = memberCount(group)
    return {
      id,
      size,
      isOpen: isOpen(group),
      done,
      failed,
      endedAt: endedAt === null ? null : new Date(endedAt),
    }
  }

  async results(id: string): Promise<readonly (Settled<unknown> | undefined)[]> {
    await this.#env.ready()
    const group = await this.#find(id)
    if (group === null)
      throw new SkepError('JOB_NOT_FOUND', `There is no group ${show(id)}.`, { facts: { id } })
    return readResults(this.#env.store, group)
  }

  async settled(id: string, options: ResultOptions): Promise<readonly Settled<unknown>[]> {
    const group = await this.#ended(id, options)
    const all = await readResults(this.#env.store, group)
    return all.map((one) => one ?? LEFT)
  }

  async result(
    id: string,
    { gives = 'members', nextId = null, pieces = [id] }: GroupFacts,
    options: ResultOptions,
  ): Promise<unknown> {
    let done: readonly unknown[] = []
    // A chain goes on with its next piece only when the one before it is done.
    for (const piece of pieces) done = await this.#resultsOf(piece, options)
    if (gives === 'members') return done
    if (gives === 'last') return done[0]
    const next = nextId as string
    return readResult(next, await this.#env.results.ended(next, patienceOf(options)))
  }

  async #resultsOf(id: string, options: ResultOptions): Promise<readonly unknown[]> {
    const group = await this.#ended(id, options)
    const all = await readResults(this.#env.store, group)
    const done = all.flatMap((one) => (one?.ok ? [one.result] : []))
    const need = group.need === NEEDS_ALL ? memberCount(group) : group.need
    if (done.length >= need) return need === 0 ? done : done.slice(0, need)
    const n = all.findIndex((one) => one?.ok === false)
    const failed = all[n] as Extract<Settled<unknown>, { ok: false }> | undefined
    throw new SkepError(
      'JOB_FAILED',
      `Group ${show(id)} failed: ${group.failed} of its ${memberCount(group)} members are not done` +
        (failed ? `; number ${n} is ${failed.state}: ${failed.failure.message}` : '.'),
      {
        facts: {
          id,
          member: n,
          failed: group.failed,
          ...(failed && { state: failed.state, failure: failed.failure }),
        },
      },
    )
  }

  async #ended(id: string, options: ResultOptions): Promise<Group> {
    await this.#env.ready()
    const group = await this.#env.awaitingGroups.ended(id, patienceOf(options))
    if (group !== null) return group
    throw new SkepError(
      'JOB_NOT_FOUND',
      `There is no group ${show(id)} in this space: it is not kept any more, or never was.`,
      { facts: { id } },
    )
  }

  async #find(id: string): Promise<Group | null> {
    const { store, space } = this.#env
    return (await store.getGroups({ space, ids: [id] })).groups[0] ?? null
  }
}

/** Without a failing member a group of this kind has one success, and it follows it. */
function nextOf({ need, jobs }: NewGroup): string | null {
  return (jobs.success ?? (need === 0 ? jobs.settled : undefined))?.id ?? null
}

/** A member that was retried after all had ended. */
const LEFT: Settled<unknown> = {
  ok: false,
  state: 'cancelled',
  failure: { message: 'It was retried after the group had ended.' },
}

function inChunks(items: readonly unknown[], chunk: number): readonly (readonly unknown[])[] {
  assertWhole('chunk', chunk, 1, LIMITS.payloadKeys)
  const count = Math.ceil(items.length / chunk)
  return Array.from({ length: count }, (_, n) => items.slice(n * chunk, (n + 1) * chunk))
}

/** What became of the members of a group, by their numbers. */
export async function readResults(
  store: Pick<Store, 'outcomes'>,
  group: Pick<Group, 'space' | 'id' | 'size'>,
): Promise<readonly (Settled<unknown> | undefined)[]> {
  const { space, id } = group
  const size = memberCount(group)
  const all: (Settled<unknown> | undefined)[] = Array.from({ length: size })
  for (let from = 0; from < size; ) {
    const { outcomes } = await store.outcomes({ space, groups: [id], from, limit: 1_000 })
    const page = outcomes[0] ?? []
    for (const outcome of page) all[outcome.n] = settledOf(outcome)
    if (page.length < 1_000) break
    from = (page.at(-1) as Outcome).n + 1
  }
  return all
}

/** What became of one member, as people see it. */
export function settledOf({ state, result, failure }: Outcome): Settled<unknown> {
  if (state === 'done') return { ok: true, result: result === null ? null : (JSON.parse(result) as unknown) }
  const said =
    failure === null ? { message: `It was ${state}.` } : (JSON.parse(failure) as { message: string })
  return { ok: false, state, failure: said }
}
