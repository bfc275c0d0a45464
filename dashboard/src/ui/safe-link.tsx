import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

/** An external link. URLs other than http and https are rendered as plain text. */
export function SafeLink({
  href,
  children,
}: {
  readonly href: string
  readonly children: ReactNode
}): ReactNode {
  if (!isWeb(href)) return <span>{children}</span>
  return (
    <a className="link" href={href} target="_blank" rel="noreferrer noopener">
      {children} <Icon name="external" size={12} />
    </a>
  )
}

function isWeb(href: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(href).protocol)
  } catch {
    return false
  }
}
