/**
 * Who changed what, when, from where, and how it ended. A line is a record of its space; its id is ordered by time, so the newest are
 * read first without an index.
 *
 * The line of a change is written before its answer is sent. Should the store not take it, the change has happened all the same,
 * so the answer says so; the line is kept in memory, logged as an error and tried again, and until it is written this server refuses
 * every further change. So an outage cannot be used to do things unseen.
 */
import {
  type Duration,
  harmlessLogger,
  type Logger,
  type RecordStore,
  type Runtime,
  SkepError,
  type StoredRecord,
  StoreError,
  toMs,
} from '../../index.ts'
import { coversQueue } from '../../operations/authorize/authorize.ts'
import type { AuditNote } from '../../operations/authorize/guard.ts'
import type { Caller } from '../../operations/operation.ts'
import type { Redactor } from '../../operations/redaction/redact.ts'
import type { AuditEntry, InputOf } from '../../operations/schema/wire-types.ts'
import type { AuditedChange } from '../../operations/services.ts'

export interface AuditOptions {
  /** How long lines are kept. @default '90d' */
  readonly keep?: Duration
  /**
   * Whether lines are also written for what programs do all day: enqueuing and working, by credentials that can do nothing else.
   * @default false
   */
  readonly programs?: boolean
  /** Told of every line, once it is written or could not be. What it throws is logged. */
  readonly onAudit?: (entry: AuditEntry & { readonly space: string }) => void
}

export interface AuditParts {
  readonly records: RecordStore
  readonly runtime: Runtime
  readonly logger: Logger
  readonly redactor: Redactor
}

/** What is stored of a line: the queues too, so that who sees only some of them sees only their lines. */
interface StoredLine extends Omit<AuditEntry, 'id'> {
  readonly queues: readonly string[]
}

interface Line {
  readonly space: string
  readonly id: string
  readonly body: StoredLine
}

const KIND = 'audit'
const PAGE = 200
/** How far a list with a filter looks for one page. */
const SEARCHED_AT_MOST = 2_000
const TARGET_AT_MOST = 1_000
/** Lines that wait for the store. Changes are refused while there are any, so there are never many. */
const WAITING_AT_MOST = 10_000
const RETRY_MS = 1_000

export class Audit {
  readonly #parts: AuditParts
  readonly #logger: Logger
  readonly #keepMs: number
  readonly #options: AuditOptions
  readonly #waiting: Line[] = []
  #trying: Promise<void> | null = null
  #stopTrying: () => void = () => {}
  #isClosed = false

  constructor(parts: AuditParts, options: AuditOptions = {}) {
    this.#parts = parts
    this.#logger = harmlessLogger(parts.logger)
    this.#options = options
    this.#keepMs = toMs('audit.keep', options.keep ?? '90d')
  }

