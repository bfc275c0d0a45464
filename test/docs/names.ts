// What the pages name: commands, flags, error codes, options, events, paths and figures, with the place of each.

import { blocksOf, type Page } from './markdown.ts'

/** A piece of code outside of TypeScript: a span between backticks, or a line of a shell block. */
export interface Code {
  /** `docs/cli.md:12` */
  readonly at: string
  readonly text: string
}

const SHELL = new Set(['sh', 'bash', 'console', 'shell'])

/** The lines of a page outside of blocks, with their numbers. */
export function proseOf(page: Page): { readonly at: string; readonly line: string }[] {
  const inside = new Set<number>()
  for (const { line, lines } of blocksOf(page)) {
    for (let i = line; i <= line + lines.length + 1; i++) inside.add(i)
  }
  return page.lines.flatMap((line, index) =>
    inside.has(index) ? [] : [{ at: `${page.path}:${index + 1}`, line }],
  )
}

/** Paragraphs and items of lists outside of blocks, each in one line, with the place where it begins. */
export function paragraphsOf(page: Page): { readonly at: string; readonly line: string }[] {
  const paragraphs: { at: string; line: string }[] = []
  let open: { at: string; line: string } | null = null
  for (const { at, line } of proseOf(page)) {
    const text = line.trim()
    const before = page.lines[Number(at.split(':')[1]) - 2] ?? ''
    if (/^(?:[-*|#>]|\d+\.)\s/.test(text) || before.startsWith('```') || before.trim() === '') open = null
    if (open !== null) open.line += ` ${text}`
    else if (text !== '') {
      open = { at, line: text }
      paragraphs.push(open)
    }
  }
  return paragraphs
}

/** Spans between backticks. */
export function spansOf(page: Page): Code[] {
  return proseOf(page).flatMap(({ at, line }) =>
    [...line.matchAll(/`([^`]+)`/g)].map(([, text]) => ({ at, text: text as string })),
  )
}

/** Spans, and the lines of shell blocks without their comments. A line that ends in a backslash goes on. */
export function commandsOf(page: Page): Code[] {
  const shell = blocksOf(page)
    .filter(({ language }) => SHELL.has(language))
    .flatMap(({ line, lines }) =>
      lines
        .join('\n')
        .replaceAll(/\\\n/g, '  ')
        .split('\n')
        .map((text, index) => ({
          at: `${page.path}:${line + index + 2}`,
          text: text.replace(/(^|\s)#\s.*$/, ''),
        })),
    )
  return [...spansOf(page), ...shell]
}

/** What follows `skep` in a command line, each call for itself. */
export function callsOf({ text }: Code): string[][] {
  return (
    text
      .split(/\s(?:\||\|\||&&|;|>)\s|\$\(/)
      // What npm installs is a package and no call.
      .map((part) => /^(?!.*\binstall\b)(?:.*[\s"'/])?skep\s+(.+)$/.exec(part.trim())?.[1])
      .filter((rest) => rest !== undefined)
      .map((rest) => rest.split(/\s+/))
  )
}

/** The cells of a row. */
export function cellsOf(row: string): string[] {
  return row
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
}

/** What stands between backticks. */
export function quotedIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)
}
