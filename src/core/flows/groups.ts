/**
 * A group waits for its members: jobs, runs of flows, or external members that a caller reports. Each has a
 * number. When it has ended, its state is its *outcome*. A member counts once, by its number, however often
 * it is retried. Groups never poll: the transaction that ends a member also counts it, and if that makes an
 * event of the group true, the group *fires*: it enqueues the job defined for that event, at most once.
 *
 *   success   as many members are done as are needed
 *   failure   success is no longer possible, or no longer wanted: see {@link Failing}
 *   settled   all members have ended, in any state
 *
 * Retrying a member that ended badly takes its outcome back, so a group can fire its failure and later its
 * success. A done member that is retried stays done until it ends again, because the next job may be about to
 * read its result; once the group has succeeded it stays done for good, see {@link staysDone}.
 *
 * Members may be added to an *open* group over time. It ends once it is *sealed* and all members have ended.
 * Its size shows that it is open, see {@link OPEN}, so counting a member needs no extra check.
 */
import type { FinalState, NewJob } from '../jobs/job.ts'

export interface Membership {
  readonly group: string
  /** Its number: 0 to the size of the group, exclusive. */
  readonly n: number
}

/** The size of an open group without members. Each member lowers it by one, so no count ever equals it. */
export const OPEN = -1

/** The `need` of an open group that needs all members: replaced by its size when it is sealed. */
export const NEEDS_ALL = 2_147_483_647

export const GROUP_EVENTS = ['success', 'failure', 'settled'] as const

export type GroupEvent = (typeof GROUP_EVENTS)[number]

/**
 * When a group has failed: at the `first` member that was not done; when it is `hopeless`, because too few
 * members are left to succeed; or in the `end`, when all have ended and too few are done.
 */
export type Failing = 'first' | 'hopeless' | 'end'

/** A group as it is passed to a store. */
export interface NewGroup {
  /** Made by the client, so creating the same group twice is idempotent. */
  readonly id: string
  readonly space: string
  /** The run that waits for it, if any: the group is kept as long as the run. */
  readonly run: string | null
  /** Below zero while it is open, see {@link OPEN}. */
  readonly size: number
  /** The number of members that must be done. */
  readonly need: number
  readonly failing: Failing
  /** The jobs it enqueues, by event. */
  readonly jobs: Readonly<Partial<Record<GroupEvent, NewJob>>>
  /** How long it is kept after all have ended, if no run waits for it. */
  readonly keepMs: number
}

/** Everything a store knows about a group, except its outcomes. */
export interface Group extends NewGroup {
  /** How many members are done, and how many have ended in another way. */
  readonly done: number
  readonly failed: number
  /** In the order of {@link GROUP_EVENTS}. */
  readonly fired: readonly GroupEvent[]
  readonly createdAt: number
  readonly endedAt: number | null
}

/** How long outcomes are kept for a group that does not exist: thirty days. */
export const UNMADE_MS = 2_592_000_000

export interface Outcome {
  readonly n: number
  /** The job or the run; null for an external member. */
  readonly id: string | null
  readonly state: FinalState
  /** JSON text, or null. */
  readonly result: string | null
  readonly failure: string | null
}

/** Whether retrying a member takes its outcome back. */
export function isTakenBack(state: FinalState): boolean {
  return state !== 'done'
}

/**
 * Whether a done member still counts as done after it was retried and ended badly: the group has succeeded,
 * and the next job may still read the result. Success fires only once.
 */
export function staysDone(
  { fired, need }: Pick<Group, 'fired' | 'need'>,
  was: FinalState | null,
  is: FinalState,
): boolean {
  return was === 'done' && is !== 'done' && need > 0 && fired.includes('success')
}

export function createGroup(group: NewGroup, now: number): Group {
  return { ...group, done: 0, failed: 0, fired: [], createdAt: now, endedAt: null }
}

export function isOpen({ size }: Pick<Group, 'size'>): boolean {
  return size < 0
}

export function memberCount({ size }: Pick<Group, 'size'>): number {
  return size < 0 ? OPEN - size : size
}

export function joined(group: Group, count: number): Group {
  return { ...group, size: group.size - count }
}

/** An open group that accepts no more members. Its events are still to be fired. */
export function sealed(group: Group, now: number): Group {
  const size = memberCount(group)
  const hasEnded = group.done + group.failed === size
  const need = group.need === NEEDS_ALL ? size : group.need
  return { ...group, size, need, endedAt: hasEnded ? now : null }
}

/** A group after one of its members has changed. Null: the member has not ended. */
export function counted(group: Group, was: FinalState | null, is: FinalState | null, now: number): Group {
  const done = group.done + Number(is === 'done') - Number(was === 'done')
  const failed = group.failed + Number(isFailed(is)) - Number(isFailed(was))
  const hasEnded = done + failed === group.size
  return { ...group, done, failed, endedAt: hasEnded ? (group.endedAt ?? now) : null }
}

/** The events that are true and have not fired. */
export function dueEvents(group: Group): readonly GroupEvent[] {
  return GROUP_EVENTS.filter((event) => !group.fired.includes(event) && isTrue(event, group))
}

/** The events that are true now, fired or not. */
export function trueEvents(group: Group): readonly GroupEvent[] {
  return GROUP_EVENTS.filter((event) => isTrue(event, group))
}

/** When a group without a run may be pruned; null: not yet. */
export function groupExpiresAt(group: Group): number | null {
  return group.run === null && group.endedAt !== null ? group.endedAt + group.keepMs : null
}

function isTrue(event: GroupEvent, group: Group): boolean {
  const { size, need, done, failed } = group
  switch (event) {
    case 'success':
      return done >= need
    case 'failure':
      return done < need && isHopeless(group)
    case 'settled':
      return done + failed === size
  }
}

function isHopeless({ failing, size, need, done, failed }: Group): boolean {
  switch (failing) {
    case 'first':
      return failed > 0
    case 'hopeless':
      return size - failed < need
    case 'end':
      return done + failed === size
  }
}

function isFailed(state: FinalState | null): boolean {
  return state !== null && state !== 'done'
}
