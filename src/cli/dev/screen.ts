import { clean } from '../format/text.ts'

const CSI = `${String.fromCharCode(0x1b)}[`
const ENTER = `${CSI}?1049h${CSI}?25l${CSI}?7l${CSI}2J`
const LEAVE = `${CSI}?7h${CSI}?25h${CSI}?1049l`
// Terminals that know it show everything in between at once; others ignore it.
const BEGIN = `${CSI}?2026h`
const END = `${CSI}?2026l`

const ESCAPE = '\u001b'
/** The escape sequences of keys; arrows in both of their modes. */
const SEQUENCES: Readonly<Record<string, Key>> = {
  [ESCAPE]: 'escape',
  [`${ESCAPE}[A`]: 'up',
  [`${ESCAPE}OA`]: 'up',
  [`${ESCAPE}[B`]: 'down',
  [`${ESCAPE}OB`]: 'down',
  '\r': 'enter',
  '\n': 'enter',
}

/** A sequence, or a single letter. */
const KEYS = new RegExp(`${ESCAPE}(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])|[^]`, 'g')

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const CTRL_Z = '\u001a'

/** `quit` is q or Ctrl-D, `interrupt` Ctrl-C; other keys have their names, and characters are themselves. */
export type Key = 'quit' | 'interrupt' | 'up' | 'down' | 'enter' | 'escape' | Letter
type Letter = string & { readonly length: 1 }

export interface ScreenOptions {
  readonly onKey: (key: Key) => void
  /** A line that other code writes to stdout or stderr meanwhile. */
  readonly onLine: (line: string) => void
  readonly onResize: () => void
}

/**
 * The terminal while it shows a picture instead of lines. It draws only what changed, in one write. Whatever
 * happens to the process, the terminal is given back as it was.
 */
export class Screen {
  readonly #options: ScreenOptions
  readonly #write: (text: string) => void
  readonly #restoreWrites: () => void
  #shown: readonly string[] = []
  #open = false

  constructor(options: ScreenOptions) {
    this.#options = options
    const { stdout } = process
    const native = stdout.write.bind(stdout)
    this.#write = (text) => void native(text)
    this.#restoreWrites = catchWrites((line) => options.onLine(line))
    process.once('exit', this.#leave)
    process.once('uncaughtExceptionMonitor', this.#crash)
    stdout.on('resize', this.#resized)
    this.#enter()
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = process.stdout
    // A terminal that does not know its size says 0.
    return { columns: columns || 80, rows: rows || 24 }
  }

  draw(lines: readonly string[]): void {
    if (!this.#open) return
    let changes = ''
    const most = Math.max(lines.length, this.#shown.length)
    for (let row = 0; row < most; row++) {
      const line = lines[row] ?? ''
      if (line !== this.#shown[row]) changes += `${CSI}${row + 1};1H${line}${CSI}0m${CSI}K`
    }
    this.#shown = lines
    if (changes !== '') this.#write(BEGIN + changes + END)
  }

  /** Gives the terminal back. */
  close(): void {
    this.#leave()
    this.#restoreWrites()
    process.stdout.off('resize', this.#resized)
    process.off('exit', this.#leave)
    process.off('uncaughtExceptionMonitor', this.#crash)
  }

  #enter(): void {
    this.#open = true
    this.#shown = []
    this.#write(ENTER)
    const { stdin } = process
    if (!stdin.isTTY) return
    stdin.setRawMode(true)
    stdin.on('data', this.#pressed)
    stdin.resume()
  }

  #leave = (): void => {
    if (!this.#open) return
    this.#open = false
    const { stdin } = process
    if (stdin.isTTY) {
      stdin.off('data', this.#pressed)
      stdin.setRawMode(false)
      stdin.pause()
    }
    this.#write(LEAVE)
  }

  #crash = (): void => {
    this.#leave()
    this.#restoreWrites()
  }

  #resized = (): void => {
    this.#shown = []
    this.#write(`${CSI}2J`)
    this.#options.onResize()
  }

  #pressed = (data: Buffer): void => {
    // Several keys may arrive at once. Unknown sequences are ignored.
    for (const [key] of data.toString('utf8').matchAll(KEYS)) {
      const named = SEQUENCES[key]
      if (named !== undefined) this.#options.onKey(named)
      else if (key === 'q' || key === CTRL_D) this.#options.onKey('quit')
      else if (key === CTRL_C) this.#options.onKey('interrupt')
      else if (key === CTRL_Z) this.#suspend()
      else if (/^[\x20-\x7e]$/.test(key)) this.#options.onKey(key as Letter)
    }
  }

  /** What Ctrl-Z does where the terminal itself handles it. */
  #suspend(): void {
    this.#leave()
    process.once('SIGCONT', () => {
      this.#enter()
      this.#options.onResize()
    })
    process.kill(0, 'SIGTSTP')
  }
}

/** Takes lines that others write, so that they do not tear the picture. */
function catchWrites(onLine: (line: string) => void): () => void {
  const streams = [process.stdout, process.stderr]
  const natives = streams.map((stream) => stream.write)
  for (const stream of streams) {
    let rest = ''
    stream.write = ((chunk: string | Uint8Array, ...others: unknown[]): boolean => {
      const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'))).split(
        '\n',
      )
      rest = (lines.pop() ?? '').slice(0, 10_000)
      for (const line of lines) {
        const text = clean(line)
        if (text !== '') onLine(text)
      }
      const done = others.find((other) => typeof other === 'function') as (() => void) | undefined
      if (done) process.nextTick(done)
      return true
    }) as typeof stream.write
  }
  return () => {
    streams.forEach((stream, index) => {
      stream.write = natives[index] as typeof stream.write
    })
  }
}
