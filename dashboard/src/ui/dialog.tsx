import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { Button, IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { Field } from './field.tsx'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly footer?: ReactNode
  /** `drawer`: full height at the right edge. @default 'm' */
  readonly size?: 's' | 'm' | 'l' | 'drawer'
  /** Called when the form is submitted, by a submit button or Enter. */
  readonly onSubmit?: () => void
  /** Controls beside the title. */
  readonly tools?: ReactNode
}

/**
 * A native modal dialog: the browser traps the focus, and Escape closes it. Open while rendered.
 *
 * It is rendered in the body: inside a table cell it would inherit the cell's `nowrap` and unmount with the
 * row. React still bubbles events to the component that opened it, so propagation stops here.
 */
export function Dialog({
  title,
  onClose,
  children,
  footer,
  size = 'm',
  onSubmit,
  tools,
}: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    if (element && !element.open) element.showModal()
    // React applies autoFocus before the dialog opens, and opening moves the focus to the first button.
    element?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    // A drawer is for reading, so its first button does not get the focus.
    if (element?.classList.contains('dialog-drawer')) element.focus()
    return () => {
      element?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    event.stopPropagation()
    onSubmit?.()
  }
  return createPortal(
    <dialog
      ref={dialog}
      className={classes('dialog', `dialog-${size}`)}
      aria-labelledby={id}
      tabIndex={-1}
      onCancel={(event) => {
        event.preventDefault()
        event.stopPropagation()
        onClose()
      }}
      onMouseDown={(event) => {
        event.stopPropagation()
        if (event.target === dialog.current) onClose()
      }}
      onClick={(event) => event.stopPropagation()}
      onFocus={(event) => event.stopPropagation()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form className="dialog-inside" onSubmit={submit} noValidate>
        <header className="dialog-head">
          <h2 id={id} className="cut">
            {title}
          </h2>
          <div className="row">
            {tools}
            <IconButton label="Close" icon="close" onClick={onClose} />
          </div>
        </header>
        <div className="dialog-body">{children}</div>
        {footer && <footer className="dialog-foot">{footer}</footer>}
      </form>
    </dialog>,
    document.body,
  )
}

export interface ConfirmProps {
  readonly title: string
  readonly children: ReactNode
  /** The label of the button: a verb. */
  readonly action: string
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly busy?: boolean
  readonly danger?: boolean
  /** Must be typed to enable the button, for destructive actions. */
  readonly typed?: string
  readonly disabled?: boolean
}

/** A confirmation dialog. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
  busy = false,
  danger = false,
  typed,
  disabled = false,
}: ConfirmProps): ReactNode {
  const [text, setText] = useState('')
  const isReady = !disabled && !busy && (typed === undefined || text === typed)
  return (
    <Dialog
      title={title}
      onClose={onClose}
      size="s"
      onSubmit={() => isReady && onConfirm()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={danger ? 'danger' : 'main'} busy={busy} disabled={!isReady}>
            {action}
          </Button>
        </>
      }
    >
      <div className="stack">
        {children}
        {typed !== undefined && (
          <Field
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            autoFocus
          />
        )}
      </div>
    </Dialog>
  )
}
