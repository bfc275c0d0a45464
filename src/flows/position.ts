import type { Path, Undoable } from './tree.ts'

/** A group or a moment. */
export interface Waits {
  readonly id: string
  readonly size: number
  /** So many members must be done. */
  readonly need?: number
  /** Members that have not ended when it is decided are cancelled. */
  readonly cancels?: boolean
}

/** Where a run stands. Stored with it as JSON. */
export interface Position {
  /** The queue of the jobs that move it on. */
  readonly queue: string
  /** The node it is at; behind the last one when it has ended. */
  readonly path: Path
  /** The step from which somebody wants it to go on, by name: found when it does. */
  readonly from?: string
  /** What it waits for there: a group with so many members, or a moment. Whatever else wants to move it on comes too late. */
  readonly waits: Waits | null
  /** How often each loop has gone round, by the path of the loop. */
  readonly rounds: Readonly<Record<string, number>>
  /** How often each signal was waited for, by name. */
  readonly signals: Readonly<Record<string, number>>
  /** What is done and can be undone, the last one last. */
  readonly done: readonly Undoable[]
  /** Why it fails, once it does: from then on it only undoes. */
  readonly failure: string | null
}

const START: Position = {
  queue: '',
  path: [0],
  waits: { id: 'begin', size: 0 },
  rounds: {},
  signals: {},
  done: [],
  failure: null,
}

/** Where a new run stands. */
export function startOf(queue: string): Position {
  return { ...START, queue }
}

export function readPosition(text: string): Position {
  return { ...START, ...(JSON.parse(text) as Partial<Position>) }
}
