/**
 * What flows leave behind, beside the changes of their jobs: what was made, and every change of every run. It is written
 * by a witness that stands at the store itself, behind everything that can fail, so it tells what happened and not what
 * anybody was told.
 */
import type { Group, NewGroup, Outcome } from '../../../src/core/flows/groups.ts'
import type { Run } from '../../../src/core/flows/runs.ts'
import type { FlowShape } from './shape.ts'

export interface FlowHistory {
  /** In the order of their changes. */
  readonly runs: readonly RunEntry[]
  readonly groups: ReadonlyMap<string, GroupEntry>
  /** The members that were put down for each group, by number. */
  readonly members: ReadonlyMap<string, ReadonlyMap<number, MemberEntry>>
  readonly tells: readonly TellEntry[]
  /** When open groups were sealed. */
  readonly seals: ReadonlyMap<string, SealEntry>
  readonly calls: readonly MakingEntry[]
  /** What somebody who waited for a run was given, as JSON text. */
  readonly results: readonly { readonly run: string; readonly value: string }[]
  readonly shapes: readonly FlowShape[]
  /** Groups as they are in the end, with the outcomes of their members. */
  readonly final: ReadonlyMap<string, { readonly group: Group; readonly outcomes: readonly Outcome[] }>
  /** What the store's own audit had to mend in the end. */
  readonly mended: readonly string[]
}

/** One change of one run; `before` null is a new one. Its place is that of the call, before all that the call changed. */
export interface RunEntry {
  readonly n: number
  readonly at: number
  readonly before: Run | null
  readonly after: Run
}

export interface GroupEntry {
  readonly n: number
  readonly made: NewGroup
  /** The revision of its run that waits for it. */
  readonly revision: number
}

export interface MemberEntry {
  readonly id: string
  readonly kind: 'job' | 'run'
  /** The jobs to which its place was to be handed on, one after the other. */
  readonly later: readonly string[]
}

/** Somebody told of a member outside, and it counted. */
export interface TellEntry {
  readonly n: number
  readonly group: string
  readonly result: string | null
}

/** Nobody may join an open group from then on. */
export interface SealEntry {
  readonly n: number
  /** How many had joined it. */
  readonly size: number
}

/** A call that makes several things, of which all come into being or none. */
export interface MakingEntry {
  readonly runs: readonly string[]
  readonly groups: readonly string[]
  readonly jobs: readonly string[]
}
