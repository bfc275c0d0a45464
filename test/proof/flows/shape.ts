/**
 * The shape of a flow as plain data. The simulator makes a real flow of it, and the checker goes through it by itself: so
 * what a run must come to is said twice, by two who know nothing of each other.
 */
export interface FlowShape {
  readonly name: string
  readonly version: number
  readonly parts: readonly Part[]
}

export type Part = StepPart | EachPart | ParallelPart | WhenPart | RepeatPart | SleepPart | SignalPart

export interface StepPart {
  readonly kind: 'step'
  readonly name: string
  readonly work: Work
  /** Where its result goes; null: its fields go into the state, if it has any. */
  readonly as: string | null
  /** Its payload is only how large the state is, and not the state. */
  readonly isSmall: boolean
  readonly undo: boolean
}

export interface EachPart {
  readonly kind: 'each'
  readonly name: string
  readonly work: Work
  readonly items: number
  readonly join: JoinName
  /** For `first`. */
  readonly need: number
}

export interface ParallelPart {
  readonly kind: 'parallel'
  readonly branches: readonly {
    readonly name: string
    readonly work: Work | { readonly parts: readonly Part[] }
  }[]
  readonly join: 'all' | 'failFast'
}

export interface WhenPart {
  readonly kind: 'when'
  readonly divisor: number
  readonly yes: readonly Part[]
  readonly no: readonly Part[] | null
}

export interface RepeatPart {
  readonly kind: 'repeat'
  readonly most: number
  readonly divisor: number
  readonly body: readonly Part[]
}

export interface SleepPart {
  readonly kind: 'sleep'
  readonly ms: number
}

export interface SignalPart {
  readonly kind: 'signal'
  readonly name: string
  readonly timeoutMs: number | null
}

/** A job of a queue, or a run of another flow. */
export type Work = { readonly queue: string } | { readonly flow: FlowShape }

export type JoinName = 'all' | 'settled' | 'first' | 'failFast'

export type State = Readonly<Record<string, unknown>>

/** How large a state is: the same in whatever order its fields came. */
export function sizeOf(state: State): number {
  return JSON.stringify(state).length
}

/** Whether a `when` is taken. */
export function isTaken({ divisor }: WhenPart, state: State): boolean {
  return sizeOf(state) % divisor === 0
}

/** Whether a loop goes round once more. */
export function goesRound({ most, divisor }: RepeatPart, state: State, round: number): boolean {
  return round < most && (sizeOf(state) + round) % divisor !== 0
}

export function payloadOf({ isSmall }: StepPart, state: State): State {
  return isSmall ? { n: sizeOf(state) } : state
}

/** The item that stands at this place. */
export function itemOf(n: number): State {
  return { n }
}
