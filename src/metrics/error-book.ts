import { messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Runtime } from '../runtime.ts'
import type { NewRecord, RecordStore } from '../store/records.ts'
import {
  ERROR_KIND,
  ERRORS_KEPT_MS,
  type ErrorGroupBody,
  type ErrorSeen,
  mergeGroups,
  newGroup,
  otherGroup,
  readGroup,
} from './error-group.ts'

/** So many groups are told apart between two writes; what else fails is counted in one group for each queue. */
export const GROUPS_PER_FLUSH = 200
/** Groups of one call. One that another process has just changed has the whole call repeated, so these are few. */
const CHUNK = 20
const TRIES = 5
/** An error of a group that was written this long ago is news again. */
const STALE_MS = 10_000

interface Counted {
  readonly id: string
  body: ErrorGroupBody
  /** The revision of a write whose answer was lost: if that is what is stored, it happened. */
  sent: string | null
}

export interface ErrorBookParts {
  readonly store: Pick<RecordStore, 'getRecords' | 'putRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  /** There is something to write, with the next write of the process. */
  readonly onFirst: () => void
  /** There is something to write that readers do not know of yet, which is worth a write of its own. */
  readonly onNews: () => void
}

/** Gathers the errors of a process in groups, and adds them to what other processes have counted. */
export class ErrorBook {
  readonly #parts: ErrorBookParts
  #gathered = new Map<string, Counted>()
  /** The groups of the last write, and when that was. */
  #written: ReadonlySet<string> = new Set()
  #writtenAt = -Infinity
  /** What a write could not bring to its end. */
  #unsent: readonly Counted[] = []
  #flushing: Promise<void> | null = null

  constructor(parts: ErrorBookParts) {
    this.#parts = parts
  }

  add(seen: ErrorSeen): void {
    const isFirst = this.#gathered.size === 0
    let made = newGroup(seen)
    if (!this.#gathered.has(made.id) && this.#gathered.size >= GROUPS_PER_FLUSH) made = otherGroup(seen)
    const known = this.#gathered.get(made.id)
    if (known === undefined) this.#gathered.set(made.id, { ...made, sent: null })
    else known.body = mergeGroups(known.body, made.body)
    if (isFirst) this.#parts.onFirst()
    if (known === undefined && this.#isNews(made.id)) this.#parts.onNews()
  }

  /** False for what fails all the time: its next errors only change numbers. */
  #isNews(id: string): boolean {
    return !this.#written.has(id) || this.#parts.runtime.mono() - this.#writtenAt >= STALE_MS
  }

  /** Writes what was gathered. Never rejects. Tells whether something is left. */
  async flush(): Promise<boolean> {
    while (this.#flushing !== null) await this.#flushing
    if (this.#gathered.size === 0 && this.#unsent.length === 0) return false
    this.#flushing = this.#flush()
    await this.#flushing
    this.#flushing = null
    return this.#unsent.length > 0
  }

  async #flush(): Promise<void> {
    // First what may have been written already: mixed with more it could not be known again.
    if (!(await this.#send(this.#unsent))) return
    const gathered = [...this.#gathered.values()]
    this.#gathered = new Map()
    this.#written = new Set(gathered.map(({ id }) => id))
    this.#writtenAt = this.#parts.runtime.mono()
    await this.#send(gathered)
  }

  /** Sends groups, each but once in the list. Tells whether all are written; the others are kept. */
  async #send(groups: readonly Counted[]): Promise<boolean> {
    this.#unsent = []
    for (let i = 0; i < groups.length; i += CHUNK) {
      let isWritten = false
      try {
        isWritten = await this.#put(groups.slice(i, i + CHUNK))
      } catch (error) {
        this.#parts.logger.debug(`Error groups could not be written; it is tried again: ${messageOf(error)}`)
      }
      if (isWritten) continue
      this.#unsent = groups.slice(i)
      return false
    }
    return true
  }

  async #put(groups: readonly Counted[]): Promise<boolean> {
    const { store, runtime, space } = this.#parts
    const place = { scope: space, kind: ERROR_KIND }
    let left = groups
    for (let tries = 0; tries < TRIES; tries++) {
      const { records } = await store.getRecords({ ...place, ids: left.map(({ id }) => id) })
      const puts: NewRecord[] = []
      const open: Counted[] = []
      left.forEach((group, index) => {
        const stored = records[index] ?? null
        // A lost answer, and nobody has written since: it is counted already.
        if (stored !== null && stored.revision === group.sent) return
        const before = stored === null ? null : readGroup(stored.body)
        const body = before === null ? group.body : mergeGroups(before, group.body)
        group.sent = runtime.uuid()
        open.push(group)
        puts.push({
          id: group.id,
          body: JSON.stringify(body),
          revision: group.sent,
          expect: stored?.revision ?? null,
          expiresAt: body.lastAt + ERRORS_KEPT_MS,
        })
      })
      left = open
      if (left.length === 0) return true
      const { results } = await store.putRecords({ ...place, records: puts })
      if (!results.includes('refused')) return true
      for (const group of left) group.sent = null
    }
    return false
  }
}
