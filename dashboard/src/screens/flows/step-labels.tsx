import type { ReactNode } from 'react'
import type { IconName } from '../../ui/icon.tsx'
import { type JobState, StateShape } from '../../ui/state.tsx'
import type { Mark, TreeStep } from './step-tree.ts'

/** The status of a step in a run, as a label. */
export const MARK_LABELS: Readonly<Record<Mark, string>> = {
  done: 'done',
  current: 'running',
  waits: 'waiting',
  failed: 'failed',
  cancelled: 'cancelled',
  todo: 'pending',
  skipped: 'skipped',
  unknown: 'unknown',
}

const STATES: Readonly<Partial<Record<Mark, JobState>>> = {
  done: 'done',
  current: 'running',
  waits: 'delayed',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** A shape per status, so that color is never the only cue. */
export function MarkShape({ mark }: { readonly mark: Mark }): ReactNode {
  const state = STATES[mark]
  if (state) return <StateShape state={state} />
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 12 12"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.400"
      aria-hidden="true"
    >
      {mark === 'skipped' ? (
        <path d="M2 6h8" strokeLinecap="round" />
      ) : mark === 'unknown' ? (
        <path
          d="M4 4.200a2 2 0 1 1 2.800 1.900c-.6.3-.8.6-.8 1.300M6 9.800v.1"
          strokeWidth="1.600"
          strokeLinecap="round"
        />
      ) : (
        <circle cx="6" cy="6" r="4.200" strokeDasharray="2 2" />
      )}
    </svg>
  )
}

export const KIND_ICONS: Readonly<Record<TreeStep['kind'], IconName>> = {
  step: 'jobs',
  member: 'jobs',
  each: 'bulk',
  parallel: 'flows',
  when: 'right',
  repeat: 'retry',
  sleep: 'schedules',
  signal: 'receivers',
}

export const KIND_LABELS: Readonly<Record<TreeStep['kind'], string>> = {
  step: 'step',
  member: 'branch',
  each: 'one job per item',
  parallel: 'parallel',
  when: 'condition',
  repeat: 'loop',
  sleep: 'sleep',
  signal: 'wait for signal',
}

/** The second line of a step: what it does, or its progress. */
export function aboutText(step: TreeStep): string {
  const { members, queue, flow, note, kind } = step
  if (members !== null) {
    const failed = members.failed > 0 ? `, ${members.failed} failed` : ''
    return `${members.done} of ${members.size}${failed}`
  }
  if (flow !== null) return `flow ${flow}${note === null ? '' : `, ${note}`}`
  if (queue !== null) return queue === step.name ? (note ?? 'job') : queue
  return note ?? KIND_LABELS[kind]
}
