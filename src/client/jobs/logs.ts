import type { LogLevel, Progress } from '../../core/jobs/job-log.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { NotesReply } from '../../store/job-log.ts'
import type { Store } from '../../store/store.ts'
import { readValue } from '../../worker/events.ts'
import { assertWhole } from '../../worker/options.ts'

/** How far a job is, as its handler said last. */
export interface ProgressView {
  readonly value: number
  readonly note: string | null
  readonly at: Date
}

/** A line that a handler wrote. */
export interface LogLine {
  /** Its place among all lines of the job, from 1. */
  readonly place: number
  /** When it was written, by the clock of its worker. */
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface LogOptions {
  /** Only lines after this place: the `cursor` of the page before. @default 0, from the first that is kept */
  readonly after?: number
  /** 1 to 1,000. @default 200 */
  readonly limit?: number
}

const KEYS = optionKeys<LogOptions>('jobs.logs()', { after: true, limit: true })

export interface LogPage {
  /** Null if no handler of the job has said any. */
  readonly progress: ProgressView | null
  /** Oldest first. */
  readonly lines: readonly LogLine[]
  /** For the next page, now or later: whoever asks with it gets the lines that come after these. */
  readonly cursor: number
  /** Whether there are more now. */
  readonly more: boolean
  /** Lines that were written and are not kept: only the newest are. */
  readonly dropped: number
}

/** One page of a job's lines, and how far it is. */
export async function readLogs(
  store: Pick<Store, 'notes'>,
  space: string,
  id: string,
  options: LogOptions = {},
): Promise<LogPage> {
  assertOptions(KEYS, options)
  const { after = 0, limit = 200 } = options
  assertWhole('after', after, 0, Number.MAX_SAFE_INTEGER)
  assertWhole('limit', limit, 1, LIMITS.pageLines)
  return pageOf(after, await store.notes({ space, id, after, limit }))
}

function pageOf(after: number, { progress, lines, last, dropped }: NotesReply): LogPage {
  const cursor = lines.at(-1)?.place ?? after
  return {
    progress: progressView(progress),
    lines: lines.map(({ place, at, level, text, fields }) => ({
      place,
      at: new Date(at),
      level,
      message: text,
      fields: fields === null ? {} : (readValue(fields) as Record<string, unknown>),
    })),
    cursor,
    more: lines.length > 0 && cursor < last,
    dropped,
  }
}

export function progressView(progress: Progress | null): ProgressView | null {
  return progress && { value: progress.value, note: progress.note, at: new Date(progress.at) }
}

/** Writes one line. Fields are an object that JSON can hold; what it cannot is left out. */
export type WriteLine = (message: string, fields?: object) => void

/** Where a handler writes lines. It fits wherever a logger is taken, and may be called itself: that is `info`. */
export interface JobLog extends WriteLine, Readonly<Record<LogLevel, WriteLine>> {}

export function jobLog(write: (level: LogLevel, message: unknown, fields: unknown) => void): JobLog {
  const writer =
    (level: LogLevel): WriteLine =>
    (message, fields) =>
      write(level, message, fields)
  return Object.assign(writer('info'), {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  })
}
