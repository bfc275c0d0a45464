import { styleText } from 'node:util'
import { safeJson } from './format/text.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan' | 'magenta' | 'inverse'

/** Colours a text, or leaves it as it is. */
export type Paint = (style: Style | readonly Style[], text: string) => string

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

/** Where a command says things: data on stdout, everything else on stderr. */
export class Output {
  readonly json: boolean
  readonly quiet: boolean
  /** For what goes to stdout. */
  readonly paint: Paint
  /** For what goes to stderr. */
  readonly paintNote: Paint
  /** Hides secrets in everything that is not data. Set once it is known what was dialled. */
  mask: (text: string) => string = (text) => text
  /** What was dialled, as it may be shown. */
  dialled: string | undefined

  constructor({ json, quiet, color }: OutputOptions) {
    this.json = json
    this.quiet = quiet
    this.paint = painter(color && process.stdout.isTTY)
    this.paintNote = painter(color && process.stderr.isTTY)
  }

  /** The columns of the terminal that reads the data; endless for a pipe or file. */
  get width(): number {
    return process.stdout.isTTY ? (process.stdout.columns ?? 80) : Infinity
  }

  /** A line, or several, of what was asked for. */
  data(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /** An object of what was asked for, as JSON. */
  object(value: unknown): void {
    process.stdout.write(`${safeJson(value, process.stdout.isTTY ? 2 : undefined)}\n`)
  }

  /** One of many objects: JSON on one line, with or without --json. */
  line(value: unknown): void {
    process.stdout.write(`${safeJson(value)}\n`)
  }

  /** Something worth knowing that is not data. */
  note(text: string): void {
    if (!this.quiet) process.stderr.write(`${this.mask(text)}\n`)
  }

  warn(text: string): void {
    process.stderr.write(`${this.paintNote('yellow', 'warning')} ${this.mask(text)}\n`)
  }

  /** A line that is always shown. */
  complain(text: string): void {
    process.stderr.write(`${this.mask(text)}\n`)
  }
}

/** Whether colors are enabled; each stream is checked separately. */
export function wantsColor(env: NodeJS.ProcessEnv, refused: boolean): boolean {
  // no-color.org: any value that is not empty.
  return !refused && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

/** Whether the locale of the terminal is UTF-8. */
export function wantsUnicode(env: NodeJS.ProcessEnv): boolean {
  if (env['TERM'] === 'dumb' || env['TERM'] === 'linux') return false
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((one) => (one ?? '') !== '')
  return locale === undefined || /utf-?8/i.test(locale)
}

function painter(enabled: boolean): Paint {
  if (!enabled) return (_, text) => text
  return (style, text) => {
    const styles = typeof style === 'string' ? [style] : style
    // One at a time: Node 20 and 24 agree on that form. They differ in what they make of a stream.
    return styles.reduce((painted, one) => styleText(one, painted, FORCED), text)
  }
}

const FORCED = { validateStream: false }

/**
 * Calls `whenGone` once when stdout takes no more. What is written afterwards is dropped, and so is what stderr does
 * not accept: there is no reader left.
 */
export function watchOutput(whenGone: (error: NodeJS.ErrnoException) => void): void {
  let gone = false
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (gone) return
    gone = true
    whenGone(error)
  })
}

/** Waits until everything written has left the process: `process.exit` would cut off what a pipe has not taken. */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) =>
        new Promise<void>((resolve) => {
          if (stream.destroyed || !stream.writable) return resolve()
          stream.write('', () => resolve())
        }),
    ),
  )
}
