import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import type { IconName } from '../../ui/icon.tsx'
import type { JobState } from '../../ui/state.tsx'

export interface ActionWords {
  readonly action: BulkAction
  readonly label: string
  /** "3 jobs ▁ retried" */
  readonly done: string
  readonly about: string
  readonly icon: IconName
  /** The states from which it leads. */
  readonly from: readonly JobState[]
  readonly danger?: boolean
  readonly takesReason?: boolean
}

/** What can be done to jobs. */
export const ACTIONS: readonly ActionWords[] = [
  {
    action: 'retry',
    label: 'Retry',
    done: 'retried',
    about: 'Runs each job again from attempt 1.',
    icon: 'retry',
    from: ['done', 'failed', 'dead', 'cancelled'],
  },
  {
    action: 'promote',
    label: 'Run now',
    done: 'are due now',
    about: 'Makes the jobs due now.',
    icon: 'play',
    from: ['delayed'],
  },
  {
    action: 'cancel',
    label: 'Cancel',
    done: 'were cancelled',
    about: 'Waiting jobs end at once. Running jobs are asked to stop.',
    icon: 'stop',
    from: ['ready', 'delayed', 'running'],
    danger: true,
    takesReason: true,
  },
  {
    action: 'prioritize',
    label: 'Set priority',
    done: 'have the new priority',
    about: 'Higher starts earlier: from -100 to 100.',
    icon: 'up',
    from: ['ready', 'delayed'],
  },
  {
    action: 'reschedule',
    label: 'Reschedule',
    done: 'have the new time',
    about: 'Sets when the jobs are due. Jobs in strict order keep their place and are skipped.',
    icon: 'schedules',
    from: ['ready', 'delayed'],
  },
  {
    action: 'move',
    label: 'Move',
    done: 'were moved',
    about: 'Moves the jobs to another queue, with new ids. Jobs of flows, groups and chains are skipped.',
    icon: 'right',
    from: ['ready', 'delayed', 'failed', 'dead', 'cancelled'],
  },
  {
    action: 'bury',
    label: 'Bury',
    done: 'were buried',
    about: 'Moves the jobs to the dead-letter queue.',
    icon: 'dead',
    from: ['ready', 'delayed'],
    danger: true,
    takesReason: true,
  },
  {
    action: 'remove',
    label: 'Remove',
    done: 'were removed',
    about: 'Deletes the jobs for good, with their results and logs.',
    icon: 'trash',
    from: ['ready', 'delayed', 'done', 'failed', 'dead', 'cancelled'],
    danger: true,
  },
]

export function wordsOf(action: BulkAction): ActionWords {
  return ACTIONS.find((one) => one.action === action) as ActionWords
}

/** Those that make sense for jobs in these states; for all states if none is named. */
export function actionsFor(states: readonly JobState[]): readonly ActionWords[] {
  if (states.length === 0) return ACTIONS
  return ACTIONS.filter(({ from }) => states.some((state) => from.includes(state)))
}
