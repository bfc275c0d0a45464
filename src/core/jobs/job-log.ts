import { messageOf } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { clean } from './failure.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Progress and log lines of one attempt. Stored under the attempt's token. */
export interface Note {
  readonly progress: NewProgress | null
  /** In the order of their numbers. */
  readonly lines: readonly NewLine[]
}

/** A line to be stored. Attempts number their lines from 1, so a repeated line is recognized. */
export interface NewLine {
  readonly n: number
  /** When it was written, by the clock of its worker. */
  readonly at: number
  readonly level: LogLevel
  readonly text: string
  /** JSON text of an object, or null. */
  readonly fields: string | null
}

/** Progress to be stored. Attempts number it from 1, so late progress is recognized. */
export interface NewProgress extends Progress {
  readonly n: number
}

/** How far a job is. The handler defines the unit; percent is usual. */
export interface Progress {
  readonly value: number
  readonly note: string | null
  readonly at: number
}

export interface KeptLine extends Omit<NewLine, 'n'> {
  /** Its position among all lines stored for this job, from 1. */
  readonly place: number
  /** The number of bytes before it, so lines beyond the limit are found without adding up. */
  readonly start: number
}

/** What a store keeps of a job's log besides the lines. */
export interface NoteHead {
  /** The attempt that wrote last, and its highest numbers: repeats are ignored. */
  readonly token: string
  readonly lineN: number
  readonly progressN: number
  readonly progress: Progress | null
  /** The position of the last line, and the bytes of all lines ever stored. */
  readonly last: number
  readonly bytes: number
  /** The number of lines that were written but can no longer be read. */
  readonly dropped: number
  /** When they expire, even if the job is kept longer. */
  readonly until: number
}

/** Log lines expire at most this much later than their TTL. */
const STEP_MS = 3_600_000

/**
 * When lines written now expire. Rounded to the hour, so that a busy job does not keep moving in the index.
 */
export function notesUntil(now: number): number {
  return (Math.floor((now + LIMITS.notesKeptMs) / STEP_MS) + 1) * STEP_MS
}

/**
 * Stores a note: the new head, and the lines to add. The caller has checked that the token holds the job or
 * has settled it. Gaps in the numbers are lines dropped by the worker.
 */
export function takeNote(
  before: NoteHead | undefined,
  token: string,
  note: Note,
  now: number,
): { readonly head: NoteHead; readonly lines: readonly KeptLine[] } {
  const known = before?.token === token ? before : { lineN: 0, progressN: 0 }
  let { last, bytes, dropped } = before ?? { last: 0, bytes: 0, dropped: 0 }
  let { lineN } = known
  const lines: KeptLine[] = []
  for (const { n, ...line } of note.lines) {
    if (n <= lineN) continue
    dropped += n - lineN - 1
    lineN = n
    last += 1
    lines.push({ ...line, place: last, start: bytes })
    bytes += lineBytes(line)
  }
  const fresh = note.progress !== null && note.progress.n > known.progressN ? note.progress : null
  return {
    head: {
      token,
      lineN,
      progressN: fresh?.n ?? known.progressN,
      progress: fresh ? { value: fresh.value, note: fresh.note, at: fresh.at } : (before?.progress ?? null),
      last,
      bytes,
      dropped,
      until: notesUntil(now),
    },
    lines,
  }
}

/** Whether a line is within the limits of its job: the newest lines are kept. */
export function isKept({ place, start }: KeptLine, { last, bytes }: NoteHead): boolean {
  return place > last - LIMITS.noteLines && start >= bytes - LIMITS.notesBytes
}

export function lineBytes({ text, fields }: Pick<NewLine, 'text' | 'fields'>): number {
  return Buffer.byteLength(text) + (fields === null ? 0 : Buffer.byteLength(fields))
}

/** Appended to truncated text. */
export const CUT_MARK = ' … (cut)'

/** Any value as a string that every store can hold, truncated with a mark. It never throws. */
export function noteText(value: unknown, maxBytes: number): string {
  const text = messageOf(value)
  const whole = clean(text, Infinity)
  if (Buffer.byteLength(whole) <= maxBytes) return whole
  return clean(whole, maxBytes - Buffer.byteLength(CUT_MARK)) + CUT_MARK
}

/**
 * A storable line from any logged value. Fields that are not JSON, or too long together with the text, are
 * left out, and the text notes it. It never throws.
 */
export function lineOf(message: unknown, fields: unknown): Pick<NewLine, 'text' | 'fields'> {
  const text = noteText(message, LIMITS.noteLineBytes)
  if (fields === undefined || fields === null) return { text, fields: null }
  const json = jsonOf(fields)
  const line = { text, fields: json }
  if (json !== null && lineBytes(line) <= LIMITS.noteLineBytes) return line
  const why = json === null ? 'fields that are not JSON' : `fields of ${Buffer.byteLength(json)} bytes`
  const mark = ` (${why} were left out)`
  return { text: noteText(text, LIMITS.noteLineBytes - Buffer.byteLength(mark)) + mark, fields: null }
}

function jsonOf(fields: unknown): string | null {
  try {
    return JSON.stringify(typeof fields === 'object' ? fields : { value: fields }, withErrors) ?? null
  } catch {
    return null
  }
}

/** Errors are the values logged most, and JSON.stringify turns them into `{}`. */
function withErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? { name: value.name, message: value.message } : value
}
