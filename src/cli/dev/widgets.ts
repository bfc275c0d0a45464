import { cut, widthOf } from '../format/text.ts'
import type { Paint, Style } from '../output.ts'

/** A piece of a line, with its colour. */
export interface Piece {
  readonly text: string
  readonly style?: Style | readonly Style[]
}

export interface Canvas {
  readonly columns: number
  readonly paint: Paint
}

/** The pieces in one line, cut where the terminal ends. */
export function lineOf(pieces: readonly Piece[], { columns, paint }: Canvas): string {
  let left = columns
  let line = ''
  for (const { text, style } of pieces) {
    if (left <= 0) break
    const shown = cut(text, left)
    left -= widthOf(shown)
    line += style === undefined || shown.trim() === '' ? shown : paint(style, shown)
  }
  return line
}

/** Some pieces at the left edge and some at the right; when it is narrow the right ones win. */
export function spread(left: readonly Piece[], right: readonly Piece[], options: Canvas): string {
  const widthOfAll = (pieces: readonly Piece[]): number =>
    pieces.reduce((sum, one) => sum + widthOf(one.text), 0)
  const rightWidth = widthOfAll(right)
  if (rightWidth + 10 > options.columns) return lineOf(left, options)
  const room = options.columns - rightWidth
  const gap = Math.max(0, room - widthOfAll(left))
  return lineOf(left, { ...options, columns: room }) + ' '.repeat(gap) + lineOf(right, options)
}

/** A text in lines of at most `width` columns, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
