import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { to } from '../../router.ts'
import { isTyping } from '../../shell/shortcuts.ts'
import { IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { JobPanel } from './job-panel.tsx'

/** A job beside its list. j and k go to the next and previous job. */
export function JobDrawer({
  id,
  ids,
  onGo,
  onClose,
}: {
  readonly id: string
  /** The ids of the list, in its order. */
  readonly ids: readonly string[]
  readonly onGo: (id: string) => void
  readonly onClose: () => void
}): ReactNode {
  const at = ids.indexOf(id)
  const next = ids[at + 1]
  const before = ids[at - 1]
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return
      // Another dialog is open above this one.
      if (document.querySelectorAll('dialog[open]').length > 1) return
      const target = { j: next, k: before }[event.key]
      if (target !== undefined) onGo(target)
    }
    // The dialog stops propagation of its key events, so this listens in the capture phase.
    document.addEventListener('keydown', press, true)
    return () => document.removeEventListener('keydown', press, true)
  }, [next, before, onGo])
  return (
    <Dialog
      title="Job"
      size="drawer"
      onClose={onClose}
      tools={
        <>
          <Link to={to.job(id)} className="button button-plain button-small">
            Open page
          </Link>
          <IconButton
            label="Previous job (k)"
            icon="left"
            disabled={before === undefined}
            onClick={() => before !== undefined && onGo(before)}
          />
          <IconButton
            label="Next job (j)"
            icon="right"
            disabled={next === undefined}
            onClick={() => next !== undefined && onGo(next)}
          />
        </>
      }
    >
      <JobPanel key={id} id={id} isNarrow />
    </Dialog>
  )
}
