import { messageOf, StoreError } from '../core/errors.ts'
import {
  type LogLevel,
  lineBytes,
  lineOf,
  type NewLine,
  type NewProgress,
  type Note,
  noteText,
} from '../core/jobs/job-log.ts'
import { LIMITS } from '../core/limits.ts'
import { type Notifier, WATCH_MS } from '../notifier/notifier.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { retryDelayMs } from '../runtime/supervise.ts'
import type { NoteResult, NoteStore } from '../store/job-log.ts'
import type { Run } from './runs.ts'

/** Calls are at least so long apart; the first after a while goes soon. */
const APART_MS = 200
const SOON_MS = 5
/** In one call. */
const MOST_RUNS = 500
const MOST_BYTES_AT_ONCE = 1_048_576
/** What waits in this process, of all runs. While the store is away the oldest lines go. */
const MOST_BYTES = 8_388_608

export interface NoterOptions {
  readonly store: Pick<NoteStore, 'note'>
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
}

interface Sent {
  readonly run: Run
  readonly notes: RunNotes
  readonly note: Note
}

/**
 * Takes what handlers tell while they run, and sends it to the store: of all runs of the process together, one call at a
 * time. It never throws, and nobody waits for it. What a run has told and not yet sent goes with its settlement, so that
 * whoever sees the end of a job sees all its lines. A process that dies takes the last moments with it.
 */
export class Noter {
  readonly #options: NoterOptions
  /** Runs that have something to send. */
  readonly #dirty = new Map<Run, RunNotes>()
  /** Until when each queue is watched, by our monotonic clock. */
  readonly #watched = new Map<string, number>()
  #bytes = 0
  #dropped = 0
  #failures = 0
  #isSending = false
  #sentAt = -Infinity
  #stopTimer: (() => void) | null = null

  constructor(options: NoterOptions) {
    this.#options = options
  }

