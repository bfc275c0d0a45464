/**
 * A group waits for its members. A member is a job, a run of a flow, or something that somebody outside tells of; each has a
 * number. When it has ended, that is its *outcome*, and however often it is retried or retried it has one: a member counts
 * once, by its number. Groups never ask: whatever ends a member counts it in the same transaction, and when that makes
 * one of the group's events true, the group *fires*: it enqueues the job that was put down for that event when the
 * group was made. Each event fires at most once.
 *
 *   success   as many are done as are needed
 *   failure   that cannot be any more, or shall not: see {@link Failing}
 *   settled   all have ended, in whatever way
 *
 * A member that ended badly and is retried has not ended any more. So a group can fire its failure and, after somebody
 * has mended a member, its success. One that was done and is retried stays done until it ends again: what follows may
 * be about to read its result. And when the group has succeeded it stays done if it ends badly then, see {@link staysDone}.
 *
 * A group may be *open*: members come over time, and nobody knows how many there will be. It is over when somebody has
 * *sealed* it and they all have ended. Its size says which it is, see {@link OPEN}; so whatever counts its members need not ask.
 */
import type { FinalState, NewJob } from '../jobs/job.ts'

/** Which member of which group a job or a run is. */
export interface Membership {
  readonly group: string
  /** Its number: 0 to the size of the group, exclusive. */
  readonly n: number
}

/** The size of an open group that nobody has joined yet. With each member it goes down by one: no count ever meets it. */
export const OPEN = -1

/** What an open group needs that needs all: as many as it will have when it is sealed. */
export const NEEDS_ALL = 2_147_483_647

export const GROUP_EVENTS = ['success', 'failure', 'settled'] as const

export type GroupEvent = (typeof GROUP_EVENTS)[number]

/**
 * When a group has failed: at the `first` member that was not done; when it is `hopeless`, so that enough can no longer
 * be done; or in the `end`, when all have ended and not enough are done.
 */
export type Failing = 'first' | 'hopeless' | 'end'

/** A group as it is handed to a store to be made. */
export interface NewGroup {
  /** Made by the client, so that making the same group twice is harmless. */
  readonly id: string
  readonly space: string
  /** The run that waits for it, if one does: the group is kept as long as that is. */
  readonly run: string | null
  /** Below zero while it is open, see {@link OPEN}. */
  readonly size: number
  /** So many must be done. */
  readonly need: number
  readonly failing: Failing
  /** What it enqueues. */
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
  /** When all had ended. */
  readonly endedAt: number | null
}

/** How long outcomes are kept of a group that is not there: thirty days. */
export const UNMADE_MS = 2_592_000_000

/** What became of a member. */
export interface Outcome {
  readonly n: number
  /** The job or the run; null when somebody outside told of it. */
  readonly id: string | null
  readonly state: FinalState
  /** JSON text, or null. */
  readonly result: string | null
  readonly failure: string | null
}

/** Whether the outcome of a member that begins again is taken back. */
export function isTakenBack(state: FinalState): boolean {
  return state !== 'done'
}

/**
 * Whether a member that was done counts as done although it has been retried and ended badly: the group has succeeded, and what
 * follows may still have to read what the member gave. A success comes once, so if it were undone nobody would hear of the next one.
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

/** How many members a group has by now. */
export function memberCount({ size }: Pick<Group, 'size'>): number {
  return size < 0 ? OPEN - size : size
}

/** An open group after so many have joined it. */
export function joined(group: Group, count: number): Group {
  return { ...group, size: group.size - count }
}

/** An open group that gets no more members. Its events are still to be fired. */
export function sealed(group: Group, now: number): Group {
  const size = memberCount(group)
  const hasEnded = group.done + group.failed === size
  const need = group.need === NEEDS_ALL ? size : group.need
  return { ...group, size, need, endedAt: hasEnded ? now : null }
}

/** A group after a member of it has changed. Null: it has not ended. */
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

/** When a group that nobody waits for may be forgotten; null: not yet. */
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
