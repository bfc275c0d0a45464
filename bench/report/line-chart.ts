import { COLOURS, frame, line, px, text, WIDTH } from './drawing.ts'
import { show } from './measure.ts'
import { niceStep, type Scale, scaleFor, showTick } from './scale.ts'

export interface LineChart {
  readonly title: string
  readonly subtitle: string
  readonly lines: readonly {
    readonly name: string
    readonly isSkep: boolean
    readonly points: readonly (readonly [number, number])[]
  }[]
  /** Seconds during which something held, shaded. */
  readonly band?: { readonly from: number; readonly to: number; readonly name: string }
}

const LEFT = 64
const RIGHT = WIDTH - 232
const TOP = 98
const BOTTOM = 340

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600]

/** Rivals share a colour, and differ in their dashes and in the names at their ends. */
const DASHES = ['', '7 4', '2 3', '9 3 2 3']

export function lineChart({ title, subtitle, lines, band }: LineChart): string {
  const points = lines.flatMap((one) => one.points)
  const y = scaleFor(
    points.map(([, value]) => value),
    BOTTOM,
    TOP,
    true,
  )
  const last = Math.max(...points.map(([seconds]) => seconds), band?.to ?? 0, 1)
  const x = (seconds: number): number => LEFT + (seconds / last) * (RIGHT - LEFT)
  const rivals = lines.filter(({ isSkep }) => !isSkep)
  // Skep is drawn last, to lie on top.
  const drawn = [...rivals, ...lines.filter(({ isSkep }) => isSkep)]
  const labels = apart(drawn.map((one) => ({ one, y: y.at(one.points.at(-1)?.[1] ?? 0) })))
  return frame({
    title,
    subtitle: y.logarithmic ? `${subtitle}, logarithmic scale` : subtitle,
    height: BOTTOM + 56,
    body: [
      ...(band ? drawBand(x(band.from), x(band.to), band.name) : []),
      ...drawAxes(x, y, last),
      ...drawn.flatMap((one) => {
        const colour = one.isSkep ? COLOURS.skep : COLOURS.whisker
        const dashes = one.isSkep ? '' : (DASHES[rivals.indexOf(one) % DASHES.length] ?? '')
        const places = one.points.map(([seconds, value]) => [px(x(seconds)), px(y.at(value))] as const)
        return [
          `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="${one.isSkep ? 3 : 2}" stroke-linejoin="round"${dashes ? ` stroke-dasharray="${dashes}"` : ''}/>`,
          ...places.map(
            ([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="${one.isSkep ? 4 : 3}" fill="${colour}"/>`,
          ),
        ]
      }),
      ...labels.flatMap(({ one, y: at }) => {
        const [seconds, value] = one.points.at(-1) ?? [0, 0]
        const colour = one.isSkep ? COLOURS.skepDark : COLOURS.ink
        return [
          // Where the name had to move away from its line, a thin one leads to it.
          line([x(seconds) + 5, y.at(value)], [RIGHT + 12, at - 4], COLOURS.rival),
          text(RIGHT + 15, at, `${one.name} ${show(value)}`, { bold: one.isSkep, colour }),
        ]
      }),
    ],
  })
}

function drawBand(from: number, to: number, name: string): string[] {
  return [
    `<rect x="${px(from)}" y="${TOP}" width="${px(to - from)}" height="${BOTTOM - TOP}" fill="${COLOURS.band}"/>`,
    text((from + to) / 2, TOP - 7, name, { size: 12, anchor: 'middle', colour: COLOURS.faint }),
  ]
}

function drawAxes(x: (seconds: number) => number, y: Scale, last: number): string[] {
  const step = TIME_STEPS.find((one) => last / one <= 8) ?? niceStep(last / 8)
  const seconds = Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step)
  return [
    ...y.ticks.flatMap((tick) => [
      line([LEFT, y.at(tick)], [RIGHT, y.at(tick)], COLOURS.grid),
      text(LEFT - 8, y.at(tick) + 4, showTick(tick), { size: 12, anchor: 'end', colour: COLOURS.faint }),
    ]),
    ...seconds.map((second) =>
      text(x(second), BOTTOM + 20, String(second), { size: 12, anchor: 'middle', colour: COLOURS.faint }),
    ),
    text((LEFT + RIGHT) / 2, BOTTOM + 40, 'seconds', { size: 12, anchor: 'middle', colour: COLOURS.faint }),
  ]
}

/** Moves names down until none covers another. */
function apart<T>(labels: readonly { one: T; y: number }[]): { one: T; y: number }[] {
  let free = Number.NEGATIVE_INFINITY
  return [...labels]
    .sort((a, b) => a.y - b.y)
    .map(({ one, y }) => {
      const placed = Math.max(y + 4, free)
      free = placed + 18
      return { one, y: placed }
    })
}
