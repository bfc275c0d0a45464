import type { ReactNode } from 'react'
import { codeOf } from '../api/query.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

/** Nothing is here, and that is told together with what could be. */
export function EmptyState({
  title,
  children,
  icon = 'jobs',
  action,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly icon?: IconName
  readonly action?: ReactNode
}): ReactNode {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children && <div className="empty-text">{children}</div>}
      {action}
    </div>
  )
}

/** What went wrong, in the words of the server, with its code. */
export function ErrorState({
  error,
  onRetry,
}: {
  readonly error: Error
  readonly onRetry?: () => void
}): ReactNode {
  const code = codeOf(error)
  return (
    <div className="empty" role="alert">
      <span className="empty-icon empty-icon-bad">
        <Icon name="errors" size={22} />
      </span>
      <h2>That did not work</h2>
      <p className="empty-text wrap-anywhere">{error.message}</p>
      {code && <code className="faint">{code}</code>}
      {onRetry && (
        <Button icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Stands where text will be. */
export function Skeleton({
  lines = 3,
  height,
}: {
  readonly lines?: number
  readonly height?: number
}): ReactNode {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {height === undefined ? (
        Array.from({ length: lines }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          <span key={index} style={{ width: `${90 - ((index * 17) % 40)}%` }} />
        ))
      ) : (
        <span style={{ height, width: '100%' }} />
      )}
    </div>
  )
}

interface Asked<Data> {
  readonly data: Data | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

/** Shows what was asked for: bones until it is here, the error if there is none, and old data rather than an error. */
export function Loaded<Data>({
  asked,
  children,
  skeleton,
}: {
  readonly asked: Asked<Data>
  readonly children: (data: Data) => ReactNode
  readonly skeleton?: ReactNode
}): ReactNode {
  if (asked.data !== undefined) return children(asked.data)
  if (asked.error) return <ErrorState error={asked.error} onRetry={() => void asked.refetch()} />
  return skeleton ?? <Skeleton lines={6} />
}
