import { type ReactNode, useState } from 'react'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Choice, Field } from '../../ui/field.tsx'

export interface HoldRequest {
  readonly kind: 'pause' | 'block'
  /** Omitted: every queue of the space. */
  readonly queue?: string
  readonly lane?: string
}

const SPANS = [
  ['', 'Until resumed'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['4h', '4 hours'],
  ['1d', '1 day'],
  ['7d', '7 days'],
  ['other', 'Custom …'],
] as const

/** Pauses or blocks a queue or lane, with a reason and a duration. Running jobs continue. */
export function HoldDialog({
  kind,
  queue,
  lane,
  onClose,
}: HoldRequest & { readonly onClose: () => void }): ReactNode {
  const [reason, setReason] = useState('')
  const [span, setSpan] = useState('')
  const [other, setOther] = useState('')
  const target = lane === undefined ? (queue ?? 'every queue') : `lane ${lane || '(none)'} of ${queue}`
  const options = {
    success: `${kind === 'block' ? 'Blocked' : 'Paused'} ${target}`,
    onDone: onClose,
    quiet: true,
  }
  const pause = useAct('holds.pause', options)
  const block = useAct('holds.block', options)
  const act = kind === 'block' ? block : pause
  const length = span === 'other' ? other.trim() : span
  const submit = (): void =>
    act.mutate({
      ...(queue === undefined ? {} : { queue }),
      ...(lane === undefined ? {} : { lane }),
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      ...(length === '' ? {} : { for: length }),
    })
  return (
    <Dialog
      title={`${kind === 'block' ? 'Block' : 'Pause'} ${target}`}
      size="s"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={kind === 'block' ? 'danger' : 'main'} busy={act.isPending}>
            {kind === 'block' ? 'Block' : 'Pause'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="soft">
          {kind === 'block'
            ? 'No job starts until an admin unblocks it. Running jobs continue, and new jobs are accepted.'
            : 'No job starts until it is resumed. Running jobs continue, and new jobs are accepted.'}
        </p>
        <Field
          label="Reason"
          hint="Shown to everyone who looks at the paused jobs."
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          autoFocus
        />
        <Choice label="Duration" value={span} onChange={(event) => setSpan(event.target.value)}>
          {SPANS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </Choice>
        {span === 'other' && (
          <Field
            label="Custom duration"
            placeholder="90m"
            hint="A number with s, m, h or d."
            value={other}
            onChange={(event) => setOther(event.target.value)}
          />
        )}
        {act.error && (
          <p className="field-error" role="alert">
            {act.error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}
