import { type ReactNode, useState } from 'react'
import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { Choice, Field } from '../../ui/field.tsx'
import { JsonEditor, readJson } from '../../ui/json-editor.tsx'
import { Menu } from '../../ui/menu.tsx'

/** Buttons to retry, signal or cancel a run. */
export function RunActions({
  detail,
  retryFrom,
  onRetryFrom,
}: {
  readonly detail: RunDetail
  /** The step to retry from; empty for the current step. Null while the dialog is closed. */
  readonly retryFrom: string | null
  readonly onRetryFrom: (step: string | null) => void
}): ReactNode {
  const [open, setOpen] = useState<'cancel' | 'signal' | null>(null)
  const { run } = detail
  if (!useCan('operate')) return null
  const isRunning = run.status === 'running'
  const close = (): void => setOpen(null)
  return (
    <>
      {isRunning && run.position.waits?.kind === 'signal' && (
        <Button look="main" icon="receivers" onClick={() => setOpen('signal')}>
          Send signal …
        </Button>
      )}
      {!isRunning && run.status !== 'done' && (
        <Button look="main" icon="retry" onClick={() => onRetryFrom('')}>
          Retry …
        </Button>
      )}
      <Menu
        label="More actions"
        icon="more"
        items={[
          {
            label: 'Send signal …',
            icon: 'receivers',
            disabled: !isRunning,
            onSelect: () => setOpen('signal'),
          },
          {
            label: 'Retry from step …',
            icon: 'retry',
            disabled: run.status === 'done',
            onSelect: () => onRetryFrom(''),
          },
          'line',
          {
            label: 'Cancel …',
            icon: 'stop',
            danger: true,
            disabled: !isRunning,
            onSelect: () => setOpen('cancel'),
          },
        ]}
      />
      {open === 'cancel' && <CancelRun id={run.id} onClose={close} />}
      {open === 'signal' && <SendSignal detail={detail} onClose={close} />}
      {retryFrom !== null && <RetryRun detail={detail} from={retryFrom} onClose={() => onRetryFrom(null)} />}
    </>
  )
}

function CancelRun({ id, onClose }: { readonly id: string; readonly onClose: () => void }): ReactNode {
  const [reason, setReason] = useState('')
  const cancel = useAct('runs.cancel', {
    success: ({ changed }) => (changed ? 'Run cancelled' : 'The run had already completed'),
    onDone: onClose,
  })
  return (
    <Confirm
      title="Cancel run"
      action="Cancel run"
      danger
      busy={cancel.isPending}
      onClose={onClose}
      onConfirm={() => cancel.mutate({ id, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) })}
    >
      <p className="soft">
        Cancels the run, its branches and its waiting jobs, and asks running handlers to stop. Completed steps
        are not undone. You can retry the run later.
      </p>
      <Field label="Reason" value={reason} autoFocus onChange={(event) => setReason(event.target.value)} />
    </Confirm>
  )
}

function RetryRun({
  detail: { run },
  from,
  onClose,
}: {
  readonly detail: RunDetail
  readonly from: string
  readonly onClose: () => void
}): ReactNode {
  const [step, setStep] = useState(from)
  const retry = useAct('runs.retry', {
    success: ({ changed }) => (changed ? 'Run resumed' : 'Not changed: the run is already done'),
    onDone: onClose,
  })
  const names = [...new Set(run.position.steps.map(({ name }) => name))]
  return (
    <Confirm
      title="Retry run"
      action="Retry"
      busy={retry.isPending}
      onClose={onClose}
      onConfirm={() => retry.mutate({ id: run.id, ...(step === '' ? {} : { from: step }) })}
    >
      <p className="soft">Executes this step and all later ones again. The run state is kept.</p>
      <Choice label="From step" value={step} onChange={(event) => setStep(event.target.value)}>
        <option value="">current step{run.position.step === null ? '' : `: ${run.position.step}`}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Choice>
    </Confirm>
  )
}

function SendSignal({
  detail: { run },
  onClose,
}: {
  readonly detail: RunDetail
  readonly onClose: () => void
}): ReactNode {
  const signals = run.position.steps.filter(({ kind }) => kind === 'signal').map(({ name }) => name)
  const awaited = run.position.waits?.kind === 'signal' ? run.position.step : null
  const [name, setName] = useState(awaited ?? signals[0] ?? '')
  const [text, setText] = useState('{}')
  const send = useAct('runs.signal', {
    success: ({ changed }) => (changed ? 'Signal sent' : 'The run no longer waits for this signal'),
    onDone: onClose,
  })
  const read = readJson(text)
  const isReady = 'value' in read && name.trim() !== ''
  return (
    <Dialog
      title="Send signal"
      size="s"
      onClose={onClose}
      onSubmit={() => isReady && send.mutate({ id: run.id, name: name.trim(), value: read.value })}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={!isReady} busy={send.isPending}>
            Send
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field
          label="Signal"
          value={name}
          list="run-signals"
          onChange={(event) => setName(event.target.value)}
          hint="A signal sent early is kept until the run waits for it."
        />
        <datalist id="run-signals">
          {signals.map((signal) => (
            <option key={signal} value={signal} />
          ))}
        </datalist>
        <JsonEditor label="Value" rows={5} value={text} onChange={setText} />
      </div>
    </Dialog>
  )
}
