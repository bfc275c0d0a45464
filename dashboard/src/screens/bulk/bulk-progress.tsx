import type { ReactNode } from 'react'
import type { BulkView } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { fullCountText } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Badge, type Tone } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { actionLabels } from '../jobs/actions.ts'

const TONES: Readonly<Record<BulkView['status'], Tone>> = {
  running: 'info',
  done: 'good',
  stopped: 'warn',
  failed: 'bad',
}

export function BulkStatus({ status }: { readonly status: BulkView['status'] }): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>
}

/** Progress from 0 to 1; null if the number of matching jobs is unknown. */
export function partOf({ status, searched, changed, refused, expected }: BulkView): number | null {
  if (status === 'done') return 1
  if (expected === null || expected === 0) return status === 'running' ? null : 0
  return Math.min(1, Math.max(changed + refused, Math.min(searched, expected)) / expected)
}

/** Whether it may already have changed jobs. */
function hasBegun({ beginsAt, searched }: BulkView): boolean {
  return searched > 0 || Date.parse(beginsAt) <= Date.now()
}

/** The progress of one bulk action, with a button to stop it. */
export function BulkProgress({ id }: { readonly id: string }): ReactNode {
  const request = useApi('bulk.get', { id }, { every: 1_000 })
  const mayOperate = useCan('operate')
  const stop = useAct('bulk.stop', {
    onDone: ({ changed }) =>
      toast({
        tone: 'good',
        text: changed === 0 ? 'Undone. No job was changed.' : 'Stopped. Changes made so far are kept.',
      }),
  })
  return (
    <Loaded request={request}>
      {(bulk) => (
        <div className="stack">
          <div className="row spread">
            <span className="row">
              <strong>{bulk.name || actionLabels(bulk.action).label}</strong>
              <BulkStatus status={bulk.status} />
            </span>
            {bulk.status === 'running' && mayOperate && (
              <Button small icon="stop" busy={stop.isPending} onClick={() => stop.mutate({ id })}>
                {hasBegun(bulk) ? 'Stop' : 'Undo'}
              </Button>
            )}
          </div>
          <Progress value={partOf(bulk)} label="Bulk action progress" />
          {bulk.status === 'running' && !hasBegun(bulk) && (
            <p className="small soft" role="status">
              Starts <TimeAgo at={bulk.beginsAt} />. No job is changed before that.
            </p>
          )}
          <p className="small soft num">
            {fullCountText(bulk.changed)} changed
            {bulk.expected !== null && ` of ${fullCountText(bulk.expected)}`}
            {bulk.refused > 0 && `, ${fullCountText(bulk.refused)} skipped`}
          </p>
          {bulk.error && <p className="field-error wrap-anywhere">{bulk.error}</p>}
        </div>
      )}
    </Loaded>
  )
}
