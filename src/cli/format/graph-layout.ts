import type { Paint, Style } from '../output.ts'
import { widthOf } from './text.ts'

/** Drawings out of text, beside each other and forked, as lines run through a picture. */
export interface Block {
  /** All as wide as the block. */
  readonly lines: readonly (readonly Ink[])[]
  readonly width: number
  /** The line at which it is entered and left. */
  readonly base: number
  /** Whether a line leaves it: then nothing separates it from what follows. */
  readonly isOpen: boolean
}

export interface Ink {
  readonly text: string
  readonly style?: Style
}

const LINE: Style = 'dim'

export function inkOf(...inks: readonly Ink[]): Block {
  return { lines: [inks], width: widthOf(inks.map(({ text }) => text).join('')), base: 0, isOpen: false }
}

/** Blocks from left to right, on one line. */
export function beside(...blocks: readonly Block[]): Block {
  const above = Math.max(0, ...blocks.map(({ base }) => base))
  const below = Math.max(0, ...blocks.map(({ base, lines }) => lines.length - base - 1))
  const lines = Array.from({ length: above + 1 + below }, (_, row) =>
    blocks.flatMap(({ lines: own, base, width }) => own[row - above + base] ?? [blank(width)]),
  )
  const width = blocks.reduce((sum, block) => sum + block.width, 0)
  return { lines, width, base: above, isOpen: blocks.at(-1)?.isOpen ?? false }
}

/** One after the other, with arrows between. */
export function chained(blocks: readonly Block[], arrow = '─▶ '): Block {
  const parts = blocks.flatMap((block, index) => {
    const before = blocks[index - 1]
    if (before === undefined) return [block]
    return [inkOf({ text: before.isOpen ? arrow : ` ${arrow}`, style: LINE }), block]
  })
  return beside(...parts)
}

export interface Way {
  /** On the line that leads there. */
  readonly label?: string
  /** Null: nothing happens on this way. */
  readonly block: Block | null
}

/** Paths that fork and join. `knot` is drawn at the fork. */
export function forked(ways: readonly Way[], knot: Ink | null): Block {
  const leads = ways.map(({ label, block }): readonly [string, string] => [
    label === undefined ? '' : `─ ${label} `,
    block === null ? '─' : '─▶ ',
  ])
  const lead = Math.max(...leads.map(([head, tail]) => widthOf(head + tail)))
  const contents = ways.map(({ block }) => block ?? inkOf({ text: '' }))
  const width = Math.max(...contents.map((block) => block.width))
  const rows: (readonly Ink[])[] = []
  const bases: number[] = []
  const filled = (own: readonly Ink[], block: Block, isBase: boolean): readonly Ink[] => {
    const rest = width - block.width
    if (!isBase) return [...own, blank(rest + 2)]
    const gap = block.isOpen || block.width === 0 ? '─' : ' '
    return [...own, { text: `${gap}${'─'.repeat(rest)}─`, style: LINE }]
  }
  for (const [index, block] of contents.entries()) {
    // Two ways need a line between them on which they are entered.
    if (index === 1 && ways.length === 2) rows.push([blank(lead + width + 2)])
    bases.push(rows.length + block.base)
    for (const [row, own] of block.lines.entries()) {
      const isBase = row === block.base
      const text = isBase ? stretched(leads[index] as readonly [string, string], lead) : ' '.repeat(lead)
      rows.push([{ text, style: LINE }, ...filled(own, block, isBase)])
    }
  }
  const [top, bottom] = [bases[0] as number, bases.at(-1) as number]
  const base = Math.floor((top + bottom) / 2)
  const lines = rows.map((inks, row) => {
    const edges = edgesOf({ row, top, bottom, base, isWay: bases.includes(row) })
    const left = row === base && knot !== null ? knot : { text: edges[0], style: LINE }
    return [left, ...inks, { text: edges[1], style: LINE }]
  })
  return { lines, width: lead + width + 4, base, isOpen: true }
}

/** A lead as long as the longest: the line before its arrow is longer. */
function stretched([head, tail]: readonly [string, string], width: number): string {
  return head + '─'.repeat(width - widthOf(head + tail)) + tail
}

function edgesOf(at: {
  readonly row: number
  readonly top: number
  readonly bottom: number
  readonly base: number
  readonly isWay: boolean
}): readonly [string, string] {
  const { row, top, bottom, base, isWay } = at
  if (row < top || row > bottom) return [' ', ' ']
  if (top === bottom) return ['─', '─']
  if (row === base && row !== top && row !== bottom) return isWay ? ['┼', '┼'] : ['┤', '├']
  if (row === top) return ['┌', '┐']
  if (row === bottom) return ['└', '┘']
  return isWay ? ['├', '┤'] : ['│', '│']
}

/** The lines of a drawing, painted. */
export function painted({ lines }: Pick<Block, 'lines'>, paint: Paint): string[] {
  return lines.map((inks) =>
    inks
      .map(({ text, style }) => (style === undefined || text.trim() === '' ? text : paint(style, text)))
      .join('')
      .trimEnd(),
  )
}

/** The same in ASCII. */
export function plain<Drawing extends { readonly lines: Block['lines'] }>(drawing: Drawing): Drawing {
  const lines = drawing.lines.map((inks) =>
    inks.map((ink) => ({ ...ink, text: ink.text.replaceAll(/[^ -~]/gu, (char) => ASCII[char] ?? char) })),
  )
  return { ...drawing, lines }
}

const ASCII: Readonly<Record<string, string>> = {
  '─': '-',
  '│': '|',
  '┌': '+',
  '┐': '+',
  '└': '+',
  '┘': '+',
  '├': '+',
  '┤': '+',
  '┼': '+',
  '▶': '>',
  '✔': 'v',
  '✗': 'x',
  '·': '.',
  '–': '-',
  '⏱': '@',
  '◇': '?',
  '↺': 'o',
  '×': 'x',
  '…': '.',
}

function blank(width: number): Ink {
  return { text: ' '.repeat(Math.max(0, width)) }
}
