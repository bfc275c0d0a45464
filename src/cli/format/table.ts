import type { Paint, Style } from '../output.ts'
import { cut, pad, widthOf } from './text.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** May be cut to make the table fit. */
  readonly flexible?: boolean
}

/** A cell is its text, with a style if it has one. The text must be harmless already. */
export type Cell = string | { readonly text: string; readonly style: Style | readonly Style[] }

const GAP = '  '
const LEAST = 8

/** The lines of a table that fits into `width`, as far as its flexible columns allow. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const textOf = (cell: Cell | undefined): string => (typeof cell === 'object' ? cell.text : (cell ?? ''))
  const widths = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(textOf(row[index])))),
  )
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (columns.length - 1)) - width
  columns.forEach(({ flexible }, index) => {
    if (flexible !== true || excess <= 0) return
    const narrower = Math.max(LEAST, (widths[index] as number) - excess)
    excess -= (widths[index] as number) - narrower
    widths[index] = narrower
  })

  const line = (cells: readonly Cell[]): string => {
    const parts = columns.map(({ align }, index) => {
      const cell = cells[index]
      const isLast = index === columns.length - 1
      const text =
        isLast && align !== 'right'
          ? cut(textOf(cell), widths[index] as number)
          : pad(textOf(cell), widths[index] as number, align)
      return typeof cell === 'object' ? paint(cell.style, text) : text
    })
    return parts.join(GAP).trimEnd()
  }
  return [line(columns.map(({ title }) => ({ text: title, style: 'dim' }))), ...rows.map(line)]
}
