import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useAct, useApi } from '../../api/query.ts'
import { countText } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Loaded } from '../../ui/states-of-page.tsx'

const WORDS = { running: 'under way', done: 'done', stopped: 'stopped', failed: 'failed' } as const

/** A bulk action that was just begun: how far it is, and a button that stops it. It goes on when this is closed. */
export function BulkProgress({
  id,
  onClose,
}: {
  readonly id: string
  readonly onClose: () => void
}): ReactNode {
  const bulk = useApi('bulk.get', { id }, { every: 1_000 })
  const stop = useAct('bulk.stop')
  const isRunning = bulk.data?.status === 'running'
  return (
    <Dialog
      title={bulk.data?.name ?? 'Bulk action'}
      size="s"
      onClose={onClose}
      onSubmit={onClose}
      footer={
        <>
          {isRunning && (
            <Button icon="stop" busy={stop.isPending} onClick={() => stop.mutate({ id })}>
              Stop
            </Button>
          )}
          <Button type="submit" look="main">
            {isRunning ? 'Go on in the background' : 'Close'}
          </Button>
        </>
      }
    >
      <Loaded asked={bulk}>
        {({ status, searched, changed, refused, expected, error }) => (
          <div className="stack" aria-live="polite">
            <Progress
              label="How far it is"
              value={status === 'done' ? 1 : expected === null || expected === 0 ? null : changed / expected}
            />
            <p>
              It is {WORDS[status]}: {countText(changed)} changed
              {refused > 0 && `, ${countText(refused)} refused`}, {countText(searched)} looked at
              {expected !== null && ` of ${countText(expected)}`}.
            </p>
            {error !== null && <p className="field-error wrap-anywhere">{error}</p>}
            <Link to={to.bulk} className="link small">
              All bulk actions
            </Link>
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}
