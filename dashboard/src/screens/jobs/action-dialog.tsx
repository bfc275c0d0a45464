import { type ReactNode, useState } from 'react'
import type { BulkAction, ChangeOutput } from '../../../../src/operations/schema/wire-types.ts'
import { useAct } from '../../api/query.ts'
import { countText, plural, wholeText } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Progress } from '../../ui/progress.tsx'
import { toast } from '../../ui/toast.tsx'
import { BulkProgress } from '../bulk/bulk-progress.tsx'
import { wordsOf } from './actions.ts'
import { useWholeCount } from './whole-count.ts'

/** Which jobs: some by their ids, or all that fit a query. */
export type Chosen = { readonly ids: readonly string[] } | { readonly query: string }

const HOUR_MS = 3_600_000
/** So long it can be undone before it begins. */
const UNDO = '5s'

/** A moment as the browser's field for it has it: in the time of whoever looks. */
function localMoment(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19)
}

/** Asks before something is done to jobs, says to how many, and shows how far it is. */
export function ActionDialog({
  action,
  chosen,
  onClose,
}: {
  readonly action: BulkAction
  readonly chosen: Chosen
  /** `isDone`: it was done, or has begun. */
  readonly onClose: (isDone: boolean) => void
}): ReactNode {
  const words = wordsOf(action)
  const [reason, setReason] = useState('')
  const [priority, setPriority] = useState('0')
  const [at, setAt] = useState(() => localMoment(new Date(Date.now() + HOUR_MS)))
  const [queue, setQueue] = useState('')
  const [perSecond, setPerSecond] = useState('')
  const [name, setName] = useState('')
  const [bulk, setBulk] = useState<string | null>(null)
  const isAll = 'query' in chosen
  const counted = useWholeCount(isAll ? chosen.query : '', action, isAll && bulk === null)
  const change = useAct('jobs.change', {
    quiet: true,
    onDone: (output) => {
      tell(output, words.done)
      onClose(true)
    },
  })
  const start = useAct('bulk.start', { quiet: true, onDone: ({ id }) => setBulk(id) })
  if (bulk !== null) return <BulkDialog id={bulk} onClose={() => onClose(true)} />

  const options = {
    ...(words.takesReason && reason.trim() !== '' ? { reason: reason.trim() } : {}),
    ...(action === 'prioritize' ? { priority: Number(priority) } : {}),
    ...(action === 'reschedule' && at !== '' ? { at: new Date(at).toISOString() } : {}),
  }
  const submit = (): void => {
    if (!isAll && action !== 'move') change.mutate({ action, ids: chosen.ids, ...options })
    else
      start.mutate({
        action,
        // A move is always a bulk action: it remembers what is on its way.
        query: isAll ? chosen.query : `id:${chosen.ids.join(',')}`,
        ...options,
        ...(action === 'move' ? { queue: queue.trim() } : {}),
        ...(isAll ? { delay: UNDO, expected: counted.count } : {}),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(perSecond.trim() === '' ? {} : { perSecond: Number(perSecond) }),
      })
  }
  const error = change.error ?? start.error ?? counted.error
  // Only a count to the end is a number to agree to.
  const many = isAll
    ? counted.isWhole
      ? `${wholeText(counted.count)} ${counted.count === 1 ? 'job' : 'jobs'}`
      : null
    : plural(chosen.ids.length, 'job')
  return (
    <Dialog
      title={`${words.label} ${many ?? 'jobs'}`}
      size="s"
      onClose={() => onClose(false)}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <Button
            type="submit"
            look={words.danger ? 'danger' : 'main'}
            icon={words.icon}
            busy={change.isPending || start.isPending}
            disabled={many === null || (isAll && counted.count === 0)}
          >
            {words.label} {many ?? 'jobs'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>{words.about}</p>
        {isAll && (
          <p className="soft">
            All jobs that match <code className="wrap-anywhere">{chosen.query || 'everything'}</code>. Jobs
            that can’t be changed are skipped and counted.
          </p>
        )}
        {isAll && !counted.isWhole && !counted.error && (
          <Progress
            value={null}
            label="Counting jobs"
            note={`Counting: ${wholeText(counted.count)} found, ${countText(counted.searched)} scanned`}
          />
        )}
        {words.takesReason && (
          <Field
            label="Reason"
            hint="Kept with each job."
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

/** How far a bulk action is. It goes on when this is closed. */
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
      <p className="small faint">Closing this does not stop it. Find it under Bulk actions.</p>
    </Dialog>
  )
}

function tell({ changed, requested, refused }: ChangeOutput, done: string): void {
  const asked = requested > 0 ? `, ${plural(requested, 'running job')} asked to stop` : ''
  if (refused.length === 0) {
    toast({ tone: 'good', text: `${plural(changed, 'job')} ${done}${asked}` })
    return
  }
  const why = refused[0]?.reason ?? ''
  toast({
    tone: changed + requested > 0 ? 'plain' : 'bad',
    text: `${changed > 0 ? `${plural(changed, 'job')} ${done}${asked}. ` : ''}${plural(refused.length, 'job')} refused: ${why}`,
  })
}
