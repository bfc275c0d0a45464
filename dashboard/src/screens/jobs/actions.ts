import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import type { IconName } from '../../ui/icon.tsx'
import type { JobState } from '../../ui/state.tsx'

export interface ActionLabels {
  readonly action: BulkAction
  readonly label: string
  /** As in "3 jobs retried". */
  readonly done: string
  readonly about: string
  readonly icon: IconName
  /** The states it applies to. */
  readonly from: readonly JobState[]
  readonly danger?: boolean
  readonly takesReason?: boolean
}

/** The actions on jobs. */
export const ACTIONS: readonly ActionLabels[] = [
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
    done: 'due now',
    about: 'Makes the jobs due immediately.',
    icon: 'play',
    from: ['delayed'],
  },
  {
    action: 'cancel',
    label: 'Cancel',
    done: 'cancelled',
    about: 'Cancels waiting jobs immediately and asks running jobs to stop.',
    icon: 'stop',
    from: ['ready', 'delayed', 'running'],
    danger: true,
    takesReason: true,
  },
  {
    action: 'prioritize',
    label: 'Set priority',
    done: 'reprioritized',
    about: 'From -100 to 100. Jobs with a higher priority start first.',
    icon: 'up',
    from: ['ready', 'delayed'],
  },
  {
    action: 'reschedule',
    label: 'Reschedule',
    done: 'rescheduled',
    about: 'Sets when the jobs are due. Jobs in strict order cannot be rescheduled and are skipped.',
    icon: 'schedules',
    from: ['ready', 'delayed'],
  },
  {
    action: 'move',
    label: 'Move',
    done: 'moved',
    about: 'Moves the jobs to another queue, with new ids. Jobs of flows, groups and chains are skipped.',
    icon: 'right',
    from: ['ready', 'delayed', 'failed', 'dead', 'cancelled'],
  },
  {
    action: 'bury',
    label: 'Bury',
    done: 'buried',
    about: 'Moves the jobs to the dead letters.',
    icon: 'dead',
    from: ['ready', 'delayed'],
    danger: true,
    takesReason: true,
  },
  {
    action: 'remove',
    label: 'Remove',
    done: 'removed',
    about: 'Permanently deletes the jobs with their payloads, results and logs.',
    icon: 'trash',
    from: ['ready', 'delayed', 'done', 'failed', 'dead', 'cancelled'],
    danger: true,
  },
]

export function actionLabels(action: BulkAction): ActionLabels {
  return ACTIONS.find((one) => one.action === action) as ActionLabels
}

/** The actions that apply to jobs in these states; all actions if no state is given. */
export function actionsFor(states: readonly JobState[]): readonly ActionLabels[] {
  if (states.length === 0) return ACTIONS
  return ACTIONS.filter(({ from }) => states.some((state) => from.includes(state)))
}
