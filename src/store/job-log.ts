/**
 * The contract for job logs: progress, and the lines written by handlers.
 *
 * They have their own tables and are limited per job: the newest {@link LIMITS.noteLines} lines within
 * {@link LIMITS.notesBytes}. They are removed with their job, and at the latest {@link LIMITS.notesKeptMs}
 * (and an hour) after the last line. A retry keeps them.
 */
import type { KeptLine, Note, Progress } from '../core/jobs/job-log.ts'

export interface NoteStore {
  /**
   * Writes notes of attempts. Accepted only while the token is the job's current lease, or the one that
   * settled it last: a worker that lost its lease writes nothing. Idempotent: lines and progress have
   * numbers.
   * Redis: for each HGET token, compare; HSET notes; RPUSH lines, LTRIM; PEXPIRE both.
   */
  note(call: NoteCall): Promise<NoteReply>

  /**
   * The progress of a job, and one page of its lines, oldest first. Empty for a job of another space.
   * Redis: HGETALL notes; LRANGE lines.
   */
  notes(call: NotesCall): Promise<NotesReply>
}

export interface NoteCall {
  readonly notes: readonly JobNote[]
  readonly now?: number
}

/** A note from the holder of a lease. */
export interface JobNote extends Note {
  readonly space: string
  readonly id: string
  readonly token: string
}

export interface NoteReply {
  /** One for each note, in order. */
  readonly results: readonly NoteResult[]
}

export type NoteResult =
  /** It is stored, perhaps by an earlier call. */
  | { readonly status: 'ok' }
  /** `gone`: the job no longer exists. `lost`: another token holds it. */
  | { readonly status: 'refused'; readonly reason: 'gone' | 'lost' }

export interface NotesCall {
  readonly space: string
  readonly id: string
  /** Only lines after this position; 0 for the first page. */
  readonly after: number
  /** The maximum number of lines; 0 to read only the progress. */
  readonly limit: number
}

export interface NotesReply {
  readonly progress: Progress | null
  readonly lines: readonly Omit<KeptLine, 'start'>[]
  readonly last: number
  /** The number of lines that were written and are not kept. */
  readonly dropped: number
}

/** The reply for a job without a log. */
export const NO_NOTES: NotesReply = Object.freeze({ progress: null, lines: [], last: 0, dropped: 0 })
