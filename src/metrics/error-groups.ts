import { messageOf } from '../core/errors.ts'
import { failureTitle, fingerprintOf, hashText } from '../core/jobs/fingerprint.ts'
import type { Failure } from '../core/jobs/job.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { NewRecord, RecordStore } from '../store/records.ts'
import { countOf } from './histogram.ts'
import { HOUR_MS } from './minute-records.ts'

/** The limit of distinct groups between two writes; further errors are counted in one group per queue. */
export const GROUPS_PER_FLUSH = 200
/** Groups per call. If another process changed one of them, the whole call is repeated, so these are few. */
const CHUNK = 20
const TRIES = 5
/** An error in a group that was last written this long ago is news again. */
const STALE_MS = 10_000

interface Counted {
  readonly id: string
  body: ErrorGroupBody
  /** The revision of a write whose reply was lost: if it is stored, the write succeeded. */
  sent: string | null
}

export interface ErrorBookParts {
  readonly store: Pick<RecordStore, 'getRecords' | 'putRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  /** There is something for the next regular write of the process. */
  readonly onFirst: () => void
  /** There is something new to readers, which is worth a write of its own. */
  readonly onNews: () => void
}

/** Groups the errors of a process, and adds them to the counts of other processes. */
export class ErrorBook {
  readonly #parts: ErrorBookParts
  #gathered = new Map<string, Counted>()
  /** The groups of the last write, and when that was. */
  #written: ReadonlySet<string> = new Set()
  #writtenAt = -Infinity
  /** What a write could not complete. */
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

