import type { ReactNode } from 'react'
import { plural } from '../../format/numbers.ts'
import { classes } from '../../ui/classes.ts'

/** Worker slots in use by a queue. */
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
    <span className="usage" title={`${running} of ${slots} slots of ${plural(workers, 'worker')}`}>
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
