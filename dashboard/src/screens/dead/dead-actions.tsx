import { type ReactNode, useState } from 'react'
import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import { countText } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { ActionDialog, type Chosen } from '../jobs/action-dialog.tsx'

/** What can be done to those that are chosen, or to all that fit. All at once can be slowed down: a flood would kill them again. */
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
  const [asked, setAsked] = useState<{ readonly action: BulkAction; readonly chosen: Chosen } | null>(null)
  const hasSome = selected.length > 0
  const chosen: Chosen = hasSome ? { ids: selected } : { query }
  const many = hasSome ? countText(selected.length) : 'all …'
  if (isEmpty && asked === null) return null
  return (
    <>
      <Button icon="trash" onClick={() => setAsked({ action: 'remove', chosen })}>
        Remove {many}
      </Button>
      <Button look="main" icon="retry" onClick={() => setAsked({ action: 'retry', chosen })}>
        Retry {many}
      </Button>
      {asked && (
        <ActionDialog
          {...asked}
          onClose={(isDone) => {
            setAsked(null)
            if (isDone) onDone()
          }}
        />
      )}
    </>
  )
}
