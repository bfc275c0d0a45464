import type { Duration } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import type { Group, Outcome } from '../core/groups.ts'
import { show } from '../core/names.ts'
import type { Notifier } from '../notifier.ts'
import { workHint } from '../notifier.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'
import { type GroupEnv, type GroupOptions, type JobDraft, makeChain, makeGroup } from './group-maker.ts'
import type { Settled } from './joins.ts'

/** How a group stands. */
export interface GroupView {
  readonly id: string
  readonly size: number
  readonly done: number
  readonly failed: number
  readonly endedAt: Date | null
}

export interface GroupsEnv extends GroupEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly ready: () => Promise<unknown>
}

/** A group of jobs that was enqueued. */
export class GroupHandle<Result = unknown> {
  readonly id: string
  readonly #groups: Groups

  constructor(groups: Groups, id: string) {
    this.#groups = groups
    this.id = id
  }

  /** How many have ended, or null if it is not kept any more. */
  get(): Promise<GroupView | null> {
    return this.#groups.get(this.id)
  }

  /** What became of those that have ended, by their numbers; of the others there is nothing. */
  results(): Promise<readonly (Settled<Result> | undefined)[]> {
    return this.#groups.results(this.id) as Promise<readonly (Settled<Result> | undefined)[]>
  }
}

/** Jobs that depend on jobs, without a flow: groups, chains and what is made of them. */
export class Groups {
  readonly #env: GroupsEnv

  constructor(env: GroupsEnv) {
    this.#env = env
  }

  /** Enqueues jobs at the same time, and what follows them. All or nothing; an empty group is over at once. */
  async group<Result>(
    drafts: readonly JobDraft<Result>[],
    options: GroupOptions = {},
  ): Promise<GroupHandle<Result>> {
    await this.#env.ready()
    const { group, jobs } = await makeGroup(this.#env, drafts, options)
    await this.#insert([group], jobs)
    return new GroupHandle(this, group.id)
  }

  /** One job after the other, each when the one before it is done, with its result by `results()`. */
  async chain(drafts: readonly JobDraft[]): Promise<GroupHandle> {
    if (drafts.length === 0) throw new SkepError('OPTION_INVALID', 'A chain needs at least one job.')
    await this.#env.ready()
    const { groups, jobs, last } = await makeChain(this.#env, drafts)
    await this.#insert(groups, jobs)
    return new GroupHandle(this, last)
  }

  /** Many jobs, and then one with all their results. */
  chord<Result>(drafts: readonly JobDraft<Result>[], body: JobDraft): Promise<GroupHandle<Result>> {
    return this.group(drafts, { next: body })
  }

  /** Callbacks for many jobs: when all are done, when all have ended, and at the first that is not done. */
  batch<Result>(
    drafts: readonly JobDraft<Result>[],
    {
      onSuccess,
      onComplete,
      onDeath,
      keep,
    }: {
      readonly onSuccess?: JobDraft
      readonly onComplete?: JobDraft
      readonly onDeath?: JobDraft
      readonly keep?: Duration
    } = {},
  ): Promise<GroupHandle<Result>> {
    return this.group(drafts, {
      join: { kind: 'failFast', join: { need: 'all', failing: 'first' } },
      ...(onSuccess && { next: onSuccess }),
      ...(onDeath && { onFailure: onDeath }),
      ...(onComplete && { onComplete }),
      ...(keep !== undefined && { keep }),
    })
  }

  async get(id: string): Promise<GroupView | null> {
    await this.#env.ready()
    const group = await this.#find(id)
    if (group === null) return null
    const { size, done, failed, endedAt } = group
    return { id, size, done, failed, endedAt: endedAt === null ? null : new Date(endedAt) }
  }

  async results(id: string): Promise<readonly (Settled<unknown> | undefined)[]> {
    await this.#env.ready()
    const group = await this.#find(id)
    if (group === null)
      throw new SkepError('JOB_NOT_FOUND', `There is no group ${show(id)}.`, { facts: { id } })
    return readResults(this.#env.store, group)
  }

  async #find(id: string): Promise<Group | null> {
    const { store, space } = this.#env
    return (await store.getGroups({ space, ids: [id] })).groups[0] ?? null
  }

  async #insert(
    groups: Parameters<Store['insert']>[0]['groups'],
    jobs: Parameters<Store['insert']>[0]['jobs'],
  ): Promise<void> {
    const { store, notifier } = this.#env
    const { results, enqueued = [] } = await store.insert({ jobs, groups: groups ?? [], fresh: true })
    const hints = jobs.flatMap((job, index) => {
      const result = results[index]
      return result?.status === 'ok' ? [workHint({ ...job, dueAt: result.dueAt })] : []
    })
    notifier.publish([...hints, ...enqueued.map((one) => ({ kind: 'work', ...one }) as const)])
  }
}

/** What became of the members of a group, by their numbers. */
export async function readResults(
  store: Pick<Store, 'outcomes'>,
  { space, id, size }: Pick<Group, 'space' | 'id' | 'size'>,
): Promise<readonly (Settled<unknown> | undefined)[]> {
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