  /** Throws `STORE_UNAVAILABLE` while an earlier line is not written, and tries it again meanwhile. */
  assertWritable(): void {
    if (this.#waiting.length === 0) return
    void this.#writeWaiting()
    throw new StoreError(
      'STORE_UNAVAILABLE',
      'The audit cannot be written at the moment, so nothing may be changed. Try again in a few seconds.',
    )
  }

  /** Whether what this caller does is written down at all. */
  isAudited(caller: Caller, isProgramsWork: boolean, outcome: AuditNote['outcome']): boolean {
    if (!isProgramsWork || this.#options.programs || outcome === 'refused') return true
    return caller.scopes.has('read')
  }

  /** Writes a line. It does not reject: see above. */
  async write({ caller, what, queues, target, outcome, detail }: AuditNote): Promise<void> {
    const { runtime, redactor } = this.#parts
    const line: Line = {
      space: caller.space,
      id: runtime.uuid(),
      body: {
        at: new Date(runtime.now()).toISOString(),
        who: caller.name,
        what,
        target: cut(redactor.text(target)),
        outcome,
        detail: detail === null ? null : cut(redactor.text(detail)),
        address: caller.address,
        queues: queues.slice(0, 100),
      },
    }
    try {
      await this.#put(line)
    } catch (error) {
      const { queues: _queues, ...said } = line.body
      this.#logger.error('A line of the audit could not be written; changes are refused until it is', {
        ...said,
        error,
      })
      if (this.#waiting.length < WAITING_AT_MOST) this.#waiting.push(line)
      this.#tryLater()
    }
    this.#tell(line)
  }

  /** The newest first, as far as the caller sees them. */
  async list(
    caller: Caller,
    { limit = 50, cursor, who, what }: InputOf<'audit.list'>,
  ): Promise<{ readonly entries: readonly AuditEntry[]; readonly cursor: string | null }> {
    if (cursor !== undefined && !/^[\x21-\x7e]{1,64}$/.test(cursor)) {
      throw new SkepError('OPTION_INVALID', 'The cursor is not one of this list. Leave it out to begin anew.')
    }
    const entries: AuditEntry[] = []
    let before = cursor
    for (let searched = 0; searched < SEARCHED_AT_MOST; ) {
      const page = await this.#parts.records.listRecords({
        scope: caller.space,
        kind: KIND,
        backwards: true,
        limit: PAGE,
        ...(before === undefined ? {} : { before }),
      })
      for (const record of page.records) {
        before = record.id
        const line = readLine(record)
        if (line === null || !isSeen(caller, line)) continue
        const { queues: _queues, ...entry } = line
        if ((who !== undefined && entry.who !== who) || (what !== undefined && entry.what !== what)) continue
        entries.push({ id: record.id, ...entry })
        if (entries.length === limit) return { entries, cursor: record.id }
      }
      searched += page.records.length
      if (!page.more) return { entries, cursor: null }
    }
    return { entries, cursor: before ?? null }
  }

  /** See {@link AuditLog.between}. */
  async between(
    space: string,
    what: AuditEntry['what'],
    from: number,
    to: number,
  ): Promise<readonly AuditedChange[]> {
    const found: AuditedChange[] = []
    let before = idAt(to + 1)
    for (let searched = 0; searched < 2 * PAGE; ) {
      const page = await this.#parts.records.listRecords({
        scope: space,
        kind: KIND,
        backwards: true,
        limit: PAGE,
        from: idAt(from),
        before,
      })
      for (const record of page.records) {
        before = record.id
        const line = readLine(record)
        if (line?.what === what && line.outcome === 'ok') found.push({ id: record.id, ...line })
      }
      searched += page.records.length
      if (!page.more) break
    }
    return found
  }

  /** Tries no more. Lines that are still not written are only in the log. */
  close(): void {
    this.#stopTrying()
    this.#isClosed = true
  }

  #tryLater(): void {
    if (this.#isClosed) return
    this.#stopTrying()
    this.#stopTrying = this.#parts.runtime.timer(RETRY_MS, () => void this.#writeWaiting(), {
      background: true,
    })
  }

  #writeWaiting(): Promise<void> {
    this.#trying ??= (async () => {
      for (let line = this.#waiting[0]; line; line = this.#waiting[0]) {
        await this.#put(line)
        this.#waiting.shift()
      }
    })()
      .catch(() => this.#tryLater())
      .finally(() => {
        this.#trying = null
      })
    return this.#trying
  }

  async #put({ space, id, body }: Line): Promise<void> {
    const expiresAt = Date.parse(body.at) + this.#keepMs
    const record = { id, body: JSON.stringify(body), revision: id, expiresAt }
    await this.#parts.records.putRecords({ scope: space, kind: KIND, records: [record] })
  }

  #tell({ space, id, body: { queues: _queues, ...entry } }: Line): void {
    try {
      this.#options.onAudit?.({ id, ...entry, space })
    } catch (error) {
      this.#logger.error('onAudit threw', { error })
    }
  }
}

/** Who does not see all queues sees what was done to its own, and what it did itself. */
function isSeen(caller: Caller, { who, queues }: StoredLine): boolean {
  if (caller.queues.includes('*') || who === caller.name) return true
  return queues.length > 0 && queues.every((queue) => coversQueue(caller.queues, queue))
}

/** Before each id that is made from this moment on, and after all older ones: ids begin with the time. */
function idAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

function readLine({ body }: StoredRecord): StoredLine | null {
  try {
    return JSON.parse(body) as StoredLine
  } catch {
    return null
  }
}

function cut(text: string): string {
  return text.length <= TARGET_AT_MOST ? text : `${text.slice(0, TARGET_AT_MOST - 1)}…`
}
