import type { ReactNode } from 'react'
import { COUNT_CAP, countText, rateText, short } from '../format/numbers.ts'
import { classes } from './classes.ts'

/** A count: exact up to the cap, then "500k+". */
export function Count({
  value,
  isExact = true,
  brief = false,
}: {
  readonly value: number
  readonly isExact?: boolean
  /** Abbreviated, for narrow columns. */
  readonly brief?: boolean
}): ReactNode {
  const text = brief && value < COUNT_CAP && isExact ? short(value) : countText(value, isExact)
  return (
    <span className={classes('num', value === 0 && 'faint')} title={value.toLocaleString('en-US')}>
      {text}
    </span>
  )
}

export function Rate({ value }: { readonly value: number }): ReactNode {
  return (
    <span className={classes('num', value === 0 && 'faint')}>
      {rateText(value)}
      <span className="faint">/s</span>
    </span>
  )
}
