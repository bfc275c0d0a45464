import type { Path, Undoable } from './definition.ts'

/** The position of a run, stored with it as JSON. It does not grow with the number of finished steps. */
export interface Position {
  /** The queue of the jobs that move it. */
  readonly queue: string
  /** Added to the priorities of its jobs and branches. */
  readonly priority: number
  /** Of a branch: its name in the parent flow. */
  readonly name?: string
  /** The current node; past the last one when the run has ended. */
  readonly path: Path
  /** The name of the step it waits at; null before the first and after the last. */
  readonly step: string | null
  /** The step to continue from, by name: resolved when it does. */
  readonly from?: string
  /** What it waits for there. Any other event comes too late. */
  readonly waits: Waits | null
  /** The number of iterations of each loop, by the path of the loop. */
  readonly rounds: Readonly<Record<string, number>>
  /** The branch each `when` took last, by its path. */
  readonly took: Readonly<Record<string, 'then' | 'else'>>
  /** How often each signal was waited for, by name. */
  readonly signals: Readonly<Record<string, number>>
  /** Finished steps that can be undone, in order. */
  readonly done: readonly Undoable[]
  /** Why it fails: from then on it only compensates. */
  readonly failure: string | null
  /** The groups of its undo jobs: these may be retried. Empty again after a retry. */
  readonly undos: readonly string[]
}

/** A group with `size` members, or a timer. */
export interface Waits {
  readonly id: string
  readonly size: number
  readonly kind: 'jobs' | 'branches' | 'signal' | 'moment'
  /** The number of members that must be done. */
  readonly need?: number
  /** Whether unfinished members are cancelled once it is decided. */
  readonly cancels?: boolean
  /** The job that moves it, unless it is one of the group's own. */
  readonly job?: string
  /** The duration, from the arrival of the run at this step. */
  readonly ms?: number
}

const BEGINNING: Waits = { id: 'begin', size: 0, kind: 'moment' }

const START: Position = {
  queue: '',
  priority: 0,
  path: [0],
  step: null,
  waits: BEGINNING,
  rounds: {},
  took: {},
  signals: {},
  done: [],
  failure: null,
  undos: [],
}

/** The position of a new run; `job` moves it to its first step. */
export function startOf(head: Pick<Position, 'queue' | 'priority' | 'name'>, job?: string): Position {
  return { ...START, ...head, waits: beginning(job) }
}

/** What a starting or restarting run waits for: the job that moves it. */
export function beginning(job?: string): Waits {
  return job === undefined ? BEGINNING : { ...BEGINNING, job }
}

export function readPosition(text: string): Position {
  return { ...START, ...(JSON.parse(text) as Partial<Position>) }
}
