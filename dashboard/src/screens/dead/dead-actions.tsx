import { type ReactNode, useState } from 'react'
import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import { countText } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { ActionDialog, type Chosen } from '../jobs/action-dialog.tsx'

/**
 * Retries or removes the selected jobs, or all that match. All at once can be rate-limited: retrying them in
 * one burst could overload the same dependency again.
 */
export function DeadActions({
  query,
  isEmpty,
  selected,
  onDone,
}: {
  readonly query: string
  readonly isEmpty: boolean
  readonly selected: readonly string[]
  readonly onDone: () => void
}): ReactNode {
  const [pending, setPending] = useState<{ readonly action: BulkAction; readonly chosen: Chosen } | null>(
    null,
  )
  const hasSome = selected.length > 0
  const chosen: Chosen = hasSome ? { ids: selected } : { query }
  const target = hasSome ? countText(selected.length) : 'all …'
  if (isEmpty && pending === null) return null
  return (
    <>
      <Button icon="trash" onClick={() => setPending({ action: 'remove', chosen })}>
        Remove {target}
      </Button>
      <Button look="main" icon="retry" onClick={() => setPending({ action: 'retry', chosen })}>
        Retry {target}
      </Button>
      {pending && (
        <ActionDialog
          {...pending}
          onClose={(isDone) => {
            setPending(null)
            if (isDone) onDone()
          }}
        />
      )}
    </>
  )
}
