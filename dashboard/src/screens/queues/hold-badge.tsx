import type { ReactNode } from 'react'
import type { QueueSummary } from '../../../../src/operations/schema/wire-types.ts'
import { exactText } from '../../format/times.ts'
import { Icon } from '../../ui/icon.tsx'
import { Badge } from '../../ui/state.tsx'

/** Shown if no live worker handles the queue. */
export function UnhandledBadge({ unhandled }: Pick<QueueSummary, 'unhandled'>): ReactNode {
  if (unhandled === 0) return null
  return (
    <Badge tone="bad" title="No live worker handles this queue. Its jobs start when one connects.">
      <Icon name="errors" size={12} />
      unhandled
    </Badge>
  )
}

/** Shown if the queue is paused or blocked, with the reason. */
export function HoldBadge({ hold, holds }: Pick<QueueSummary, 'hold' | 'holds'>): ReactNode {
  if (hold === null) return null
  const lines = holds
    .filter(({ lane }) => lane === null)
    .map(
      ({ kind, reason, by, until }) =>
        `${kind === 'block' ? 'Blocked' : 'Paused'}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}${
          until ? `, until ${exactText(until).split('\n')[0]}` : ''
        }`,
    )
  return (
    <Badge tone={hold === 'block' ? 'bad' : 'warn'} title={lines.join('\n')}>
      <Icon name={hold === 'block' ? 'block' : 'pause'} size={12} />
      {hold === 'block' ? 'blocked' : 'paused'}
    </Badge>
  )
}
