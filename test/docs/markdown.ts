import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's folder. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** A page of the documents, by its path from the root. */
export interface Page {
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
}

/** A fenced block of a page. */
export interface Block {
  readonly page: Page
  /** What follows the fence: a language, then words. */
  readonly language: string
  readonly words: readonly string[]
  /** The line of the opening fence, from 0. */
  readonly line: number
  readonly lines: readonly string[]
}

/** Every page: those in the root, and those in `docs`. */
export function pages(): Page[] {
  const inFolder = (folder: string): string[] =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => join(folder, name))
  return [...inFolder('.'), ...inFolder('docs')].map(readPage)
}

/** The pages beside the code: `src/worker/README.md`, `bench/NOTES.md` and so on. */
export function codePages(): Page[] {
  return ['src', 'bench', 'dashboard', 'deploy', 'test']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
        .sort()
        .map((name) => join(folder, name)),
    )
    .map(readPage)
}

/** The page at a path from the root. */
export function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  return { path: path.replaceAll('\\', '/'), text, lines: text.split('\n') }
}

export function blocksOf(page: Page): Block[] {
  const blocks: Block[] = []
  for (let line = 0; line < page.lines.length; line++) {
    const fence = /^```(\S+)(.*)$/.exec(page.lines[line] as string)
    if (!fence) continue
    const end = page.lines.indexOf('```', line + 1)
    if (end === -1) throw new Error(`${page.path}:${line + 1} opens a block that nothing closes.`)
    const words = (fence[2] as string).split(' ').filter((word) => word !== '')
    blocks.push({ page, language: fence[1] as string, words, line, lines: page.lines.slice(line + 1, end) })
    line = end
  }
  return blocks
}

/** The block right after another one, with only blank lines and comments between. */
export function nextTo(block: Block): Block | undefined {
  const end = block.line + block.lines.length + 1
  const next = blocksOf(block.page).find(({ line }) => line > end)
  const between = block.page.lines.slice(end + 1, next?.line)
  return between.every((line) => line.trim() === '') ? next : undefined
}

/**
 * A TypeScript block as a program. Each of its lines stands where it stands on the page, so that an error of the
 * compiler tells the line to look at.
 *
 * A block that imports something is complete. Any other is a fragment: it stands in braces, after the lines that the
 * page gives to all its fragments in a comment that begins with `<!-- given`.
 */
export function programOf(block: Block): string {
  const program = block.page.lines.map(() => '')
  if (!block.lines.some((line) => /^(import|export) /.test(line))) {
    program[block.line] = ';{'
    program[block.line + block.lines.length + 1] = '}\nexport {}'
    const given = block.page.lines.indexOf('<!-- given')
    const end = block.page.lines.indexOf('-->', given)
    if (given !== -1)
      for (let line = given + 1; line < end; line++) program[line] = block.page.lines[line] as string
  }
  block.lines.forEach((line, index) => {
    program[block.line + 1 + index] = line
  })
  return program.join('\n')
}

/** The headings of a page outside of blocks, as `## Text`. */
export function headingsOf(page: Page): string[] {
  const inside = new Set(
    blocksOf(page).flatMap(({ line, lines }) => lines.map((_, index) => line + 1 + index)),
  )
  return page.lines.filter((line, index) => /^#{1,6} /.test(line) && !inside.has(index))
}
