import type { ReactNode } from 'react'
import type { Range } from '../../../../src/operations/schema/wire-types.ts'
import { Segments } from '../../ui/tabs.tsx'

const RANGES: readonly Range[] = ['15m', '1h', '6h', '24h', '7d']

/** Selects the time range of the charts. */
export function RangePicker({
  value,
  onChange,
}: {
  readonly value: Range
  readonly onChange: (range: Range) => void
}): ReactNode {
  return (
    <Segments
      label="Time range"
      value={value}
      onChange={onChange}
      options={RANGES.map((range) => ({ value: range, label: range }))}
    />
  )
}
