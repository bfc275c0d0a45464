import { type ReactNode, useEffect } from 'react'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { signOut } from '../api/credential.ts'
import { useLiveStatus } from '../api/live.ts'
import { hasCredential } from '../api/me.ts'
import { askStale, useTrouble } from '../api/query.ts'
import { classes } from '../ui/classes.ts'
import { Icon } from '../ui/icon.tsx'
import { Menu } from '../ui/menu.tsx'
import { Badge } from '../ui/state.tsx'
import { Space } from './space.tsx'
import { chooseTheme, type Theme, useTheme } from './theme.ts'

export function TopBar({ me, onSearch }: { readonly me: Me; readonly onSearch: () => void }): ReactNode {
  return (
    <header className="top">
      <button type="button" className="top-search" onClick={onSearch} aria-label="Search or go to (Ctrl K)">
        <Icon name="search" />
        <span className="grow">Search or go to …</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'} K</kbd>
      </button>
      <div className="top-side">
        <LiveSign />
        <Space me={me} />
        {me.environment && (
          <Badge tone={/prod/i.test(me.environment) ? 'bad' : 'info'} title="Environment">
            {me.environment}
          </Badge>
        )}
        {!me.scopes.some((scope) => scope === 'operate' || scope === 'admin') && (
          <Badge title={`${me.name} may look and not change`}>read only</Badge>
        )}
        <ThemeMenu me={me} />
      </div>
    </header>
  )
}

const LIVE_WORDS = {
  live: 'Live: what you see follows the server',
  connecting: 'Connecting to the server …',
  waiting: 'The server does not answer. Trying again …',
  hidden: 'Paused while the page is hidden',
} as const

/** What is not fresh is asked for again so often, beside what events tell. */
const AGAIN_MS = 5_000

/** A quiet sign: a dot while all is well, a word when not. */
function LiveSign(): ReactNode {
  const status = useLiveStatus()
  const trouble = useTrouble()
  // The server is there, and cannot tell: its store is away. What is shown stays, and must not be taken for the present.
  const isStale = status === 'live' && trouble !== null
  useEffect(() => {
    if (!isStale) return
    const timer = setInterval(askStale, AGAIN_MS)
    return () => clearInterval(timer)
  }, [isStale])
  return (
    <span
      className={classes('live', isStale ? 'live-waiting' : `live-${status}`)}
      title={isStale ? `What you see is not fresh: ${trouble}` : LIVE_WORDS[status]}
      role="status"
    >
      <span className="live-dot" aria-hidden="true" />
      <span>
        {isStale
          ? 'Not fresh'
          : status === 'live'
            ? 'Live'
            : status === 'waiting'
              ? 'Reconnecting'
              : 'Connecting'}
      </span>
    </span>
  )
}

const THEMES: readonly { readonly theme: Theme; readonly label: string }[] = [
  { theme: 'system', label: 'As the system' },
  { theme: 'light', label: 'Light' },
  { theme: 'dark', label: 'Dark' },
]

function ThemeMenu({ me }: { readonly me: Me }): ReactNode {
  const theme = useTheme()
  return (
    <Menu
      label="Theme and account"
      look="quiet"
      icon={theme === 'system' ? 'screen' : theme === 'dark' ? 'moon' : 'sun'}
      items={[
        ...THEMES.map(({ theme: each, label }) => ({
          label,
          checked: each === theme,
          onSelect: () => chooseTheme(each),
        })),
        ...(hasCredential(me)
          ? [
              'line' as const,
              { label: `Log out ${me.name}`, icon: 'right' as const, onSelect: () => void signOut() },
            ]
          : []),
      ]}
    />
  )
}
