import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { includes } from '../api/me.ts'
import { classes } from '../ui/classes.ts'
import { Icon, Logo } from '../ui/icon.tsx'
import { Toasts } from '../ui/toast.tsx'
import { KeysHelp } from './keys-help.tsx'
import { Palette } from './palette.tsx'
import { SECTIONS, type Section } from './sections.ts'
import { useShortcuts } from './shortcuts.ts'
import { TopBar } from './top-bar.tsx'

export function Layout({ me, children }: { readonly me: Me; readonly children: ReactNode }): ReactNode {
  const [isSheetOpen, setSheetOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [location] = useLocation()
  const [isHelpOpen, setHelpOpen] = useState(false)
  useShortcuts(
    useCallback(() => setPaletteOpen(true), []),
    useCallback(() => setHelpOpen(true), []),
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the sheet
  useEffect(() => setSheetOpen(false), [location])
  return (
    <div className="shell">
      {/* A button: a link would change the URL and add a history entry. */}
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Sidebar me={me} isOpen={isSheetOpen} />
      {isSheetOpen && (
        <button
          type="button"
          className="shell-veil"
          aria-label="Close menu"
          onClick={() => setSheetOpen(false)}
        />
      )}
      <div className="shell-main">
        <TopBar me={me} onSearch={() => setPaletteOpen(true)} />
        {children}
      </div>
      <BottomBar onMore={() => setSheetOpen(!isSheetOpen)} />
      {isPaletteOpen && <Palette me={me} onClose={() => setPaletteOpen(false)} />}
      {isHelpOpen && <KeysHelp onClose={() => setHelpOpen(false)} />}
      <Toasts />
    </div>
  )
}

function Sidebar({ me, isOpen }: { readonly me: Me; readonly isOpen: boolean }): ReactNode {
  return (
    <nav className={classes('side', isOpen && 'side-open')} aria-label="Sections">
      <Link to="/" className="side-mark">
        <Logo size={26} />
        <span>Skep</span>
      </Link>
      {SECTIONS.map(({ title, sections }) => (
        <div key={title ?? 'first'} className="side-group">
          {title && <span className="side-title">{title}</span>}
          <ul>
            {sections
              .filter(({ scope }) => scope === undefined || includes(me.scopes, scope))
              .map((section) => (
                <li key={section.path}>
                  <SideLink section={section} />
                </li>
              ))}
          </ul>
        </div>
      ))}
      <p className="side-foot faint small">Skep {me.version}</p>
    </nav>
  )
}

function useIsHere(path: string): boolean {
  const [location] = useLocation()
  if (path === '/') return location === '/' || location === ''
  if (path === '/flows' && /^\/(runs|groups)(\/|$)/.test(location)) return true
  return location === path || location.startsWith(`${path}/`)
}

function SideLink({ section: { path, title, icon, keys } }: { readonly section: Section }): ReactNode {
  const isHere = useIsHere(path)
  return (
    <Link
      to={path}
      className={classes('side-link', isHere && 'side-link-on')}
      aria-current={isHere ? 'page' : undefined}
      title={keys ? `${title} (${keys})` : title}
    >
      <Icon name={icon} />
      <span>{title}</span>
    </Link>
  )
}

const BOTTOM_BAR = ['/', '/queues', '/jobs', '/errors']

/** On a phone the main sections are at the bottom, the rest under "More". */
function BottomBar({ onMore }: { readonly onMore: () => void }): ReactNode {
  const sections = SECTIONS.flatMap((group) => group.sections).filter(({ path }) => BOTTOM_BAR.includes(path))
  return (
    <nav className="bottom-nav" aria-label="Main sections">
      {sections.map((section) => (
        <SideLink key={section.path} section={section} />
      ))}
      <button type="button" className="side-link" onClick={onMore}>
        <Icon name="menu" />
        <span>More</span>
      </button>
    </nav>
  )
}