  /** A handler says how far it is. A number that is none is ignored: no job shall fail because of its progress. */
  progress(run: Run, value: unknown, note: unknown): void {
    const { runtime, logger } = this.#options
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      logger.warn(`Job "${run.job.id}" reported a progress that is not a number; it was ignored.`)
      return
    }
    const notes = this.#notesOf(run)
    const text = note === undefined || note === null ? null : noteText(note, LIMITS.progressNoteBytes)
    notes?.report(runtime.now(), value, text)
  }

  /** A handler writes a line. */
  line(run: Run, level: LogLevel, message: unknown, fields: unknown): void {
    const notes = this.#notesOf(run)
    if (notes === null) return
    const before = notes.bytes
    this.#dropped += notes.add(this.#options.runtime.now(), level, message, fields)
    while (this.#bytes + notes.bytes - before > MOST_BYTES && notes.drop()) this.#dropped++
    this.#bytes += notes.bytes - before
  }

  /** Adds the last line of a run, about its end. It goes with the settlement alone. */
  lastLine(run: Run, line: Pick<NewLine, 'text' | 'fields'>): void {
    run.notes ??= new RunNotes()
    const before = run.notes.bytes
    this.#dropped += run.notes.addLine(this.#options.runtime.now(), 'error', line)
    this.#bytes += run.notes.bytes - before
  }

  /** The notes of a run that goes on, to which something is about to be added; null for one that is over. */
  #notesOf(run: Run): RunNotes | null {
    if (run.stage !== 'running') return null
    run.notes ??= new RunNotes()
    this.#dirty.set(run, run.notes)
    this.#plan()
    return run.notes
  }

  /** What a run that ends has not sent yet; null if there is nothing. From now on it goes with the settlement alone. */
  take(run: Run): Note | null {
    const { notes } = run
    if (notes === null) return null
    this.#dirty.delete(run)
    this.#rest()
    return notes.isEmpty ? null : notes.unconfirmed()
  }

  /** The run is over and its settlement has been answered, or there is none. `saved`: what it told is in the store. */
  release(run: Run, saved: boolean): void {
    if (run.notes === null) return
    this.take(run)
    if (saved && !run.notes.isEmpty) this.#tell([run])
    this.#forget(run.notes)
  }

  /** Somebody follows jobs of this queue. */
  watch({ space, queue }: { readonly space: string; readonly queue: string }): void {
    this.#watched.set(`${space}\n${queue}`, this.#options.runtime.mono() + WATCH_MS)
  }

  #plan(): void {
    if (this.#stopTimer !== null || this.#isSending) return
    const { runtime } = this.#options
    const waitMs =
      this.#failures > 0
        ? retryDelayMs(this.#failures, runtime.random())
        : Math.max(SOON_MS, this.#sentAt + APART_MS - runtime.mono())
    const send = (): void => {
      this.#stopTimer = null
      void this.#send()
    }
    this.#stopTimer = runtime.timer(waitMs, send, { background: true })
  }

  /** Ends the timer when there is nothing to send. */
  #rest(): void {
    if (this.#dirty.size > 0) return
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  async #send(): Promise<void> {
    if (this.#dirty.size === 0) return
    this.#isSending = true
    this.#sentAt = this.#options.runtime.mono()
    const batch = this.#gather()
    try {
      await this.#deliver(batch)
      this.#recovered()
    } catch (error) {
      this.#failed(batch, error)
    } finally {
      this.#isSending = false
      if (this.#dirty.size > 0) this.#plan()
    }
  }

  #gather(): Sent[] {
    const batch: Sent[] = []
    let bytes = 0
    for (const [run, notes] of this.#dirty) {
      if (batch.length >= MOST_RUNS || bytes >= MOST_BYTES_AT_ONCE) break
      this.#dirty.delete(run)
      batch.push({ run, notes, note: notes.unconfirmed() })
      bytes += notes.bytes
    }
    return batch
  }

  async #deliver(batch: readonly Sent[]): Promise<void> {
    try {
      this.#answered(batch, await this.#call(batch))
    } catch (error) {
      if (isTransient(error)) throw error
      await this.#isolate(batch, error)
    }
  }

  /** The store refuses something of this. What it does not take alone is given up. */
  async #isolate(batch: readonly Sent[], error: unknown): Promise<void> {
    const [only] = batch
    if (batch.length > 1) for (const one of batch) await this.#deliver([one])
    else if (only) {
      this.#options.logger.error(
        `Notes of job "${only.run.job.id}" cannot be written and were dropped: ${messageOf(error)}`,
      )
      this.#confirm(only)
    }
  }

  async #call(batch: readonly Sent[]): Promise<readonly NoteResult[]> {
    const notes = batch.map(({ run: { job }, note }) => ({
      space: job.space,
      id: job.id,
      token: job.token,
      ...note,
    }))
    return (await this.#options.store.note({ notes })).results
  }

  #answered(batch: readonly Sent[], results: readonly NoteResult[]): void {
    batch.forEach((sent, index) => {
      // Whatever else this run tells would be refused as well; that its lease is lost it hears elsewhere.
      if (results[index]?.status === 'refused') this.#forget(sent.notes)
      else this.#confirm(sent)
    })
    this.#tell(batch.map(({ run }) => run))
  }

  #confirm({ notes, note }: Sent): void {
    const before = notes.bytes
    notes.confirm(note)
    this.#bytes -= before - notes.bytes
  }

  #forget(notes: RunNotes): void {
    this.#bytes -= notes.bytes
    notes.clear()
  }

  #failed(batch: readonly Sent[], error: unknown): void {
    this.#failures++
    if (this.#failures === 1)
      this.#options.logger.warn(`Notes cannot be written now; trying again: ${messageOf(error)}`)
    for (const { run, notes } of batch) {
      // What has ended meanwhile took its notes along.
      if (run.stage === 'running' && !notes.isEmpty) this.#dirty.set(run, notes)
    }
  }

  #recovered(): void {
    const { logger } = this.#options
    if (this.#failures > 0) logger.info('Notes can be written again.')
    if (this.#dropped > 0)
      logger.warn(`${this.#dropped} lines that handlers logged were dropped: there were too many to keep.`)
    this.#failures = 0
    this.#dropped = 0
  }

  /** Hints go out only for queues that somebody watches. */
  #tell(runs: readonly Run[]): void {
    if (this.#watched.size === 0) return
    const { runtime, notifier } = this.#options
    const queues = new Map(runs.map(({ job }) => [`${job.space}\n${job.queue}`, job]))
    for (const [key, { space, queue }] of queues) {
      const until = this.#watched.get(key)
      if (until === undefined) continue
      if (until > runtime.mono()) notifier.publish([{ kind: 'noted', space, queue }])
      else this.#watched.delete(key)
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof StoreError && error.transient
}

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
