import type { ReactNode } from 'react'
import type { Api } from '../../../src/operations/schema/wire-types.ts'
import { classes } from './classes.ts'

export type JobState = keyof Api['overview.get']['output']['totals']

/** In lifecycle order. */
export const STATES: readonly JobState[] = [
  'ready',
  'running',
  'delayed',
  'done',
  'failed',
  'dead',
  'cancelled',
]

/** A one-sentence description of each state. */
export const STATE_DESCRIPTIONS: Readonly<Record<JobState, string>> = {
  delayed: 'Scheduled for later, or waiting to retry.',
  ready: 'Waiting for a worker.',
  running: 'A worker is running it.',
  done: 'Completed successfully.',
  failed: 'Failed for good. Kept until its retention expires.',
  dead: 'Failed for good and needs an operator.',
  cancelled: 'Cancelled by a user or a program.',
}

/** A shape per state, so that color is never the only cue. */
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

/** The state of a job as a label with a color and a shape. */
export function StateBadge({
  state,
  bare = false,
}: {
  readonly state: JobState
  readonly bare?: boolean
}): ReactNode {
  return (
    <span
      className={classes('state', `state-${state}`, bare && 'state-bare')}
      title={STATE_DESCRIPTIONS[state]}
    >
      <StateShape state={state} />
      {state}
    </span>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain' | 'special'

/** A short label for any other status. */
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
