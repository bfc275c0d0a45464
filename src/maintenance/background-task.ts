import type { Hint } from '../notifier/notifier.ts'

/** A background task of a worker's process: a loop, woken by the hints that concern it. */
export interface Duty {
  readonly name: string
  /** Executes one turn, and returns after how many milliseconds to start the next. */
  turn(signal: AbortSignal): Promise<number>
  concerns(hint: Hint): boolean
  /** Only a few workers run it; others take over when those are gone. */
  readonly isForFew?: boolean
}
