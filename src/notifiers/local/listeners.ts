import { existsSync, mkdirSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../runtime/runtime.ts'

/** What the name of a listener's file ends with. Each process that listens has one, and touches it now and then. */
export const LISTENER_SUFFIX = '.listens'

/**
 * So long after a folder has changed it may change again without a new time of its last change. The coarsest clocks
 * of file systems tick every two seconds.
 */
const SETTLED_MS = 3_000

/** Who was there is taken to be there still for so long: a letter too many does no harm. */
const STAYS_MS = 1_000

/** Says that the process of the mailbox `own` listens. False if this was not known: it may have missed hints. */
export function enlist(folder: string, own: string): boolean {
  const path = listenerPath(folder, own)
  const wasThere = existsSync(path)
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, `${process.pid}\n`, { mode: 0o600 })
  } catch {
    // Nobody will write to it: polling finds the work.
  }
  return wasThere
}

/** Says that it listens no more. */
export function delist(folder: string, own: string): void {
  try {
    unlinkSync(listenerPath(folder, own))
  } catch {
    // It is gone already.
  }
}

function listenerPath(folder: string, own: string): string {
  return join(folder, listenerName(own))
}

function listenerName(own: string): string {
  return own.replace(/\.hints$/, '') + LISTENER_SUFFIX
}

/**
 * Whether there is anybody to write to. Who begins to listen says so first and then looks at everything. So whoever
 * looks here after a commit and finds nobody has nothing to tell: all who come later see what was committed.
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

  /** Whether another process listens. */
  isThere(): boolean {
    const now = this.#runtime.mono()
    if (this.#isThere && now < this.#lookedAt + STAYS_MS) return true
    try {
      // Names are read only when they may have changed: asking for the time costs much less.
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
      // Whatever is wrong with the folder, the attempt to write there will tell.
      return true
    }
  }
}
