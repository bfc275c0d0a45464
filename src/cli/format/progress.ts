import type { Output } from '../output.ts'
import { count, span } from './numbers.ts'

const CLEAR = `\r${String.fromCharCode(0x1b)}[K`
const BAR = 24
const EVERY_MS = 5_000
const TICK_MS = 250
/** What takes no longer is not worth a word. */
const QUIET_MS = 1_000

/** How far long work is: a bar that moves in a terminal, and a line now and then where there is none. */
export class Progress {
  readonly #out: Output
  readonly #what: string
  readonly #startedAt = Date.now()
  readonly #isLive: boolean
  #nextLineAt: number
  #shown = false

  /** `what` names the work: "Retrying". */
  constructor(out: Output, what: string) {
    this.#out = out
    this.#what = what
    this.#isLive = process.stderr.isTTY && !out.quiet
    this.#nextLineAt = this.#startedAt + EVERY_MS
  }

  /** `total` is null if it is not known. */
  show(done: number, total: number | null): void {
    if (this.#isLive) {
      this.#shown = true
      process.stderr.write(`${CLEAR}${this.#what} ${this.#picture(done, total)}`)
    } else if (Date.now() >= this.#nextLineAt) {
      this.#nextLineAt = Date.now() + EVERY_MS
      const of = total === null ? '' : ` of ${count(total)}`
      this.#out.note(`${this.#what} ${count(done)}${of} after ${span(Date.now() - this.#startedAt)}`)
    }
  }

  /** Waits for something of which only the end can be seen, and says how long that has taken. */
  async during<T>(work: Promise<T>): Promise<T> {
    const timer = setInterval(() => this.#wait(), TICK_MS)
    try {
      return await work
    } finally {
      clearInterval(timer)
      this.end()
    }
  }

  #wait(): void {
    const ms = Date.now() - this.#startedAt
    if (ms < QUIET_MS) return
    if (this.#isLive) {
      this.#shown = true
      const seconds = this.#out.paintNote('dim', `${Math.floor(ms / 1_000)}s`)
      process.stderr.write(`${CLEAR}${this.#what} ${seconds}`)
    } else if (Date.now() >= this.#nextLineAt) {
      this.#nextLineAt = Date.now() + EVERY_MS
      this.#out.note(`${this.#what} for ${span(ms)}`)
    }
  }

  /** Clears the bar, so that the next line starts in its place. */
  end(): void {
    if (this.#shown) process.stderr.write(CLEAR)
    this.#shown = false
  }

  #picture(done: number, total: number | null): string {
    const paint = this.#out.paintNote
    const seconds = (Date.now() - this.#startedAt) / 1_000
    const pace = seconds < 1 ? '' : paint('dim', `  ${count(Math.round(done / seconds))}/s`)
    if (total === null || total === 0) return `${count(done)}${pace}`
    const part = Math.min(1, done / total)
    const full = Math.round(part * BAR)
    const bar = paint('green', '█'.repeat(full)) + paint('dim', '░'.repeat(BAR - full))
    return `${bar} ${Math.floor(part * 100)}%  ${count(done)} of ${count(total)}${pace}`
  }
}