  /** False for permanent failures: their next errors only change numbers. */
  #isNews(id: string): boolean {
    return !this.#written.has(id) || this.#parts.runtime.mono() - this.#writtenAt >= STALE_MS
  }

  /** Writes what was collected. Never rejects. Returns whether something is left. */
  async flush(): Promise<boolean> {
    while (this.#flushing !== null) await this.#flushing
    if (this.#gathered.size === 0 && this.#unsent.length === 0) return false
    this.#flushing = this.#flush()
    await this.#flushing
    this.#flushing = null
    return this.#unsent.length > 0
  }

  async #flush(): Promise<void> {
    // First what may already have been written: once merged with more, it could no longer be recognized.
    if (!(await this.#send(this.#unsent))) return
    const gathered = [...this.#gathered.values()]
    this.#gathered = new Map()
    this.#written = new Set(gathered.map(({ id }) => id))
    this.#writtenAt = this.#parts.runtime.mono()
    await this.#send(gathered)
  }

  /** Writes distinct groups. Returns whether all were written; the others are kept. */
  async #send(groups: readonly Counted[]): Promise<boolean> {
    this.#unsent = []
    for (let i = 0; i < groups.length; i += CHUNK) {
      let isWritten = false
      try {
        isWritten = await this.#put(groups.slice(i, i + CHUNK))
      } catch (error) {
        this.#parts.logger.debug(`Error groups could not be written and will be retried: ${messageOf(error)}`)
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
        // The reply was lost, and there was no write since: it is already counted.
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

/** Error groups are records of this kind, with the fingerprint as the id. */
export const ERROR_KIND = 'error'

/** How long a group is kept after its last error. */
export const ERRORS_KEPT_MS: number = 14 * 24 * HOUR_MS

const HOURS = 24
/** The number of versions kept per group: those seen last. */
const VERSIONS = 10
const MESSAGE = 1_024
const STACK = 8_192

/** A stored group. Timestamps are milliseconds. */
export interface ErrorGroupBody {
  readonly queue: string
  readonly name: string
  readonly message: string
  readonly count: number
  readonly dead: number
  readonly firstAt: number
  readonly lastAt: number
  readonly sampleJob: string
  readonly sampleStack: string | null
  /** Pairs of an hour since 1970 and the number of errors in it, for the last day. */
  readonly hours: readonly (readonly [number, number])[]
  /** Errors per version of the program, the latest first; errors without a version are not included. */
  readonly versions: readonly VersionCount[]
  readonly muted: Mute | null
}

export interface VersionCount {
  readonly version: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
}

export interface Mute {
  readonly by: string
  /** Null: until it is removed. */
  readonly until: number | null
}

export interface ErrorSeen {
  readonly queue: string
  readonly job: string
  readonly failure: Failure
  readonly isDead: boolean
  /** The version of the worker; omitted if unknown. */
  readonly version?: string
  readonly at: number
}

/** A group with a single error. */
export function newGroup({ queue, job, failure, isDead, version, at }: ErrorSeen): {
  id: string
  body: ErrorGroupBody
} {
  const body: ErrorGroupBody = {
    queue,
    name: failureTitle(failure),
    message: failure.message.slice(0, MESSAGE).toWellFormed(),
    count: 1,
    dead: isDead ? 1 : 0,
    firstAt: at,
    lastAt: at,
    sampleJob: job,
    sampleStack: failure.stack?.slice(0, STACK).toWellFormed() ?? null,
    hours: [[hourOf(at), 1]],
    versions: version === undefined ? [] : [{ version, count: 1, firstAt: at, lastAt: at }],
    muted: null,
  }
  return { id: fingerprintOf(queue, failure), body }
}

/** The group for errors of a queue with too many groups. */
export function otherGroup(seen: ErrorSeen): { id: string; body: ErrorGroupBody } {
  const { body } = newGroup(seen)
  const message = 'Errors beyond the limit of groups. The sample is one of them.'
  return { id: hashText(`${seen.queue}\n(other)`), body: { ...body, name: '(other)', message } }
}

/** Merges two counts of one group. The newer one provides the sample; the mute is the stored one. */
export function mergeGroups(stored: ErrorGroupBody, more: ErrorGroupBody): ErrorGroupBody {
  const newer = more.lastAt >= stored.lastAt ? more : stored
  const older = newer === more ? stored : more
  const hours = new Map(stored.hours.map(([hour, count]) => [hour, count]))
  for (const [hour, count] of more.hours) hours.set(hour, (hours.get(hour) ?? 0) + count)
  return {
    ...newer,
    sampleStack: newer.sampleStack ?? older.sampleStack,
    count: stored.count + more.count,
    dead: stored.dead + more.dead,
    firstAt: Math.min(stored.firstAt, more.firstAt),
    hours: [...hours].filter(([hour]) => hour > hourOf(newer.lastAt) - HOURS).sort(([a], [b]) => a - b),
    versions: mergeVersions(stored.versions, more.versions),
    muted: stored.muted,
  }
}

function mergeVersions(stored: readonly VersionCount[], more: readonly VersionCount[]): VersionCount[] {
  const all = new Map(stored.map((one) => [one.version, one]))
  for (const one of more) {
    const known = all.get(one.version) ?? { ...one, count: 0 }
    all.set(one.version, {
      version: one.version,
      count: known.count + one.count,
      firstAt: Math.min(known.firstAt, one.firstAt),
      lastAt: Math.max(known.lastAt, one.lastAt),
    })
  }
  return [...all.values()].sort((a, b) => b.lastAt - a.lastAt).slice(0, VERSIONS)
}

/** The number of errors in each of the last 24 hours, oldest first. */
export function sparkOf({ hours }: ErrorGroupBody, now: number): number[] {
  const last = hourOf(now)
  const spark = Array<number>(HOURS).fill(0)
  for (const [hour, count] of hours) {
    const index = hour - last + HOURS - 1
    if (index >= 0 && index < HOURS) spark[index] = count
  }
  return spark
}

export function isMuted({ muted }: ErrorGroupBody, now: number): boolean {
  return muted !== null && (muted.until === null || muted.until > now)
}

/** A stored group; null if it cannot be read. */
export function readGroup(text: string): ErrorGroupBody | null {
  try {
    const body = JSON.parse(text) as Partial<ErrorGroupBody> | null
    if (typeof body?.queue !== 'string' || !Number.isFinite(body.lastAt)) return null
    return {
      queue: body.queue,
      name: String(body.name ?? ''),
      message: String(body.message ?? ''),
      count: countOf(body.count),
      dead: countOf(body.dead),
      firstAt: Number(body.firstAt ?? body.lastAt),
      lastAt: Number(body.lastAt),
      sampleJob: String(body.sampleJob ?? ''),
      sampleStack: typeof body.sampleStack === 'string' ? body.sampleStack : null,
      hours: Array.isArray(body.hours) ? body.hours : [],
      versions: Array.isArray(body.versions) ? body.versions : [],
      muted: body.muted ?? null,
    }
  } catch {
    return null
  }
}

function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS)
}
