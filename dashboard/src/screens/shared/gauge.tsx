import type { ReactNode } from 'react'
import { countText } from '../../format/numbers.ts'
import { classes } from '../../ui/classes.ts'
import './shared.css'

/** A bar for a value with a maximum. */
export function Gauge({
  value,
  most,
  label,
}: {
  readonly value: number
  readonly most: number
  readonly label: string
}): ReactNode {
  const share = most === 0 ? 0 : Math.min(1, value / most)
  return (
    <span className="gauge">
      <meter className="unseen" min={0} max={Math.max(most, 1)} value={value} aria-label={label}>
        {value} of {most}
      </meter>
      <span className="gauge-rail" aria-hidden="true">
        <span
          className={classes('gauge-used', share >= 1 && 'gauge-full')}
          style={{ width: `${share * 100}%` }}
        />
      </span>
      <span className="num small" aria-hidden="true">
        {countText(value)}
        <span className="faint">/{countText(most)}</span>
      </span>
    </span>
  )
}
