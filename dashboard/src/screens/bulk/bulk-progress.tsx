import type { ReactNode } from 'react'
import type { BulkView } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { wholeText } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Badge, type Tone } from '../../ui/state.tsx'
import { Loaded } from '../../ui/states-of-page.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { wordsOf } from '../jobs/actions.ts'

const TONES: Readonly<Record<BulkView['status'], Tone>> = {
  running: 'info',
  done: 'good',
  stopped: 'warn',
  failed: 'bad',
}

export function BulkStatus({ status }: { readonly status: BulkView['status'] }): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>
}

/** How much of it is done, from 0 to 1; null if nobody counted to the end. */
export function partOf({ status, searched, changed, refused, expected }: BulkView): number | null {
  if (status === 'done') return 1
  if (expected === null || expected === 0) return status === 'running' ? null : 0
  return Math.min(1, Math.max(changed + refused, Math.min(searched, expected)) / expected)
}

/** Whether it may have changed something already. */
function hasBegun({ beginsAt, searched }: BulkView): boolean {
  return searched > 0 || Date.parse(beginsAt) <= Date.now()
}

/** One bulk action while it runs, with a button that stops it. */
export function BulkProgress({ id }: { readonly id: string }): ReactNode {
  const asked = useApi('bulk.get', { id }, { every: 1_000 })
  const mayOperate = useCan('operate')
  const stop = useAct('bulk.stop', {
    onDone: ({ changed }) =>
      toast({
        tone: 'good',
        text:
          changed === 0 ? 'Undone: nothing was changed.' : 'Stopped. Jobs that were changed stay changed.',
      }),
  })
  return (
    <Loaded asked={asked}>
      {(bulk) => (
        <div className="stack">
          <div className="row spread">
            <span className="row">
              <strong>{bulk.name || wordsOf(bulk.action).label}</strong>
              <BulkStatus status={bulk.status} />
            </span>
            {bulk.status === 'running' && mayOperate && (
              <Button small icon="stop" busy={stop.isPending} onClick={() => stop.mutate({ id })}>
                {hasBegun(bulk) ? 'Stop' : 'Undo'}
              </Button>
            )}
          </div>
          <Progress value={partOf(bulk)} label="Progress of the bulk action" />
          {bulk.status === 'running' && !hasBegun(bulk) && (
            <p className="small soft" role="status">
              Starts <TimeAgo at={bulk.beginsAt} />. Nothing is changed before.
            </p>
          )}
          <p className="small soft num">
            {wholeText(bulk.changed)} changed
            {bulk.expected !== null && ` of ${wholeText(bulk.expected)}`}
            {bulk.refused > 0 && `, ${wholeText(bulk.refused)} refused`}
          </p>
          {bulk.error && <p className="field-error wrap-anywhere">{bulk.error}</p>}
        </div>
      )}
    </Loaded>
  )
}
