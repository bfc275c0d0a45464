import type { ReactNode } from 'react'
import type { Api } from '../../../src/operations/schema/wire-types.ts'
import { classes } from './classes.ts'

export type JobState = keyof Api['overview.get']['output']['totals']

/** In the order in which a job goes through them. */
export const STATES: readonly JobState[] = [
  'ready',
  'running',
  'delayed',
  'done',
  'failed',
  'dead',
  'cancelled',
]

/** What each state means, in one sentence. */
export const STATE_WORDS: Readonly<Record<JobState, string>> = {
  delayed: 'Waits for its time.',
  ready: 'May start as soon as a worker has room.',
  running: 'A worker runs it now.',
  done: 'Its handler returned.',
  failed: 'Ended by an error and kept for the record.',
  dead: 'Ended by an error and waits for a person.',
  cancelled: 'Somebody said stop.',
}

/** A shape for each state, so that colour is never the only sign. */
const SHAPES: Readonly<Record<JobState, ReactNode>> = {
  delayed: <path d="M6 1.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM6 3.500V6l1.700 1.200" />,
  ready: <circle cx="6" cy="6" r="4.200" />,
  running: <path d="M6 1.800A4.200 4.200 0 1 1 1.800 6" />,
  done: <path d="M1.800 6.400 4.700 9.300 10.200 2.900" strokeWidth="1.900" />,
  failed: <path d="M2.500 2.500l7 7M9.500 2.500l-7 7" strokeWidth="1.800" />,
  dead: <path d="M6 1.300 11 10.300H1zM6 5v2.200M6 8.800v.1" />,
  cancelled: <path d="M6 1.600a4.400 4.400 0 1 0 0 8.800 4.400 4.400 0 0 0 0-8.800zM3 9l6-6" />,
}

export function StateShape({ state }: { readonly state: JobState }): ReactNode {
  return (
    <svg
      className={classes('state-shape', state === 'running' && 'turning')}
      width="12"
      height="12"
      viewBox="0 0 12 12"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.400"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {SHAPES[state]}
    </svg>
  )
}

/** The state of a job as a word, a colour and a shape. */
export function StateBadge({
  state,
  bare = false,
}: {
  readonly state: JobState
  readonly bare?: boolean
}): ReactNode {
  return (
    <span className={classes('state', `state-${state}`, bare && 'state-bare')} title={STATE_WORDS[state]}>
      <StateShape state={state} />
      {state}
    </span>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain' | 'special'

/** Any other short word that stands for how something is. */
export function Badge({
  tone = 'plain',
  children,
  title,
}: {
  readonly tone?: Tone
  readonly children: ReactNode
  readonly title?: string
}): ReactNode {
  return (
    <span className={classes('badge', `tone-${tone}`)} title={title}>
      {children}
    </span>
  )
}
