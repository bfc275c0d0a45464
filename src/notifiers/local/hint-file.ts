import { closeSync, fstatSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Hint, mergeHints } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { encodeLetters, type WrittenLetter, writeLetter } from './hint-batch.ts'
import { Audience } from './listeners.ts'

/** Hints within this time are sent together; the first of a burst is sent at once. */
const GAP_MS = 2
/** Batches stay in the file for late readers: for this time, and at most this number. */
const KEEP_MS = 1_000
const KEEP_LETTERS = 16

/**
 * The file through which this process sends hints to others. Only it writes there. The file holds the latest
 * few batches, so that a slightly late reader misses nothing. Without listeners nothing is written.
 */
export class Mailbox {
  readonly name: string
  readonly #folder: string
  readonly #runtime: Runtime
  readonly #audience: Audience
  #file: number | null = null
  #letters: (WrittenLetter & { readonly at: number })[] = []
  #number = 0
  #pending: Hint[] = []
  #isUsed = false
  #scheduled = false
  #wroteAt = -Infinity
  #failure: unknown = null

  constructor(folder: string, runtime: Runtime) {
    this.#folder = folder
    this.#runtime = runtime
    const salt = Math.floor(runtime.random() * 2 ** 40).toString(36)
    this.name = `${process.pid}-${salt}.hints`
    this.#audience = new Audience(folder, runtime, this.name)
  }

  /** Whether anything was ever sent from here, even without listeners. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  get failure(): unknown {
    return this.#failure
  }

  send(hints: readonly Hint[]): void {
    this.#isUsed = true
    for (const hint of hints) if (!isTold(hint, this.#pending.at(-1))) this.#pending.push(hint)
    if (this.#scheduled) return
    this.#scheduled = true
    const waitMs = this.#wroteAt + GAP_MS - this.#runtime.mono()
    const run = (): void => {
      this.#scheduled = false
      this.flush()
    }
    // Not in the background: published hints must leave the process before it exits.
    if (waitMs > 0) this.#runtime.timer(waitMs, run)
    else this.#runtime.defer(run)
  }

  /** Writes pending hints, if another process listens. */
  flush(): void {
    if (this.#pending.length === 0) return
    const at = this.#runtime.mono()
    this.#wroteAt = at
    if (!this.#audience.isThere()) {
      this.#pending = []
      return
    }
    const letters = this.#letters.filter((letter) => letter.at > at - KEEP_MS).slice(1 - KEEP_LETTERS)
    const written = writeLetter({ number: ++this.#number, hints: mergeHints(this.#pending) })
    this.#letters = [...letters, { ...written, at }]
    this.#pending = []
    this.#write()
  }

  /**
   * Shows that the process is alive, and recreates the file if it was removed. Returns the time of the file
   * system's clock, or null if the file cannot be written.
   */
  refresh(): number | null {
    try {
      if (this.#file !== null && !this.#isThere(this.#file)) this.#close()
      return this.#write() && this.#file !== null ? fstatSync(this.#file).mtimeMs : null
    } catch (error) {
      this.#failure = error
      this.#close()
      return null
    }
  }

  #isThere(file: number): boolean {
    const found = statSync(join(this.#folder, this.name), { throwIfNoEntry: false })
    return found?.ino === fstatSync(file).ino
  }

  // A small write into the page cache takes less time than handing it to a thread.
  #write(): boolean {
    try {
      this.#file ??= this.#open()
      const bytes = encodeLetters(this.#letters)
      writeSync(this.#file, bytes, 0, bytes.length, 0)
      this.#failure = null
      return true
    } catch (error) {
      // Dropped: polling finds the work.
      this.#failure = error
      this.#close()
      return false
    }
  }

  /** Writes pending hints. The file stays for late readers; other processes remove it later. */
  close(): void {
    this.flush()
    this.#close()
    if (this.#number > 0) return
    try {
      unlinkSync(join(this.#folder, this.name))
    } catch {
      // It was never created, or is already removed.
    }
  }

  #open(): number {
    mkdirSync(this.#folder, { recursive: true })
    return openSync(join(this.#folder, this.name), 'w', 0o600)
  }

  #close(): void {
    if (this.#file === null) return
    try {
      closeSync(this.#file)
    } catch {
      // Nothing left to do.
    }
    this.#file = null
  }
}

/** Whether the previous hint covers this one: in a burst of inserts into one queue, the first covers all. */
function isTold(hint: Hint, before: Hint | undefined): boolean {
  return (
    hint.kind === 'work' &&
    before?.kind === 'work' &&
    hint.queue === before.queue &&
    hint.space === before.space &&
    hint.dueAt >= before.dueAt &&
    hint.rank >= before.rank
  )
}
