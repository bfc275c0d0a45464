/** The pieces of a chart. It has its own background, so that it can be read on a light and on a dark page. */

export const COLOURS = {
  paper: '#fffdf8',
  edge: '#e7e0d2',
  ink: '#2b2620',
  faint: '#746b5e',
  grid: '#ece6da',
  skep: '#e08a00',
  skepDark: '#8f5600',
  rival: '#b3aca1',
  whisker: '#5f574b',
  limit: '#27736b',
  band: '#f6ecd6',
} as const

export const WIDTH = 760

/** Rounded: nobody sees a tenth of a pixel, and a chart that did not change must not change its file. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

interface TextStyle {
  readonly size?: number
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly bold?: boolean
  readonly colour?: string
}

export function text(x: number, y: number, words: string, style: TextStyle = {}): string {
  const { size = 13, anchor = 'start', bold = false, colour = COLOURS.ink } = style
  const weight = bold ? ' font-weight="600"' : ''
  return `<text x="${px(x)}" y="${px(y)}" font-size="${size}" text-anchor="${anchor}" fill="${colour}"${weight}>${escapeXml(words)}</text>`
}

export function line(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  colour: string,
  more = '',
): string {
  return `<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" stroke="${colour}" ${more}/>`
}

/** Digits of the system fonts are about this wide. It is used to keep words apart, not to place them exactly. */
export function widthOf(words: string, size = 13): number {
  return words.length * size * 0.56
}

interface Frame {
  readonly title: string
  readonly subtitle: string
  readonly height: number
  readonly body: readonly string[]
}

export function frame({ title, subtitle, height, body }: Frame): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${px(height)}" viewBox="0 0 ${WIDTH} ${px(height)}" role="img" aria-label="${escapeXml(`${title}. ${subtitle}`)}" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif">`,
    `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${px(height - 1)}" rx="10" fill="${COLOURS.paper}" stroke="${COLOURS.edge}"/>`,
    text(24, 36, title, { size: 18, bold: true }),
    text(24, 58, subtitle, { colour: COLOURS.faint }),
    ...body,
    '</svg>',
    '',
  ].join('\n')
}
