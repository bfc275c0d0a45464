import { messageOf } from '../core/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { atMost } from '../runtime/supervise.ts'
import type { NewRecord, RecordStore } from '../store/records.ts'
import type { Meter } from './counters.ts'
import { HOUR_MS, METRIC_KIND, MINUTE_MS, Page } from './minute-records.ts'

/** The meter is collected so often while something happens, at whole multiples of it, so that slots of 10 s are whole. */
const TICK_MS = 5_000
/** What readers should see at once waits this long, so that one write has what happens together. */
const SOON_MS = 500
/** An hour is written so often. Whoever is killed loses less than this of its hours, and a tick of its minutes. */
const HOURS_EVERY_MS = 60_000
/** While the store is away so many pages wait, the newest. */
const PAGES_KEPT = 12
const RECORDS_PER_CALL = 25
/** How long a stop waits for the last write. */
const STOP_MS = 2_000

export interface HistoryParts {
  readonly store: Pick<RecordStore, 'putRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly meter: Meter
  /** What else is to be written now and then, such as error groups. Tells whether there is more to write. */
  readonly also?: () => Promise<boolean>
}

/**
 * Writes what a process counts to the store: one record for each minute, rewritten every few seconds while the minute lasts,
 * and a few for each hour. Nothing is written while nothing happens, and a write that fails disturbs nobody: it is tried
 * again, for as long as it is worth anything.
 */
export class History {
  readonly #parts: HistoryParts
  /** Names the records of this process. */
  readonly #process: string
  #pages: Page[] = []
  /** Since when the meter counts what is not collected, by the wall clock. */
  #since = 0
  #stopTimer: (() => void) | null = null
  #stopSoon: (() => void) | null = null
  #writing: Promise<void> | null = null
  #isStopped = false
  /** Nothing goes on by itself until something happens. */
  #isResting = false

  constructor(parts: HistoryParts) {
    this.#parts = parts
    this.#process = parts.runtime.uuid()
    parts.meter.onFirst = () => this.wake()
  }

  /** There is something to write, soon. */
  wake(): void {
    this.#isResting = false
    if (this.#stopTimer !== null || this.#isStopped) return
    const { runtime } = this.#parts
    this.#since = runtime.now()
    const waitMs = TICK_MS - (this.#since % TICK_MS)
    this.#stopTimer = runtime.timer(waitMs, () => this.#tick(), { background: true })
  }

  /** Writes the other things alone, within half a second. What fails is written with the rest. */
  hurry(): void {
    this.wake()
    if (this.#stopSoon !== null || this.#isStopped) return
    const write = (): void => {
      this.#stopSoon = null
      void this.#parts.also?.().then((isMore) => this.#goOn(isMore))
    }
    this.#stopSoon = this.#parts.runtime.timer(SOON_MS, write, { background: true })
  }

  /** Writes now what happened in these minutes, and hours that are due, for whoever reads. It never rejects. */
  async flush(): Promise<void> {
    this.#collect()
    await this.#write(false)
  }

  /** Writes the rest, if the store answers soon, and then waits until something happens again. */
  async rest(): Promise<void> {
    this.#isResting = true
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#stopSoon?.()
    this.#stopSoon = null
    this.#collect()
    await atMost(this.#parts.runtime, STOP_MS, this.#write(true))
  }

  /** The same, for good. */
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

  /** Writes the pages that are due. Tells whether something is left for later. */
  async #write(all: boolean): Promise<boolean> {
    // One after the other: what is under way may not have all of it.
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
      logger.debug(`The history of this process could not be written; it is tried again: ${messageOf(error)}`)
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
