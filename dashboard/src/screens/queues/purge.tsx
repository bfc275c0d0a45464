import { type ReactNode, useState } from 'react'
import { useAct, useApi } from '../../api/query.ts'
import { plural } from '../../format/numbers.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { type JobState, StateBadge } from '../../ui/state.tsx'

const PURGEABLE: readonly JobState[] = ['ready', 'delayed', 'done', 'failed', 'dead', 'cancelled']

/** Permanently removes jobs, after showing the count and asking for the name of the queue. */
export function PurgeDialog({
  queue,
  onClose,
}: {
  readonly queue: string
  readonly onClose: () => void
}): ReactNode {
  const [states, setStates] = useState<readonly JobState[]>(['ready', 'delayed'])
  const counted = useApi('queues.purge', { queue, states: PURGEABLE, dryRun: true })
  const purge = useAct('queues.purge', {
    success: ({ removed, running }) =>
      `${plural(removed, 'job')} removed${running > 0 ? `, ${running} still running` : ''}`,
    onDone: onClose,
  })
  const counts = counted.data?.counts
  const removed = counts && states.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  const toggle = (state: JobState): void =>
    setStates(states.includes(state) ? states.filter((one) => one !== state) : [...states, state])
  return (
    <Confirm
      title={`Purge ${queue}`}
      action={removed === undefined ? 'Purge' : `Remove ${plural(removed, 'job')}`}
      danger
      typed={queue}
      busy={purge.isPending}
      disabled={states.length === 0 || removed === undefined}
      onConfirm={() => purge.mutate({ queue, states, confirm: queue })}
      onClose={onClose}
    >
      <p>Permanently deletes jobs with their payloads, results and logs. Running jobs are not affected.</p>
      <fieldset className="group">
        <legend>Jobs to remove</legend>
        {PURGEABLE.map((state) => (
          <Checkbox
            key={state}
            checked={states.includes(state)}
            onChange={() => toggle(state)}
            label={
              <span className="row">
                <StateBadge state={state} bare />
                <span className="num faint">{counts?.[state] ?? ''}</span>
              </span>
            }
          />
        ))}
      </fieldset>
      <p aria-live="polite">
        {counted.error ? (
          <span className="field-error">{counted.error.message}</span>
        ) : removed === undefined ? (
          <span className="faint">Counting …</span>
        ) : (
          <strong>{plural(removed, 'job')} will be removed.</strong>
        )}
      </p>
    </Confirm>
  )
}
