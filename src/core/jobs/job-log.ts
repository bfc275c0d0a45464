import { messageOf } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { clean } from './failure.ts'

/** How much a line matters. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** What one run of a job has to tell: how far it is, and lines. It goes to the store under the run's token. */
export interface Note {
  readonly progress: NewProgress | null
  /** In the order of their numbers. */
  readonly lines: readonly NewLine[]
}

/** A line on its way. Runs number their lines from 1: a line that comes twice is known by its number. */
export interface NewLine {
  readonly n: number
  /** When it was written, by the clock of its worker. */
  readonly at: number
  readonly level: LogLevel
  readonly text: string
  /** JSON text of an object, or null. */
  readonly fields: string | null
}

/** Progress on its way. Runs number theirs from 1: one that comes late is known by its number. */
export interface NewProgress extends Progress {
  readonly n: number
}

/** How far a job is. What the number means is the handler's own affair; percent are usual. */
export interface Progress {
  readonly value: number
  readonly note: string | null
  readonly at: number
}

/** A line that is kept. */
export interface KeptLine extends Omit<NewLine, 'n'> {
  /** Its place among all lines that the store took for this job, from 1. */
  readonly place: number
  /** How many bytes came before it. With this, what is over a bound is known without adding up. */
  readonly start: number
}

/** What a store keeps of a job's notes beside the lines. */
export interface NoteHead {
  /** Whose notes came last, and up to which numbers: what comes again is not taken again. */
  readonly token: string
  readonly lineN: number
  readonly progressN: number
  readonly progress: Progress | null
  /** The place of the last line, and the bytes of all lines that ever came. */
  readonly last: number
  readonly bytes: number
  /** Lines that somebody wrote and nobody can read any more. */
  readonly dropped: number
  /** When they go, whatever becomes of the job. */
  readonly until: number
}

/** Notes go not later than this after the last of them, plus an hour. */
const STEP_MS = 3_600_000

/** When notes written now go. By the hour, so that a busy job does not move in the index of these times all the while. */
export function notesUntil(now: number): number {
  return (Math.floor((now + LIMITS.notesKeptMs) / STEP_MS) + 1) * STEP_MS
}

/**
 * Takes notes: the new head, and the lines to add. The caller has checked that the token holds the job or has settled
 * it. Numbers that are left out were dropped on their way.
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

/** Whether a line is within the bounds of its job: the newest lines are kept. */
export function isKept({ place, start }: KeptLine, { last, bytes }: NoteHead): boolean {
  return place > last - LIMITS.noteLines && start >= bytes - LIMITS.notesBytes
}

export function lineBytes({ text, fields }: Pick<NewLine, 'text' | 'fields'>): number {
  return Buffer.byteLength(text) + (fields === null ? 0 : Buffer.byteLength(fields))
}

/** What follows a text that was too long. */
export const CUT_MARK = ' … (cut)'

/** Anything as a text that every store can hold, cut to its limit with a mark. It never throws. */
export function noteText(value: unknown, maxBytes: number): string {
  const text = messageOf(value)
  const whole = clean(text, Infinity)
  if (Buffer.byteLength(whole) <= maxBytes) return whole
  return clean(whole, maxBytes - Buffer.byteLength(CUT_MARK)) + CUT_MARK
}

/**
 * A line as it can be stored, out of whatever a handler said. Fields that are not JSON, or too long together with the
 * text, are left out, and the text says so. It never throws.
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

/** Errors are what people log most, and JSON shows nothing of them. */
function withErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? { name: value.name, message: value.message } : value
}
