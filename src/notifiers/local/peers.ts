import {
  closeSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  watch,
} from 'node:fs'
import { join } from 'node:path'
import type { Hint } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { decodeLetters, MAILBOX_BYTES } from './hint-batch.ts'
import { delist, enlist, LISTENER_SUFFIX } from './listeners.ts'

/** The polling interval where the folder cannot be watched. */
const POLL_MS = 25
/** A mailbox not touched for this long belongs to no process. */
const STALE_MS = 60_000

const SUFFIX = '.hints'

export interface PeersOptions {
  readonly folder: string
  readonly runtime: Runtime
  /** The name of this process's own mailbox, which is not read. */
  readonly own: string
  readonly onHints: (hints: readonly Hint[]) => void
  /** @default watch of node:fs */
  readonly watch?: typeof watch
}

/** The mailboxes of the other processes: watched, or polled where that is not possible. */
export class Peers {
  readonly #options: PeersOptions
  /** The number of the last batch read from each. */
  readonly #read = new Map<string, number>()
  readonly #buffer = Buffer.allocUnsafe(MAILBOX_BYTES)
  #watcher: FSWatcher | null = null
  #stopPolling: (() => void) | null = null
  #open = false

  constructor(options: PeersOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#open
  }

  get isWatching(): boolean {
    return this.#watcher !== null
  }

  /** Starts to listen. Earlier hints are skipped: a new subscriber checks everything anyway. */
  open(): void {
    if (this.#open) return
    this.#open = true
    this.#watch()
    enlist(this.#options.folder, this.#options.own)
    this.#scan('skip')
  }

  close(): void {
    if (this.#open) delist(this.#options.folder, this.#options.own)
    this.#open = false
    this.#unwatch()
    this.#stopPolling?.()
    this.#stopPolling = null
  }

  /** Restores the watch and the registration, reads missed hints, and cleans up. */
  refresh(now: number): void {
    if (!this.#open) return
    const { folder, own, onHints } = this.#options
    if (!enlist(folder, own)) onHints([{ kind: 'sync' }])
    if (!this.#watcher) {
      this.#watch()
      if (this.#watcher) this.#stopPolling?.()
    }
    this.#scan('read')
    this.sweep(now)
  }

  /** Removes the files of processes that have exited. `now` is the time of the file system's clock. */
  sweep(now: number): void {
    for (const name of this.#names(SUFFIX, LISTENER_SUFFIX)) {
      const path = join(this.#options.folder, name)
      try {
        if (now - statSync(path).mtimeMs > STALE_MS) unlinkSync(path)
      } catch {
        // Another process was faster.
      }
    }
  }

  #watch(): void {
    const { folder, runtime, watch: begin = watch } = this.#options
    try {
      mkdirSync(folder, { recursive: true })
      // Not persistent: waiting for hints must not keep a process alive.
      this.#watcher = begin(folder, { persistent: false }, (_event, name) => {
        if (name === null) this.#scan('read')
        else if (name.endsWith(SUFFIX)) this.#take(name, 'read')
      })
      this.#watcher.on('error', () => {
        this.#unwatch()
        if (this.#open) this.#poll()
      })
    } catch {
      this.#unwatch()
      runtime.defer(() => this.#poll())
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #poll(): void {
    if (!this.#open || this.#watcher) return
    this.#scan('read')
    this.#stopPolling = this.#options.runtime.timer(POLL_MS, () => this.#poll(), { background: true })
  }

  #scan(how: 'read' | 'skip'): void {
    const names = this.#names(SUFFIX)
    for (const known of this.#read.keys()) if (!names.includes(known)) this.#read.delete(known)
    for (const name of names) this.#take(name, how)
  }

  #names(...suffixes: readonly string[]): string[] {
    try {
      const isMeant = (name: string): boolean => suffixes.some((suffix) => name.endsWith(suffix))
      return readdirSync(this.#options.folder).filter(isMeant)
    } catch {
      return []
    }
  }

  #take(name: string, how: 'read' | 'skip'): void {
    if (name === this.#options.own || !this.#open) return
    const letters = this.#letters(name)
    const last = letters?.at(-1)
    if (!letters || !last) {
      // Read during a write: the end of that write is an event of its own.
      return
    }
    const seen = this.#read.get(name) ?? (how === 'skip' ? last.number : 0)
    this.#read.set(name, last.number)
    const fresh = letters.filter(({ number }) => number > seen)
    if (fresh.length === 0) return
    const missed = (fresh[0]?.number as number) > seen + 1
    this.#options.onHints(missed ? [{ kind: 'sync' }] : fresh.flatMap(({ hints }) => hints))
  }

  #letters(name: string): ReturnType<typeof decodeLetters> {
    let file: number | undefined
    try {
      file = openSync(join(this.#options.folder, name), 'r')
      const length = readSync(file, this.#buffer, 0, MAILBOX_BYTES, 0)
      return decodeLetters(this.#buffer.subarray(0, length))
    } catch {
      return null
    } finally {
      if (file !== undefined) closeSync(file)
    }
  }
}
