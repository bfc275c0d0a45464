import { LIMITS } from '../core/limits.ts'
import { type LogLevel, lineBytes, lineOf, type NewLine, type NewProgress, type Note } from '../core/notes.ts'

/** What one run has told and no store has confirmed yet. Made when a handler tells something, and not before. */
export class RunNotes {
  #lines: NewLine[] = []
  #progress: NewProgress | null = null
  #lineN = 0
  #progressN = 0
  #bytes = 0

  /** How much room it takes. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#progress === null
  }

  /** Adds a line. If the store could not keep all of them anyway, the oldest go. Returns how many. */
  add(at: number, level: LogLevel, message: unknown, fields: unknown): number {
    return this.addLine(at, level, lineOf(message, fields))
  }

  /** The same with a line as it is stored. */
  addLine(at: number, level: LogLevel, kept: Pick<NewLine, 'text' | 'fields'>): number {
    this.#lineN += 1
    const line = { n: this.#lineN, at, level, ...kept }
    this.#lines.push(line)
    this.#bytes += lineBytes(line)
    let dropped = 0
    for (; this.#lines.length > LIMITS.noteLines || this.#bytes > LIMITS.notesBytes; dropped++) this.drop()
    return dropped
  }

  /** The last one counts. */
  report(at: number, value: number, note: string | null): void {
    this.#progressN += 1
    this.#progress = { n: this.#progressN, value, note, at }
  }

  /** Gives up the oldest line. That its number is missing tells the store of it. */
  drop(): boolean {
    const line = this.#lines.shift()
    if (line) this.#bytes -= lineBytes(line)
    return line !== undefined
  }

  /** All that is not confirmed, as it is now. */
  unconfirmed(): Note {
    return { progress: this.#progress, lines: this.#lines.slice() }
  }

  /** The store has this. */
  confirm({ progress, lines }: Note): void {
    const upTo = lines.at(-1)?.n ?? 0
    while ((this.#lines[0]?.n ?? Infinity) <= upTo) this.drop()
    if (this.#progress === progress) this.#progress = null
  }

  /** Nothing of it will be sent. */
  clear(): void {
    this.#lines = []
    this.#progress = null
    this.#bytes = 0
  }
}
