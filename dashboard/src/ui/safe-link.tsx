import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

/** A link to outside. Anything that is not http or https is shown as text. */
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
