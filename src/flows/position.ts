import type { Path, Undoable } from './definition.ts'

/** Where a run stands. Stored with it as JSON. It does not grow with the steps that are done. */
export interface Position {
  /** The queue of the jobs that move it on. */
  readonly queue: string
  /** What the priorities of its jobs and branches are added to. */
  readonly priority: number
  /** Of a branch: what it is called in the flow that it is a branch of. */
  readonly name?: string
  /** The node it is at; behind the last one when it has ended. */
  readonly path: Path
  /** The name of the step that it waits at; null before the first and after the last. */
  readonly step: string | null
  /** The step from which somebody wants it to go on, by name: found when it does. */
  readonly from?: string
  /** What it waits for there. Whatever else wants to move it on comes too late. */
  readonly waits: Waits | null
  /** How often each loop has gone round, by the path of the loop. */
  readonly rounds: Readonly<Record<string, number>>
  /** Which way each `when` went last, by its path. */
  readonly took: Readonly<Record<string, 'then' | 'else'>>
  /** How often each signal was waited for, by name. */
  readonly signals: Readonly<Record<string, number>>
  /** What is done and can be undone, the last one last. */
  readonly done: readonly Undoable[]
  /** Why it fails, once it does: from then on it only undoes. */
  readonly failure: string | null
  /** The groups of its undo jobs: these may be retried. Empty again after a retry. */
  readonly undos: readonly string[]
}

/** A group with so many members, or a moment. */
export interface Waits {
  readonly id: string
  readonly size: number
  readonly kind: 'jobs' | 'branches' | 'signal' | 'moment'
  /** So many members must be done. */
  readonly need?: number
  /** Members that have not ended when it is decided are cancelled. */
  readonly cancels?: boolean
  /** The job that moves it on, unless that is one of the group's own. */
  readonly job?: string
  /** Until so long after the run came here. */
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

/** Where a new run stands; `job` moves it on to its first step. */
export function startOf(head: Pick<Position, 'queue' | 'priority' | 'name'>, job?: string): Position {
  return { ...START, ...head, waits: beginning(job) }
}

/** What a run waits for that begins, or begins again: the job that moves it on. */
export function beginning(job?: string): Waits {
  return job === undefined ? BEGINNING : { ...BEGINNING, job }
}

export function readPosition(text: string): Position {
  return { ...START, ...(JSON.parse(text) as Partial<Position>) }
}
