import { type ReactNode, useEffect } from 'react'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { signOut } from '../api/credential.ts'
import { useLiveStatus } from '../api/live.ts'
import { hasCredential } from '../api/me.ts'
import { refetchStale, useStaleReason } from '../api/query.ts'
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
        <LiveStatusBadge />
        <Space me={me} />
        {me.environment && (
          <Badge tone={/prod/i.test(me.environment) ? 'bad' : 'info'} title="Environment">
            {me.environment}
          </Badge>
        )}
        {!me.scopes.some((scope) => scope === 'operate' || scope === 'admin') && (
          <Badge title={`${me.name} cannot change anything`}>read only</Badge>
        )}
        <ThemeMenu me={me} />
      </div>
    </header>
  )
}

const LIVE_TITLES = {
  live: 'Live updates from the server',
  connecting: 'Connecting to the server …',
  waiting: 'The server cannot be reached. Reconnecting …',
  hidden: 'Paused while the page is hidden',
} as const

/** How often stale data is refetched, besides events. */
const REFETCH_MS = 5_000

/** The connection status. */
function LiveStatusBadge(): ReactNode {
  const status = useLiveStatus()
  const staleReason = useStaleReason()
  // The server answers but its store does not. Old data stays visible and must not pass for current data.
  const isStale = status === 'live' && staleReason !== null
  useEffect(() => {
    if (!isStale) return
    const timer = setInterval(refetchStale, REFETCH_MS)
    return () => clearInterval(timer)
  }, [isStale])
  return (
    <span
      className={classes('live', isStale ? 'live-waiting' : `live-${status}`)}
      title={isStale ? `This data is out of date: ${staleReason}` : LIVE_TITLES[status]}
      role="status"
    >
      <span className="live-dot" aria-hidden="true" />
      <span>
        {isStale
          ? 'Out of date'
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
  { theme: 'system', label: 'System' },
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
