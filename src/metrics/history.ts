import { messageOf } from '../core/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { atMost } from '../runtime/supervise.ts'
import type { NewRecord, RecordStore } from '../store/records.ts'
import type { Meter } from './counters.ts'
import { HOUR_MS, METRIC_KIND, MINUTE_MS, Page } from './minute-records.ts'

/** The interval of collection, aligned to whole multiples, so that slots of 10 s are complete. */
const TICK_MS = 5_000
/** The delay of an urgent write, so that one write holds what happens together. */
const SOON_MS = 500
/**
 * The interval of writing an hour. A killed process loses less than this of its hours, a tick of its minutes.
 */
const HOURS_EVERY_MS = 60_000
/** The maximum number of pages kept while the store is unavailable, the newest. */
const PAGES_KEPT = 12
const RECORDS_PER_CALL = 25
/** The timeout of the last write on stop. */
const STOP_MS = 2_000

export interface HistoryParts {
  readonly store: Pick<RecordStore, 'putRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly meter: Meter
  /** Other regular writes, such as error groups. Returns whether there is more to write. */
  readonly also?: () => Promise<boolean>
}

/**
 * Writes the metrics of a process to the store: one record for each minute, rewritten every few seconds
 * during that minute, and a few for each hour. Nothing is written while nothing happens, and a failed write
 * has no other effect: it is retried until its data expires.
 */
export class History {
  readonly #parts: HistoryParts
  /** Identifies the records of this process. */
  readonly #process: string
  #pages: Page[] = []
  /** The start of the current collection interval, by the wall clock. */
  #since = 0
  #stopTimer: (() => void) | null = null
  #stopSoon: (() => void) | null = null
  #writing: Promise<void> | null = null
  #isStopped = false
  /** Whether no write is scheduled until something happens. */
  #isResting = false

  constructor(parts: HistoryParts) {
    this.#parts = parts
    this.#process = parts.runtime.uuid()
    parts.meter.onFirst = () => this.wake()
  }

  /** Schedules the next write. */
  wake(): void {
    this.#isResting = false
    if (this.#stopTimer !== null || this.#isStopped) return
    const { runtime } = this.#parts
    this.#since = runtime.now()
    const waitMs = TICK_MS - (this.#since % TICK_MS)
    this.#stopTimer = runtime.timer(waitMs, () => this.#tick(), { background: true })
  }

  /** Writes the other data alone, within half a second. If it fails, it is written with the rest. */
  hurry(): void {
    this.wake()
    if (this.#stopSoon !== null || this.#isStopped) return
    const write = (): void => {
      this.#stopSoon = null
      void this.#parts.also?.().then((isMore) => this.#goOn(isMore))
    }
    this.#stopSoon = this.#parts.runtime.timer(SOON_MS, write, { background: true })
  }

  /** Writes these minutes, and hours that are due, now, for a reader. It never rejects. */
  async flush(): Promise<void> {
    this.#collect()
    await this.#write(false)
  }

  /** Writes the rest, unless the store is slow, and then waits for the next event. */
  async rest(): Promise<void> {
    this.#isResting = true
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#stopSoon?.()
    this.#stopSoon = null
    this.#collect()
    await atMost(this.#parts.runtime, STOP_MS, this.#write(true))
  }

  /** The same, permanently. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.rest()
  }

  #tick(): void {
    this.#stopTimer = null
    this.#collect()
    void this.#write(false).then((isMore) => this.#goOn(isMore))
  }

  #goOn(isMore: boolean): void {
    if (isMore && !this.#isResting) this.wake()
  }

  #collect(): void {
    const at = this.#since
    this.#since = this.#parts.runtime.now()
    this.#parts.meter.collect((queue, recent) => {
      for (const page of [this.#pageOf('minute', MINUTE_MS, at), this.#pageOf('hour', HOUR_MS, at)])
        page.add(at, queue, recent)
    })
  }

  #pageOf(level: Page['level'], lengthMs: number, at: number): Page {
    const from = Math.floor(at / lengthMs) * lengthMs
    const known = this.#pages.find((page) => page.level === level && page.from === from)
    if (known) return known
    const page = new Page(level, from)
    this.#pages.push(page)
    if (this.#pages.length > PAGES_KEPT) this.#pages.shift()
    return page
  }

  /** Writes the pages that are due. Returns whether something is left. */
  async #write(all: boolean): Promise<boolean> {
    // One after the other: a write in progress may not include everything.
    while (this.#writing !== null) await this.#writing
    this.#writing = this.#writePages(all)
    await this.#writing
    this.#writing = null
    const isMore = await this.#parts.also?.()
    return isMore === true || this.#pages.some((page) => page.changes > page.written)
  }

  async #writePages(all: boolean): Promise<void> {
    const { store, runtime, logger, space } = this.#parts
    const now = runtime.now()
    const due = this.#pages.filter((page) => page.changes > page.written && (all || isDue(page, now)))
    try {
      for (const page of due) {
        const { changes, expiresAt } = page
        const records = page
          .records(this.#process)
          .map(({ id, body }): NewRecord => ({ id, body, revision: runtime.uuid(), expiresAt }))
        for (let i = 0; i < records.length; i += RECORDS_PER_CALL)
          await store.putRecords({
            scope: space,
            kind: METRIC_KIND,
            records: records.slice(i, i + RECORDS_PER_CALL),
          })
        page.written = changes
        page.writtenAt = now
      }
    } catch (error) {
      logger.debug(
        `The metrics history of this process could not be written and will be retried: ${messageOf(error)}`,
      )
    }
    this.#pages = this.#pages.filter((page) => page.changes > page.written || !isOver(page, now))
  }
}

function isOver({ level, from }: Page, now: number): boolean {
  return now >= from + (level === 'minute' ? MINUTE_MS : HOUR_MS)
}

function isDue(page: Page, now: number): boolean {
  return page.level === 'minute' || isOver(page, now) || now - page.writtenAt >= HOURS_EVERY_MS
}
