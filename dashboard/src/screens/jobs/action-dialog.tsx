import { type ReactNode, useState } from 'react'
import type { BulkAction, ChangeOutput } from '../../../../src/operations/schema/wire-types.ts'
import { useAct } from '../../api/query.ts'
import { countText, fullCountText, plural } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Progress } from '../../ui/progress.tsx'
import { toast } from '../../ui/toast.tsx'
import { BulkProgress } from '../bulk/bulk-progress.tsx'
import { actionLabels } from './actions.ts'
import { useExactCount } from './exact-count.ts'

/** The jobs to change: by their ids, or all that match a query. */
export type Chosen = { readonly ids: readonly string[] } | { readonly query: string }

const HOUR_MS = 3_600_000
/** The delay before a bulk action starts, in which it can be undone. */
const UNDO_DELAY = '5s'

/** A date as the value of a `datetime-local` input, in the browser's time zone. */
function localInputValue(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19)
}

/** Confirms an action on jobs: shows the exact count and the options, then the progress. */
export function ActionDialog({
  action,
  chosen,
  onClose,
}: {
  readonly action: BulkAction
  readonly chosen: Chosen
  /** `isDone`: the action has completed or started. */
  readonly onClose: (isDone: boolean) => void
}): ReactNode {
  const labels = actionLabels(action)
  const [reason, setReason] = useState('')
  const [priority, setPriority] = useState('0')
  const [at, setAt] = useState(() => localInputValue(new Date(Date.now() + HOUR_MS)))
  const [queue, setQueue] = useState('')
  const [perSecond, setPerSecond] = useState('')
  const [name, setName] = useState('')
  const [bulk, setBulk] = useState<string | null>(null)
  const isAll = 'query' in chosen
  const counted = useExactCount(isAll ? chosen.query : '', action, isAll && bulk === null)
  const change = useAct('jobs.change', {
    quiet: true,
    onDone: (output) => {
      showResult(output, labels.done)
      onClose(true)
    },
  })
  const start = useAct('bulk.start', { quiet: true, onDone: ({ id }) => setBulk(id) })
  if (bulk !== null) return <BulkDialog id={bulk} onClose={() => onClose(true)} />

  const options = {
    ...(labels.takesReason && reason.trim() !== '' ? { reason: reason.trim() } : {}),
    ...(action === 'prioritize' ? { priority: Number(priority) } : {}),
    ...(action === 'reschedule' && at !== '' ? { at: new Date(at).toISOString() } : {}),
  }
  const submit = (): void => {
    if (!isAll && action !== 'move') change.mutate({ action, ids: chosen.ids, ...options })
    else
      start.mutate({
        action,
        // A move always runs as a bulk action, which can resume after a crash.
        query: isAll ? chosen.query : `id:${chosen.ids.join(',')}`,
        ...options,
        ...(action === 'move' ? { queue: queue.trim() } : {}),
        ...(isAll ? { delay: UNDO_DELAY, expected: counted.count } : {}),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(perSecond.trim() === '' ? {} : { perSecond: Number(perSecond) }),
      })
  }
  const error = change.error ?? start.error ?? counted.error
  // Only a complete count can be confirmed.
  const many = isAll
    ? counted.isComplete
      ? `${fullCountText(counted.count)} ${counted.count === 1 ? 'job' : 'jobs'}`
      : null
    : plural(chosen.ids.length, 'job')
  return (
    <Dialog
      title={`${labels.label} ${many ?? 'jobs'}`}
      size="s"
      onClose={() => onClose(false)}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <Button
            type="submit"
            look={labels.danger ? 'danger' : 'main'}
            icon={labels.icon}
            busy={change.isPending || start.isPending}
            disabled={many === null || (isAll && counted.count === 0)}
          >
            {labels.label} {many ?? 'jobs'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>{labels.about}</p>
        {isAll && (
          <p className="soft">
            {chosen.query === '' ? (
              'All jobs'
            ) : (
              <>
                All jobs that match <code className="wrap-anywhere">{chosen.query}</code>
              </>
            )}
            . Jobs that can’t be changed are skipped and counted.
          </p>
        )}
        {isAll && !counted.isComplete && !counted.error && (
          <Progress
            value={null}
            label="Counting jobs"
            note={`Counting: ${fullCountText(counted.count)} found, ${countText(counted.searched)} scanned`}
          />
        )}
        {labels.takesReason && (
          <Field
            label="Reason"
            hint="Stored with each job."
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            autoFocus
          />
        )}
        {action === 'prioritize' && (
          <Field
            label="Priority"
            type="number"
            min={-100}
            max={100}
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
            autoFocus
          />
        )}
        {action === 'reschedule' && (
          <Field
            label="Due at"
            type="datetime-local"
            step={1}
            hint="A time in the past means now."
            value={at}
            onChange={(event) => setAt(event.target.value)}
            required
            autoFocus
          />
        )}
        {action === 'move' && (
          <Field
            label="To queue"
            value={queue}
            onChange={(event) => setQueue(event.target.value)}
            required
            autoFocus
          />
        )}
        {isAll && (
          <div className="field-row">
            <Field
              label="Name"
              hint="Shown in the list of bulk actions."
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <Field
              label="Jobs per second"
              type="number"
              min={1}
              hint="Leave empty for no limit."
              value={perSecond}
              onChange={(event) => setPerSecond(event.target.value)}
            />
          </div>
        )}
        {error && (
          <p className="field-error" role="alert">
            {error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}

/** The progress of a bulk action. Closing the dialog does not stop it. */
export function BulkDialog({
  id,
  onClose,
}: {
  readonly id: string
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog
      title="Bulk action"
      size="s"
      onClose={onClose}
      onSubmit={onClose}
      footer={
        <Button type="submit" autoFocus>
          Close
        </Button>
      }
    >
      <BulkProgress id={id} />
      <p className="small faint">
        You can close this dialog: the action continues and is listed under Bulk actions.
      </p>
    </Dialog>
  )
}

function showResult({ changed, requested, refused }: ChangeOutput, done: string): void {
  const stopping = requested > 0 ? `, ${plural(requested, 'running job')} asked to stop` : ''
  if (refused.length === 0) {
    toast({ tone: 'good', text: `${plural(changed, 'job')} ${done}${stopping}` })
    return
  }
  const why = refused[0]?.reason ?? ''
  toast({
    tone: changed + requested > 0 ? 'plain' : 'bad',
    text: `${changed > 0 ? `${plural(changed, 'job')} ${done}${stopping}. ` : ''}${plural(refused.length, 'job')} skipped: ${why}`,
  })
}
