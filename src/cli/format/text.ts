/**
 * Text that came from elsewhere (a job, a database, a command line) must not be able to do anything to a
 * terminal or to the reader of a log: no escape sequence, no control character, no change of writing direction.
 */
const ESC = String.fromCharCode(0x1b)
const BEL = String.fromCharCode(0x07)
const CSI = String.fromCharCode(0x9b)

const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|${CSI})[0-?]*[ -/]*[@-~]?`, // colours, movement, erasing
    `${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`, // titles, links, clipboard
    `${ESC}[PX^_][^${ESC}]*(?:${ESC}\\\\)?`, // device strings
    `${ESC}[ -/]*[0-~]?`, // all the others
  ].join('|'),
  'g',
)
const SPACES = /[\s\u0085\u2028\u2029]+/g
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu

/** Harmless text on one line. */
export function clean(text: string): string {
  return text.replace(SEQUENCES, '').replace(SPACES, ' ').replace(CONTROLS, '').trim()
}

/** Harmless text that keeps its lines: stacks, pretty JSON. */
export function cleanLines(text: string): string {
  return text
    .replace(SEQUENCES, '')
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => line.replaceAll('\t', '  ').replace(CONTROLS, '').trimEnd())
    .join('\n')
}

/** JSON whose text is harmless in a terminal and still reads back equal: what could harm is written as \uXXXX. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text.replace(CONTROLS, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** User input as it is shown in a message: short, in quotes, on one line. */
export function quote(text: string): string {
  return `"${cut(clean(text), 60)}"`
}

const ZERO = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const WIDE =
  /^(?:\p{Extended_Pictographic}(?<![\u00a9\u00ae\u2122\u2139\u2190-\u2328\u2388\u23cf\u23ed-\u23ef\u23f1\u23f2\u23f8-\u23fa\u25aa-\u25c0\u2600-\u27bf])|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])$/u

/** How many columns a terminal needs for a text without escape sequences. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) {
    const code = char.codePointAt(0) as number
    width += code < 0x300 ? 1 : ZERO.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  }
  return width
}

/** The text, or its beginning and an ellipsis, in at most `width` columns. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let taken = ''
  let used = 0
  for (const char of text) {
    const next = widthOf(char)
    if (used + next > width - 1) break
    taken += char
    used += next
  }
  return width <= 0 ? '' : `${taken.trimEnd()}…`
}

/** The text in exactly `width` columns. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const fitting = cut(text, width)
  const blanks = ' '.repeat(Math.max(0, width - widthOf(fitting)))
  return align === 'left' ? fitting + blanks : blanks + fitting
}
