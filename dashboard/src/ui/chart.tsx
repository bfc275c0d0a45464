import { type ReactNode, useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { withoutBidi } from '../format/bidi.ts'
import { clockText } from '../format/times.ts'
import { useThemeTick } from '../shell/theme.ts'
import { firstRow } from './label-rows.ts'

/** Height of the legend that uPlot renders below the plot. */
const LEGEND_HEIGHT = 30

export interface ChartLine {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** The name of a CSS variable: `--green-2`. */
  readonly color: string
  readonly filled?: boolean
  readonly dashed?: boolean
}

export interface ChartProps {
  /** The start of the first bucket, and the length of each bucket. */
  readonly from: string
  readonly stepMs: number
  readonly lines: readonly ChartLine[]
  readonly format: (value: number) => string
  /** What the chart shows, for screen readers. */
  readonly label: string
  readonly height?: number
  /** Labeled timestamps, drawn as vertical lines. */
  readonly marks?: readonly { readonly at: string; readonly text: string }[]
}

/** A line chart over time, as wide as its container. */
export function Chart({
  from,
  stepMs,
  lines,
  format,
  label,
  height = 180,
  marks = [],
}: ChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const theme = useThemeTick()
  const names = lines.map((line) => `${line.label}${line.color}`).join()
  const marksNow = useRef(marks)
  marksNow.current = marks
  const start = Date.parse(from) / 1_000
  const length = Math.max(0, ...lines.map(({ values }) => values.length))
  const data: uPlot.AlignedData = [
    Array.from({ length }, (_, index) => start + (index * stepMs) / 1_000),
    ...lines.map(({ values }) => values as (number | null)[]),
  ]
  const isQuiet = lines.every(({ values }) => values.every((value) => value === null || value === 0))
  const newest = useRef(data)
  newest.current = data

  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines or colors need a new plot, new values do not
  useEffect(() => {
    const box = place.current
    if (!box) return
    const make = (): void => {
      plot.current = new uPlot(options(box.clientWidth), newest.current, box)
    }
    const options = (width: number): uPlot.Options =>
      optionsOf({ width, height, lines, format, marks: () => marksNow.current })
    const sizes = new ResizeObserver(() => {
      if (box.clientWidth === 0) return
      if (plot.current) plot.current.setSize({ width: box.clientWidth, height })
      else make()
    })
    sizes.observe(box)
    return () => {
      sizes.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [names, height, theme])

  useEffect(() => {
    plot.current?.setData(data)
  })

  return (
    <figure className="chart">
      <div
        ref={place}
        className="chart-place"
        style={{ minHeight: height + LEGEND_HEIGHT }}
        aria-hidden="true"
      />
      {isQuiet && <p className="chart-quiet">No data in this time range.</p>}
      <figcaption className="unseen">
        {label}. {lines.map(({ label: name, values }) => `${name}: ${spoken(values, format)}`).join('. ')}.
        {marks.length > 0 &&
          ` Deploys: ${marks.map(({ at, text }) => `${text} at ${clockText(at)}`).join(', ')}.`}
      </figcaption>
    </figure>
  )
}

function spoken(values: readonly (number | null)[], format: (value: number) => string): string {
  const known = values.filter((value) => value !== null)
  const last = known.at(-1)
  if (last === undefined) return 'no data'
  return `latest ${format(last)}, highest ${format(Math.max(...known))}`
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function optionsOf({
  width,
  height,
  lines,
  format,
  marks,
}: {
  width: number
  height: number
  lines: readonly ChartLine[]
  format: (value: number) => string
  marks: () => readonly { readonly at: string; readonly text: string }[]
}): uPlot.Options {
  const faint = color('--text-faint')
  const grid = { stroke: color('--line'), width: 1 }
  const font = `11px ${color('--font')}`
  return {
    width,
    height,
    padding: [10, 18, 0, 0],
    cursor: { points: { size: 6 }, y: false, drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      {
        stroke: faint,
        grid: { show: false },
        ticks: { show: false },
        font,
        size: 26,
        space: 70,
        values: timesOf,
      },
      {
        stroke: faint,
        grid,
        ticks: { show: false },
        font,
        size: 52,
        space: 36,
        // No axis labels without data.
        values: (plot, splits) =>
          plot.data.slice(1).some((line) => line?.some((value) => value))
            ? splits.map((value) => format(value))
            : [],
      },
    ],
    series: [
      {
        label: 'Time',
        value: (_plot, value) => (value === null ? '–' : new Date(value * 1_000).toLocaleTimeString('en-GB')),
      },
      ...lines.map(
        ({ label, color: name, filled = false, dashed = false }): uPlot.Series => ({
          label,
          stroke: color(name),
          width: 1.6,
          ...(filled ? { fill: `${color(name)}22` } : {}),
          ...(dashed ? { dash: [4, 3] } : {}),
          points: { show: true, size: 5, width: 0, fill: color(name), filter: lonely },
          spanGaps: false,
          value: (_plot, value) => (value === null || value === undefined ? '–' : format(value)),
        }),
      ),
    ],
    // Drawn last: a label below a line would not be legible.
    hooks: { draw: [(plot) => drawMarks(plot, marks())] },
  }
}

/** Isolated values form no line, so they are drawn as dots. */
function lonely(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? []
  const isThere = (at: number): boolean => values[at] !== null && values[at] !== undefined
  return Array.from(values.keys()).filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1))
}

function timesOf(_plot: uPlot, splits: number[]): string[] {
  const isLong = (splits.at(-1) ?? 0) - (splits[0] ?? 0) > 36 * 3_600
  return splits.map((at) => {
    const date = new Date(at * 1_000)
    return isLong
      ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
      : date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  })
}

/** Height of a label. */
const LABEL_PX = 15

/**
 * Draws marks as solid lines with a boxed label, so that they do not look like data. Overlapping labels go in
 * rows.
 */
function drawMarks(plot: uPlot, marks: readonly { readonly at: string; readonly text: string }[]): void {
  const { ctx, bbox } = plot
  const px = devicePixelRatio
  const ends: number[] = []
  ctx.save()
  ctx.font = `${10 * px}px ${color('--font')}`
  ctx.textAlign = 'left'
  ctx.textBaseline = 'middle'
  ctx.setLineDash([])
  ctx.lineWidth = px
  for (const { at, text: written } of marks) {
    const text = withoutBidi(written)
    // Timestamps after the start of the last bucket are drawn at the right edge.
    const right = bbox.left + bbox.width
    const x = Math.min(right, Math.round(plot.valToPos(Date.parse(at) / 1_000, 'x', true)))
    if (x < bbox.left) continue
    ctx.strokeStyle = color('--text-faint')
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()

    const width = ctx.measureText(text).width + 10 * px
    // At the right edge the label goes to the left of its line.
    const left = x + width > right ? x - width : x
    const row = firstRow(ends, left)
    if (row === null) continue
    ends[row] = left + width + 2 * px
    const top = bbox.top + row * (LABEL_PX + 2) * px
    ctx.fillStyle = color('--surface')
    ctx.fillRect(left, top, width, LABEL_PX * px)
    ctx.strokeRect(left, top, width, LABEL_PX * px)
    ctx.fillStyle = color('--text-soft')
    ctx.fillText(text, left + 5 * px, top + (LABEL_PX * px) / 2)
  }
  ctx.restore()
}
