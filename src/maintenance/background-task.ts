import type { Hint } from '../notifier/notifier.ts'

/** Something that a worker's process does beside its jobs: a loop, woken by the hints that concern it. */
export interface Duty {
  readonly name: string
  /** Does what there is to do, and says after how many milliseconds to look again. */
  turn(signal: AbortSignal): Promise<number>
  concerns(hint: Hint): boolean
  /** Only a few of the workers do it; to the others it is left when those are gone. */
  readonly isForFew?: boolean
}
