import type { Group, Membership, NewGroup } from '../../core/flows/groups.ts'
import type { NewRun, Run } from '../../core/flows/runs.ts'
import type { Job, NewJob, Unique } from '../../core/jobs/job.ts'
import { storedPriority } from '../../core/jobs/priority.ts'
import type { AddMembersCall } from '../../store/flows.ts'
import type { Settlement } from '../../store/store.ts'
import type { Random } from '../random.ts'
import type { Step } from './commands.ts'

export const SPACES = ['acme', 'globex'] as const
export const QUEUES = ['mail', 'report'] as const
export const START = 1_800_000_000_000

/** A member's number that nobody has yet. */
export interface Slot extends Membership {
  readonly space: string
}

/** What a history remembers of what it did. */
export interface Memory {
  readonly jobs: Map<string, NewJob>
  /** Every lease ever given, the newest last. */
  readonly leases: { readonly space: string; readonly id: string; readonly token: string }[]
  readonly settled: { readonly settlement: Settlement; readonly at: number }[]
  /** Jobs that left the store, in whatever way, and that it has to remember. */
  readonly left: { readonly id: string; readonly at: number }[]
  readonly groups: Map<string, NewGroup>
  /** Groups that are not made yet, although somebody may speak of them. */
  readonly planned: NewGroup[]
  readonly runs: Map<string, NewRun>
  slots: Slot[]
  readonly told: Slot[]
  /** What has joined open groups. */
  readonly added: AddMembersCall[]
  /** Unique keys of jobs that groups will enqueue. */
  readonly taken: Set<string>
}

export interface Draw {
  readonly random: Random
  readonly memory: Memory
  /** The jobs in the store. */
  readonly present: readonly Job[]
  readonly now: number
  readonly fresh: () => string
  readonly token: () => string
  /** Whether there are lanes, limits and holds. */
  readonly limited: boolean
  /** Whether there are groups and runs, and those in the store. */
  readonly flowing: boolean
  readonly groups: readonly Group[]
  readonly runs: readonly Run[]
  /** What comes before anything else is drawn. */
  readonly soon: Step[]
  /** A number that no group, run or job has. */
  readonly number: () => number
}

/** A job; with groups, often a member of one. */
export function drawJob(it: Draw, within?: string): NewJob {
  const { random, now, fresh, limited } = it
  const id = fresh()
  const queue = random.chance(0.7) ? QUEUES[0] : QUEUES[1]
  const slot = it.flowing && random.chance(0.5) ? takeSlot(it, { space: within }) : null
  return {
    id,
    space: slot?.space ?? within ?? drawSpace(random),
    queue,
    payload: random.pick(['{}', '"é%_"', '[1.0, 2]', `"${id.slice(-4)}"`]),
    headers: random.chance(0.2) ? '{"a":"b"}' : null,
    priority: random.chance(0.7) ? 0 : random.pick(PRIORITIES),
    delayMs: random.chance(0.6) ? 0 : random.pick([1, 500, 5_000, 3_600_000]),
    runAt: random.chance(0.9) ? null : now + random.pick([-1_000, 0, 1, 60_000]),
    unique: random.chance(it.flowing ? 0.7 : 0.5) ? null : drawUnique(random),
    overrides: random.chance(0.1) ? '{"timeoutMs":1}' : null,
    lane: limited ? random.pick([null, ...LANES]) : null,
    // See declareStrict.
    strict: limited && queue === QUEUES[1],
    cost: limited && random.chance(0.2) ? random.pick([2, 5]) : 1,
    member: slot && { group: slot.group, n: slot.n },
  }
}

export function drawSpace(random: Random): string {
  return random.chance(0.8) ? SPACES[0] : SPACES[1]
}

/** A number for a new member: of this group, or of one in this space, if they are given. */
export function takeSlot(
  { random, memory }: Draw,
  { group, space }: { readonly group?: string | undefined; readonly space?: string | undefined } = {},
): Slot | null {
  const fit = memory.slots
    .filter((slot) => group === undefined || slot.group === group)
    .filter((slot) => space === undefined || slot.space === space)
  if (fit.length === 0) return null
  // Mostly of the oldest group, so that groups come to their end.
  const slot = random.chance(0.6) ? (fit[0] as Slot) : random.pick(fit)
  memory.slots = memory.slots.filter((other) => other !== slot)
  return slot
}

export const LANES = ['a', 'b', 'é'] as const

/** Head starts, and strict priorities as they are stored. */
export const PRIORITIES: readonly number[] = [
  -100,
  -1,
  1,
  2,
  100,
  ...[-100, -1, 1, 2, 100].map((p) => storedPriority(p, 'strict')),
]

export function drawUnique(random: Random): Unique {
  const scope = random.pick(['queued', 'active', 'window'] as const)
  return {
    key: random.pick(['a', 'b', 'A', 'a ']),
    scope,
    windowMs: scope === 'window' ? random.pick([1, 1_000, 60_000]) : 0,
    onConflict: random.pick(['ignore', 'replace', 'postpone'] as const),
  }
}

/** Up to `most` different items, in any order. */
export function sampleOf<T>(random: Random, items: readonly T[], most: number): T[] {
  return shuffled(random, items).slice(0, random.int(0, most))
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const list = [...items]
  for (let n = list.length - 1; n > 0; n--) {
    const other = random.int(0, n)
    ;[list[n], list[other]] = [list[other] as T, list[n] as T]
  }
  return list
}
