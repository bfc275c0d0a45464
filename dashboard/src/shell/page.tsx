import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { withoutBidi } from '../format/bidi.ts'
import { Icon } from '../ui/icon.tsx'

/** The frame of every screen: where one is, what can be done here, and the rest. */
export function Page({
  title,
  name,
  above,
  actions,
  children,
  full = false,
}: {
  /** Left out if what is inside has a title of its own. */
  readonly title?: ReactNode
  /** The title as text, for the tab of the browser. */
  readonly name: string
  /** Where this page is below. */
  readonly above?: { readonly to: string; readonly text: string }
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** As high as the window: what is inside scrolls by itself. */
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
