import type { ReactNode } from 'react'
import { classes } from '../../ui/classes.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'
import './shared.css'

/** A message about the whole page. */
export function Notice({
  tone = 'plain',
  icon = 'info',
  children,
  action,
}: {
  readonly tone?: 'plain' | 'warn' | 'bad'
  readonly icon?: IconName
  readonly children: ReactNode
  readonly action?: ReactNode
}): ReactNode {
  return (
    <div className={classes('notice', `notice-${tone}`)} role={tone === 'plain' ? 'note' : 'alert'}>
      <Icon name={icon} />
      <div className="grow wrap-anywhere">{children}</div>
      {action}
    </div>
  )
}
