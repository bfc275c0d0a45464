import { SkepError } from '../core/errors.ts'
import { LIMITS } from '../core/limits.ts'
import { show } from '../core/names.ts'
import type { GroupOptions, JobDraft } from './group-maker.ts'
import { assertOneMoment, makeMembers } from './group-maker.ts'
import type { Groups, GroupsEnv, GroupView, InTransaction } from './groups.ts'
import { addTogether } from './insert-together.ts'
import { cancelsRest, type JoinRule, type Settled } from './joins.ts'

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

export interface OpenGroupOptions extends GroupOptions, InTransaction {
  /** `first` and `failFast` are not for open groups: what joins later would not be cancelled. @default all */
  readonly join?: JoinRule<'all' | 'settled'>
}

export interface AddOptions extends InTransaction {
  /** These are the last: the group is sealed with them, in one transaction. @default false */
  readonly seal?: boolean
}

/** A group that members join over time, until somebody seals it. */
export class OpenGroup<Result = unknown> extends GroupHandle<Result> {
  readonly key: string
  readonly #env: GroupsEnv

  constructor(groups: Groups, env: GroupsEnv, key: string, id: string) {
    super(groups, id)
    this.#env = env
    this.key = key
  }

  /** Enqueues jobs as members: all of them, or none if the group is sealed. */
  async add(drafts: readonly JobDraft<Result>[], { seal = false, tx }: AddOptions = {}): Promise<void> {
    const env = this.#env
    if (drafts.length > LIMITS.addedJobs) {
      throw new SkepError(
        'BATCH_TOO_LARGE',
        `${drafts.length} jobs shall join a group; at most ${LIMITS.addedJobs} can at once. Add them in several calls.`,
      )
    }
    const jobs = await makeMembers(env, this.id, drafts)
    await env.readyToWrite()
    const { status, size } = await addTogether(env, { space: env.space, group: this.id, jobs, seal }, tx)
    if (status === 'ok') return
    const facts = { key: this.key, id: this.id }
    if (status === 'unknown') {
      const missing = `There is no group ${show(this.key)}: open it first, or it is not kept any more.`
      throw new SkepError('JOB_NOT_FOUND', missing, { facts })
    }
    throw new SkepError(
      'GROUP_SEALED',
      `Group ${show(this.key)} was sealed with ${size} members, so no more can join it, and none of these jobs was enqueued. ` +
        'Open a group with another key.',
      { facts },
    )
  }

  /** Nobody joins any more: what follows comes when all have ended, or now if they have. To seal it again does nothing. */
  seal({ tx }: InTransaction = {}): Promise<void> {
    return this.add([], { seal: true, tx })
  }
}

export function assertOpenable(options: OpenGroupOptions): void {
  const { join } = options
  if (join !== undefined && cancelsRest(join)) {
    throw new SkepError(
      'OPTION_INVALID',
      `An open group cannot have ${join.kind}: what joins it after that was decided would not be cancelled. Use all or settled.`,
    )
  }
  assertOneMoment(options)
}
