import { COLOURS, frame, line, px, text, WIDTH, widthOf } from './drawing.ts'
import { show } from './measure.ts'
import { type Scale, scaleFor, showTick } from './scale.ts'
import type { Rank } from './standing.ts'
import type { Summary } from './statistics.ts'

export interface Bar extends Rank {
  /** Stands behind the value. */
  readonly note?: string
}

export interface BarChart {
  readonly title: string
  readonly subtitle: string
  /** From top to bottom. */
  readonly bars: readonly Bar[]
  /** A dashed line through all bars. */
  readonly limit?: Rank
  /** Latencies may be drawn on a logarithmic scale. Rates may not: how much longer a bar is must be how much faster it is. */
  readonly mayBeLogarithmic: boolean
}

const LEFT = 206
const TOP = 82
const ROW = 36

export function barChart({ title, subtitle, bars, limit, mayBeLogarithmic }: BarChart): string {
  const all = [...bars, ...(limit ? [limit] : [])].flatMap(({ summary }) => [summary.median, summary.highest])
  // The longest bar may have the longest words behind it.
  const right = WIDTH - 36 - Math.max(...bars.map((bar) => widthOf(wordsOf(bar))))
  const scale = scaleFor(all, LEFT, right, mayBeLogarithmic)
  const top = TOP + (limit ? 18 : 0)
  const bottom = top + bars.length * ROW
  return frame({
    title,
    subtitle: scale.logarithmic ? `${subtitle}, logarithmic scale` : subtitle,
    height: bottom + 44,
    body: [
      ...scale.ticks.flatMap((tick) => [
        line([scale.at(tick), top], [scale.at(tick), bottom + 4], COLOURS.grid),
        text(scale.at(tick), bottom + 22, showTick(tick), {
          size: 12,
          anchor: 'middle',
          colour: COLOURS.faint,
        }),
      ]),
      ...bars.flatMap((bar, index) => drawBar(bar, top + index * ROW, scale)),
      ...(limit ? drawLimit(limit, top, bottom, scale) : []),
    ],
  })
}

function wordsOf({ summary, note }: Bar): string {
  return note === undefined ? show(summary.median) : `${show(summary.median)} ${note}`
}

function drawBar(bar: Bar, y: number, scale: Scale): string[] {
  const { entrant, summary } = bar
  const isSkep = entrant.kind === 'skep'
  const middle = y + ROW / 2
  const words = wordsOf(bar)
  // A dot is wider than the end of a bar.
  const end = Math.max(scale.at(summary.median) + (scale.logarithmic ? 7 : 0), scale.at(summary.highest))
  return [
    text(LEFT - 12, middle + 4.5, entrant.name, { anchor: 'end', bold: isSkep }),
    ...(scale.logarithmic
      ? drawDot(summary, middle, isSkep, scale)
      : drawLength(summary, middle, isSkep, scale)),
    // A halo, because the dashed line of the limit may run through the number.
    `<rect x="${px(end + 6)}" y="${px(middle - 9)}" width="${px(widthOf(words) + 6)}" height="18" fill="${COLOURS.paper}" fill-opacity="0.85"/>`,
    text(end + 9, middle + 4.5, words, { bold: isSkep, colour: isSkep ? COLOURS.skepDark : COLOURS.ink }),
  ]
}

function drawLength(summary: Summary, middle: number, isSkep: boolean, scale: Scale): string[] {
  const width = Math.max(scale.at(summary.median) - LEFT, 1.5)
  const colour = isSkep ? COLOURS.skep : COLOURS.rival
  return [
    `<rect x="${LEFT}" y="${px(middle - 11)}" width="${px(width)}" height="22" rx="2" fill="${colour}"/>`,
    ...drawSpread(summary, middle, scale),
  ]
}

/** On a logarithmic scale a length means nothing, so the value is a dot. */
function drawDot(summary: Summary, middle: number, isSkep: boolean, scale: Scale): string[] {
  const colour = isSkep ? COLOURS.skep : COLOURS.rival
  const x = scale.at(summary.median)
  return [
    line([LEFT, middle], [x, middle], colour, 'stroke-width="2" stroke-opacity="0.55"'),
    ...drawSpread(summary, middle, scale),
    `<circle cx="${px(x)}" cy="${px(middle)}" r="7" fill="${colour}"/>`,
  ]
}

function drawSpread({ lowest, highest }: Summary, middle: number, scale: Scale): string[] {
  const [from, to] = [scale.at(lowest), scale.at(highest)]
  if (to - from < 3) return []
  return [
    line([from, middle], [to, middle], COLOURS.whisker, 'stroke-width="1.2"'),
    ...[from, to].map((x) => line([x, middle - 4], [x, middle + 4], COLOURS.whisker, 'stroke-width="1.2"')),
  ]
}

function drawLimit({ entrant, summary }: Rank, top: number, bottom: number, scale: Scale): string[] {
  const x = scale.at(summary.median)
  const words = `${entrant.name} ${show(summary.median)}`
  const half = widthOf(words, 12) / 2
  return [
    line([x, top - 6], [x, bottom + 4], COLOURS.limit, 'stroke-width="1.5" stroke-dasharray="4 3"'),
    text(Math.min(x, WIDTH - 20 - half), top - 12, words, {
      size: 12,
      anchor: 'middle',
      colour: COLOURS.limit,
    }),
  ]
}
