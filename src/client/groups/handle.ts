import { SkepError } from '../../core/errors.ts'
import { LIMITS } from '../../core/limits.ts'
import { show } from '../../core/names.ts'
import { assertOptions, type OptionKeys, optionKeys } from '../../core/options.ts'
import { cancelsRest, type JoinRule, type Settled } from '../flows/joins.ts'
import { RESULT_KEYS, type ResultOptions } from '../jobs/handle.ts'
import type { Groups, GroupsEnv, GroupView, InTransaction } from './groups.ts'
import { addTogether } from './insert-with-groups.ts'
import { assertOneMoment, type GroupOptions, type JobDraft, makeMembers } from './members.ts'

/** What is known of a group besides its id. */
export interface GroupFacts {
  /** The job that follows its success. */
  readonly nextId?: string | null
  /** What `result()` gives. @default what its members gave */
  readonly gives?: 'members' | 'next' | 'last'
  /** The pieces of a long chain, in their order. */
  readonly pieces?: readonly string[]
}

/** A group of jobs that was enqueued. `Given` is what it gives as a whole. */
export class GroupHandle<Result = unknown, Given = readonly Result[]> {
  readonly id: string
  /** The id of the job that runs when it has succeeded (its `next`, the body of a chord); null without one. */
  readonly nextId: string | null
  readonly #groups: Groups
  readonly #facts: GroupFacts

  constructor(groups: Groups, id: string, facts: GroupFacts = {}) {
    this.#groups = groups
    this.#facts = facts
    this.id = id
    this.nextId = facts.nextId ?? null
  }

  /**
   * What it gives, once all of its members have ended: their results in order, of a chord what the body returned, of a chain what
   * the last job returned. Waits for a hint, not by polling. Rejects with `JOB_FAILED` if fewer members than needed are done,
   * and as `job.result()` does.
   */
  async result(options: ResultOptions = {}): Promise<Given> {
    assertOptions(RESULT_KEYS, options)
    return (await this.#groups.result(this.id, this.#facts, options)) as Given
  }

  /** What became of each member, once all have ended. A member that failed does not reject it. */
  async settled(options: ResultOptions = {}): Promise<readonly Settled<Result>[]> {
    assertOptions(RESULT_KEYS, options)
    return this.#groups.settled(this.id, options) as Promise<readonly Settled<Result>[]>
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

export const OPEN_KEYS: OptionKeys = optionKeys<OpenGroupOptions>('groups.open()', {
  join: true,
  next: true,
  onFailure: true,
  onComplete: true,
  keep: true,
  tx: true,
})
const ADD_KEYS = optionKeys<AddOptions>('add()', { seal: true, tx: true })
const SEAL_KEYS = optionKeys<InTransaction>('seal()', { tx: true })

/** A group that members join over time, until somebody seals it. */
export class OpenGroup<Result = unknown> extends GroupHandle<Result> {
  readonly key: string
  readonly #env: GroupsEnv

  constructor(groups: Groups, env: GroupsEnv, key: string, id: string, nextId: string | null = null) {
    super(groups, id, { nextId })
    this.#env = env
    this.key = key
  }

  /** Enqueues jobs as members: all of them, or none if the group is sealed. */
  async add(drafts: readonly JobDraft<Result>[], options: AddOptions = {}): Promise<void> {
    assertOptions(ADD_KEYS, options)
    const { seal = false, tx } = options
    const env = this.#env
    if (drafts.length > LIMITS.addedJobs) {
      throw new SkepError(
        'BATCH_TOO_LARGE',
        `${drafts.length} jobs shall join a group; at most ${LIMITS.addedJobs} can at once. Add them in several calls.`,
      )
    }
    const { status, size } = await env.calls.run(async () => {
      const jobs = await env.calls.unlessClosed(makeMembers(env, this.id, drafts))
      await env.readyToWrite()
      return addTogether(env, { space: env.space, group: this.id, jobs, seal }, tx)
    })
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
  async seal(options: InTransaction = {}): Promise<void> {
    assertOptions(SEAL_KEYS, options)
    return this.add([], { seal: true, tx: options.tx })
  }
}

export function assertOpenable(options: OpenGroupOptions): void {
  assertOneMoment(options)
  const { join } = options
  if (join !== undefined && cancelsRest(join)) {
    throw new SkepError(
      'OPTION_INVALID',
      `An open group cannot have ${join.kind}: what joins it after that was decided would not be cancelled. Use all or settled.`,
    )
  }
}
