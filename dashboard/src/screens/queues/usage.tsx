import type { ReactNode } from 'react'
import { classes } from '../../ui/classes.ts'

/** How many of the slots of its workers a queue uses. */
export function Usage({
  running,
  slots,
  workers,
}: {
  readonly running: number
  readonly slots: number
  readonly workers: number
}): ReactNode {
  if (workers === 0) return <span className="faint">no worker</span>
  const part = slots === 0 ? 0 : Math.min(1, running / slots)
  return (
    <span className="usage" title={`${running} of ${slots} slots of ${workers} workers`}>
      <span className="usage-rail">
        <span
          className={classes('usage-done', part >= 1 && 'usage-full')}
          style={{ width: `${part * 100}%` }}
        />
      </span>
      <span className="num small soft">
        {running}/{slots}
      </span>
    </span>
  )
}
