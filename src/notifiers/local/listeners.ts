import { existsSync, mkdirSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../runtime/runtime.ts'

/** The suffix of a listener's file. Each listening process has one, and touches it regularly. */
export const LISTENER_SUFFIX = '.listens'

/**
 * For this time after a change a folder may change again with the same mtime. The coarsest file systems have
 * a resolution of two seconds.
 */
const SETTLED_MS = 3_000

/** For this time a listener is assumed to be still there: a needless write does no harm. */
const STAYS_MS = 1_000

/**
 * Registers the process of the mailbox `own` as a listener. False if it was not: it may have missed hints.
 */
export function enlist(folder: string, own: string): boolean {
  const path = listenerPath(folder, own)
  const wasThere = existsSync(path)
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, `${process.pid}\n`, { mode: 0o600 })
  } catch {
    // It will receive no hints: polling finds the work.
  }
  return wasThere
}

export function delist(folder: string, own: string): void {
  try {
    unlinkSync(listenerPath(folder, own))
  } catch {
    // Already removed.
  }
}

function listenerPath(folder: string, own: string): string {
  return join(folder, listenerName(own))
}

function listenerName(own: string): string {
  return own.replace(/\.hints$/, '') + LISTENER_SUFFIX
}

/**
 * Checks whether other processes listen. A new listener first registers and then checks everything. So a
 * sender that finds no listener after its commit has nothing to send: later listeners see what was committed.
 */
export class Audience {
  readonly #folder: string
  readonly #runtime: Runtime
  readonly #own: string
  #isThere = false
  #changed = Number.NaN
  #changeSeenAt = 0
  #lookedAt = 0

  constructor(folder: string, runtime: Runtime, own: string) {
    this.#folder = folder
    this.#runtime = runtime
    this.#own = listenerName(own)
  }

  isThere(): boolean {
    const now = this.#runtime.mono()
    if (this.#isThere && now < this.#lookedAt + STAYS_MS) return true
    try {
      // Names are read only when they may have changed: reading the mtime costs much less.
      const changed = statSync(this.#folder, { throwIfNoEntry: false })?.mtimeMs
      if (changed === undefined) return false
      if (changed !== this.#changed) {
        this.#changed = changed
        this.#changeSeenAt = now
      } else if (!this.#isThere && this.#lookedAt > this.#changeSeenAt + SETTLED_MS) {
        return false
      }
      this.#isThere = readdirSync(this.#folder).some(
        (name) => name.endsWith(LISTENER_SUFFIX) && name !== this.#own,
      )
      this.#lookedAt = now
      return this.#isThere
    } catch {
      // A problem with the folder shows in the following write.
      return true
    }
  }
}
