import type { ReactNode } from 'react'

/** A small chart without axes. */
export function Sparkline({
  values: given,
  label,
  width = 96,
  height = 24,
  bars = false,
}: {
  readonly values: readonly number[]
  readonly label: string
  readonly width?: number
  readonly height?: number
  readonly bars?: boolean
}): ReactNode {
  const values = given.length > 1 ? given : [0, given[0] ?? 0]
  const top = Math.max(1e-9, ...values)
  const isFlat = values.every((value) => value === 0)
  const y = (value: number): number => height - 2 - (value / top) * (height - 4)
  const step = values.length > 1 ? width / (values.length - 1) : width
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`)
  return (
    <svg
      className={isFlat ? 'spark spark-flat' : 'spark'}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${label}: highest ${Math.round(top * 100) / 100}, latest ${values.at(-1) ?? 0}`}
      preserveAspectRatio="none"
    >
      {bars ? (
        values.map((value, index) => (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
            key={index}
            className={value === 0 ? 'spark-none' : undefined}
            x={(index * width) / values.length + 0.5}
            width={Math.max(1, width / values.length - 1)}
            y={isFlat ? height - 1 : y(value)}
            height={isFlat ? 1 : Math.max(1, height - y(value))}
            rx="0.5"
          />
        ))
      ) : (
        <>
          {!isFlat && <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} />}
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}
