import type { ReactNode } from 'react'
import { codeOf } from '../api/query.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

/** Shown instead of an empty list, with a hint on how to fill it. */
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

const TITLES: Readonly<Record<string, string>> = {
  NOT_FOUND: 'Not found',
  JOB_NOT_FOUND: 'Job not found',
  SCHEDULE_NOT_FOUND: 'Schedule not found',
  FORBIDDEN: 'Not allowed',
  STORE_UNAVAILABLE: 'Store unavailable',
  UNREACHABLE: 'Server unreachable',
}

/** An error message from the server, with its code. */
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
      <h2>{TITLES[code ?? ''] ?? 'Request failed'}</h2>
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

/** A placeholder while content loads. */
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
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are identical
          <span key={index} style={{ width: `${90 - ((index * 17) % 40)}%` }} />
        ))
      ) : (
        <span style={{ height, width: '100%' }} />
      )}
    </div>
  )
}

interface Loadable<Data> {
  readonly data: Data | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

/**
 * Renders the data of a request: a skeleton while it loads, the error if there is no data, and stale data
 * rather than an error.
 */
export function Loaded<Data>({
  request,
  children,
  skeleton,
}: {
  readonly request: Loadable<Data>
  readonly children: (data: Data) => ReactNode
  readonly skeleton?: ReactNode
}): ReactNode {
  if (request.data !== undefined) return children(request.data)
  if (request.error) return <ErrorState error={request.error} onRetry={() => void request.refetch()} />
  return skeleton ?? <Skeleton lines={6} />
}
