import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { withoutBidi } from '../format/bidi.ts'
import { Icon } from '../ui/icon.tsx'

/** The frame of every screen: breadcrumb, title, actions and content. */
export function Page({
  title,
  name,
  above,
  actions,
  children,
  full = false,
}: {
  /** Omitted if the content has its own title. */
  readonly title?: ReactNode
  /** The plain title, for the browser tab. */
  readonly name: string
  /** The parent page. */
  readonly above?: { readonly to: string; readonly text: string }
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** As high as the window; the content scrolls on its own. */
  readonly full?: boolean
}): ReactNode {
  useEffect(() => {
    document.title = `${withoutBidi(name)} · Skep`
  }, [name])
  return (
    <main className={full ? 'page page-full' : 'page'} id="main" tabIndex={-1}>
      <header className="page-head">
        <div className="grow">
          {above && (
            <Link to={above.to} className="page-above">
              <Icon name="left" size={12} /> {above.text}
            </Link>
          )}
          {title && <h1 className="wrap-anywhere">{title}</h1>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </main>
  )
}
