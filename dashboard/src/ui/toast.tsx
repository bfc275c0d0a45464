import { type ReactNode, useSyncExternalStore } from 'react'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

export interface Toast {
  readonly text: string
  readonly tone: 'good' | 'bad' | 'plain'
  /** The error code, for an error. */
  readonly code?: string | null
  readonly link?: { readonly to: string; readonly text: string }
}

interface Shown extends Toast {
  readonly key: number
}

let shown: readonly Shown[] = []
let nextKey = 1
const listeners = new Set<() => void>()

function show(next: readonly Shown[]): void {
  shown = next
  for (const listener of listeners) listener()
}

/** Reports the result of an action. Success disappears after a few seconds; errors stay until dismissed. */
export function toast(message: Toast): void {
  const key = nextKey++
  show([...shown.slice(-3), { ...message, key }])
  if (message.tone !== 'bad') setTimeout(() => dismiss(key), 5_000)
}

function dismiss(key: number): void {
  show(shown.filter((one) => one.key !== key))
}

export function Toasts(): ReactNode {
  const toasts = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map(({ key, text, tone, code }) => (
        <div key={key} className={classes('toast', `toast-${tone}`)}>
          <Icon name={tone === 'bad' ? 'errors' : tone === 'good' ? 'check' : 'info'} />
          <span className="wrap-anywhere grow">
            {text} {code && <code className="faint">{code}</code>}
          </span>
          <IconButton label="Dismiss" icon="close" small onClick={() => dismiss(key)} />
        </div>
      ))}
    </div>
  )
}
