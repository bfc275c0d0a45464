import type { ReactNode } from 'react'

/** A progress bar; indeterminate without a value. */
export function Progress({
  value,
  label,
  note,
}: {
  /** From 0 to 1; null if unknown. */
  readonly value: number | null
  readonly label: string
  readonly note?: ReactNode
}): ReactNode {
  const percent = value === null ? null : Math.round(Math.min(1, Math.max(0, value)) * 100)
  return (
    <div className="progress">
      <div
        className="progress-rail"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent ?? undefined}
      >
        <div
          className={percent === null ? 'progress-moving' : 'progress-done'}
          style={percent === null ? {} : { width: `${percent}%` }}
        />
      </div>
      <span className="num small soft">{note ?? (percent === null ? '' : `${percent} %`)}</span>
    </div>
  )
}
